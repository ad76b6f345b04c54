import { createHash } from "node:crypto";
import pg from "pg";
import { pino } from "pino";
import { openStore, type Store } from "../../../src/store/store.js";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { type PostgresServer, startPostgres } from "./postgres.js";

/** Set by `npm test` (scripts/runTests.mjs): a superuser's address of the server for all tests of the run. */
const variable = "TEST_DATABASE_URL";
const template = "portal_template";
const silent = pino({ level: "silent" });

/** Tests end portals and never the server, so nothing has to reach a disk. */
const settings = [
  ...["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"],
  ...["max_connections=500", "max_wal_size=1GB", "checkpoint_timeout=1h"],
];

/** A server whose template has the tables of a store; returns its address. */
export async function startSuiteServer(t: Scope): Promise<string> {
  const server = await startPostgres(t, { settings, auth: "md5" });
  await server.query("postgres", `create database ${template} owner portal`);
  const dataDir = await tempFolder(t, "portal-template");
  const store = openStore({ dataDir, databaseUrl: server.urlOf(template), log: silent });
  await store.ready;
  await store.close();
  await server.query("postgres", `alter database ${template} is_template true`);
  return server.urlOf("postgres", "tester");
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env[variable] });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const known = new Map<string, string>();

/**
 * The address of the database that belongs to this data folder, made when it is first asked for, or undefined when the
 * run has no server. A portal starts on it at a quarter of the processor time of an embedded store.
 */
export async function databaseOf(t: Scope, dataDir: string): Promise<string | undefined> {
  const server = process.env[variable];
  if (server === undefined) return undefined;
  const found = known.get(dataDir);
  if (found !== undefined) return found;
  const name = `portal_${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  await administer(`create database ${name} template ${template} owner portal`);
  defer(t, () => administer(`drop database ${name} with (force)`));
  const url = new URL(server);
  url.username = "portal";
  url.pathname = `/${name}`;
  known.set(dataDir, url.href);
  return url.href;
}

/** For nodes that share a database and leave its server alone: that of the run, or one of its own if there is none. */
export async function anyServer(t: Scope): Promise<Pick<PostgresServer, "newDatabase" | "urlOf">> {
  if (process.env[variable] === undefined) return startPostgres(t);
  const newDatabase = async () => (await databaseOf(t, await tempFolder(t, "portal-database"))) ?? "";
  return { newDatabase, urlOf: url => url };
}

/** An open store for a test of something else; it closes by itself. */
export async function anyStore(t: Scope): Promise<Store> {
  const dataDir = await tempFolder(t, "portal-store");
  const store = openStore({ dataDir, databaseUrl: await databaseOf(t, dataDir), log: silent });
  defer(t, () => store.close());
  await store.ready;
  return store;
}

/** For a folder that a test brings: it has an embedded store unless it has got a database before. */
export const knownDatabaseOf = (dataDir: string): string | undefined => known.get(dataDir);
