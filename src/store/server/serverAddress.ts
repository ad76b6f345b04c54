import { hostname } from "node:os";
import pg from "pg";
import { StartError } from "../../base/startError.js";

/** How to connect to a database server, and how to speak of it without its password. */
export interface ServerAddress {
  readonly config: pg.ClientConfig;
  /** For people: `portal on db.example.com:5432`. */
  readonly name: string;
  readonly secrets: readonly string[];
}

const bad = (reason: string) => new StartError(`--database-url: ${reason}`);

/** The portal in `pg_stat_activity`, which shows at most 63 bytes. */
const ownName = () => `copilot-portal ${hostname().slice(0, 35)} pid ${process.pid}`;

/** Reads `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS`; throws a StartError that does not repeat it. */
export function parseAddress(url: string): ServerAddress {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== "postgres" && scheme !== "postgresql")
    throw bad("an address is postgresql://USER:PASSWORD@HOST:PORT/DATABASE");
  let client: pg.Client;
  try {
    client = new pg.Client({ connectionString: url });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw bad(
      code === "ENOENT" || code === "EACCES"
        ? `a file that it names cannot be read (${code})`
        : "this is not a valid address; a % and other special characters in a password are written as %25 and the like",
    );
  }
  const { host, port, database, password } = client;
  if (!database) throw bad("it names no database: postgresql://USER:PASSWORD@HOST:PORT/DATABASE");
  const secrets = [url, password, password && encodeURIComponent(password)].filter(secret => !!secret);
  return {
    config: { connectionString: url, keepAlive: true, application_name: ownName() },
    name: `${database} on ${host.startsWith("/") ? host : `${host}:${port}`}`,
    secrets: secrets as string[],
  };
}

/** What no log line, page or agent may see of an address. */
export function databaseSecrets(url: string | undefined): readonly string[] {
  return url === undefined ? [] : parseAddress(url).secrets;
}
