import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { seen } from "../seen.js";

/** A running PostgreSQL server. */
export interface Postgres {
  readonly port: number;
  /** A URL encodes some of its characters. */
  readonly password: string;
  /** A new, empty database of the role `portal`. */
  newDatabase(more?: string): Promise<string>;
  urlOf(database: string, role?: string): string;
  /** As the superuser, in one database. */
  query<Row extends object>(database: string, text: string, values?: unknown[]): Promise<Row[]>;
}

/** One that belongs to a test alone. */
export interface PostgresServer extends Postgres {
  /** Everything that the server has logged. */
  readonly output: string;
  /** Ends all sessions at once, as an upgrade of the server does. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const superuser = "tester";

/** The folder of `initdb`: `npm test` names it in PG_BIN. */
function programs(): string {
  const versions = "/usr/lib/postgresql";
  const kept = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const found = [process.env.PG_BIN ?? "", ...kept.map(version => join(versions, version, "bin"))].find(
    folder => existsSync(join(folder, "initdb")),
  );
  if (!found) throw new Error("There is no PostgreSQL: install it, or name the folder of initdb in PG_BIN");
  return found;
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  const line =
    users.find(user => user.startsWith("postgres:")) ?? users.find(user => user.startsWith("nobody:"));
  const [, , uid, gid] = (line ?? "").split(":").map(Number);
  return { uid: uid ?? 65534, gid: gid ?? 65534 };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The server at this port, whose roles have this password. */
export function postgresAt({ port, password }: { port: number; password: string }): Postgres {
  const urlOf = (database: string, role = "portal") =>
    `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;

  async function query<Row extends object>(database: string, text: string, values?: unknown[]) {
    const client = new pg.Client({ connectionString: urlOf(database, superuser) });
    // A server that stops ends it.
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  return {
    port,
    password,
    async newDatabase(more = "owner portal") {
      // Tests that run at the same time may share the server.
      const name = `portal_${randomBytes(8).toString("hex")}`;
      await query("postgres", `create database ${name} ${more}`);
      return name;
    },
    urlOf,
    query,
  };
}

export interface PostgresOptions {
  settings?: readonly string[];
  /** The role `portal` shows its password in a way that takes less processor time than SCRAM. */
  quickPasswords?: boolean;
  /** Where its files are, instead of a new folder. */
  folder?: string | undefined;
}

/** Set by `npm test`: the folder of a cluster that each server copies, because `initdb` takes a second of a core. */
const clusterVariable = "TEST_POSTGRES_CLUSTER";

/** Makes the files of a server that has never started, and beside them the password of its roles. */
function makeCluster(folder: string): void {
  const user = unprivileged();
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, `p@ss/w%rd:${randomBytes(9).toString("base64url")}`);
  for (const path of [folder, passwordFile])
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid ?? user.uid);
  execFileSync(
    join(programs(), "initdb"),
    [
      ...["-D", join(folder, "data"), "-U", superuser, "--pwfile", passwordFile, "-A", "scram-sha-256"],
      // Only the new files are not synced; what the server writes later is.
      ...["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
    ],
    { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
  );
}

/** From now on each server of the run is a copy of one cluster. */
export async function prepareCluster(t: Scope): Promise<void> {
  const folder = await tempFolder(t, "portal-cluster");
  makeCluster(folder);
  process.env[clusterVariable] = folder;
}

/** A PostgreSQL server of its own, which syncs its files as any server does; it ends with the test. */
export async function startPostgres(
  t: Scope,
  { settings = [], quickPasswords = false, folder: given }: PostgresOptions = {},
): Promise<PostgresServer> {
  const bin = programs();
  const user = unprivileged();
  const folder = given ?? (await tempFolder(t, "portal-postgres"));
  const prepared = process.env[clusterVariable];
  if (prepared === undefined) makeCluster(folder);
  else execFileSync("cp", ["-a", `${prepared}/.`, folder]);
  const password = readFileSync(join(folder, "password"), "utf8");
  const data = join(folder, "data");
  if (quickPasswords) writeFileSync(join(data, "pg_hba.conf"), "host all all 127.0.0.1/32 md5\n");
  const port = await freePort();
  let output = "";
  let running: ChildProcess | undefined;

  const server = postgresAt({ port, password });

  async function start(): Promise<void> {
    const child = spawn(
      join(bin, "postgres"),
      [
        ...["-D", data, "-p", `${port}`, "-c", "listen_addresses=127.0.0.1"],
        ...["-c", `unix_socket_directories=${folder}`, "-c", "max_connections=60"],
        ...(quickPasswords ? ["-c", "password_encryption=md5"] : []),
        ...settings.flatMap(setting => ["-c", setting]),
      ],
      { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
    );
    child.stderr?.setEncoding("utf8").on("data", text => {
      output += text;
    });
    running = child;
    await seen(async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${output}`);
      return server.query("postgres", "select 1").catch(() => undefined);
    });
  }

  async function stop(): Promise<void> {
    const child = running;
    running = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGINT");
    await ended;
  }

  defer(t, stop);
  await start();
  await server.query("postgres", `create role portal login password ${pg.escapeLiteral(password)}`);
  return {
    ...server,
    get output() {
      return output;
    },
    stop,
    start,
  };
}
