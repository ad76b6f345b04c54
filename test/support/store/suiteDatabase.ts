import { pino } from "pino";
import { openStore, type Store } from "../../../src/store/store.js";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { type Postgres, postgresAt, prepareCluster, startPostgres } from "./postgres.js";

/** Set by `npm test` (scripts/runTests.mjs): a superuser's address of the server for all tests of the run. */
const variable = "TEST_DATABASE_URL";
const template = "portal_template";
const silent = pino({ level: "silent" });

/** Tests end portals and never the server, so nothing has to reach a disk. */
const settings = [
  ...["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"],
  ...["max_connections=900", "max_wal_size=1GB", "checkpoint_timeout=1h"],
];

/** A server whose template has the tables of a store; returns its address. */
export async function startSuiteServer(t: Scope): Promise<string> {
  await prepareCluster(t);
  const server = await startPostgres(t, { settings, quickPasswords: true });
  await server.query("postgres", `create database ${template} owner portal`);
  const dataDir = await tempFolder(t, "portal-template");
  const store = openStore({ dataDir, databaseUrl: server.urlOf(template), log: silent });
  await store.ready;
  await store.close();
  await server.query("postgres", `alter database ${template} is_template true`);
  return server.urlOf("postgres", "tester");
}

function serverAt(url: string): Postgres {
  const { port, password } = new URL(url);
  return postgresAt({ port: Number(port), password: decodeURIComponent(password) });
}

/**
 * Databases for a test that leaves the server running: on that of the run, because each start of another one costs a
 * second of a core, or on one of its own when the run has none.
 */
export async function runningPostgres(t: Scope): Promise<Postgres> {
  const url = process.env[variable];
  if (url === undefined) return startPostgres(t);
  const server = serverAt(url);
  return {
    ...server,
    async newDatabase(more) {
      const name = await server.newDatabase(more);
      defer(t, () => server.query("postgres", `drop database ${name} with (force)`));
      return name;
    },
  };
}

const known = new Map<string, string>();

/**
 * The address of the database that belongs to this data folder, made when it is first asked for, or undefined when the
 * run has no server. A portal starts on it at a quarter of the processor time of an embedded store.
 */
export async function databaseOf(t: Scope, dataDir: string): Promise<string | undefined> {
  if (process.env[variable] === undefined) return undefined;
  const found = known.get(dataDir);
  if (found !== undefined) return found;
  const server = await runningPostgres(t);
  const url = server.urlOf(await server.newDatabase(`template ${template} owner portal`));
  known.set(dataDir, url);
  return url;
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
