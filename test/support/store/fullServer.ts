import type { TestContext } from "node:test";
import { mountedDisk } from "./disk.js";
import { type PostgresServer, startPostgres } from "./postgres.js";

export interface FullServer {
  readonly server: PostgresServer;
  readonly database: string;
  /** From now on no table can grow. */
  fill(): Promise<void>;
  free(): Promise<void>;
}

/** Its files, its write-ahead log, the tables of a portal and some room. */
const megabytes = 200;

/**
 * A database whose server has a small disk of its own. On a disk that fills up, tables are what cannot grow: the files of
 * the write-ahead log are made in advance and used again. Where the system allows no mount, the server says it instead.
 */
export async function startFullServer(t: TestContext): Promise<FullServer> {
  const disk = await mountedDisk(t, megabytes);
  const server = await startPostgres(t, { folder: disk?.folder });
  const database = await server.newDatabase();
  if (!disk) return { server, database, ...refusing(server, database) };
  return {
    server,
    database,
    async fill() {
      // As on a server that has run for a while, there is a file for the log of the next hours.
      await server.query("postgres", "select pg_switch_wal()");
      await server.query("postgres", "checkpoint");
      disk.fill();
    },
    free: async () => disk.free(),
  };
}

const tables = ["write_probe", "entries", "jobs", "log_chunks"];

function refusing(server: PostgresServer, database: string): Pick<FullServer, "fill" | "free"> {
  const triggers = tables.map(
    table => `create trigger full_disk before insert on ${table} for each row execute function full_disk()`,
  );
  return {
    async fill() {
      await server.query(
        database,
        `create function full_disk() returns trigger language plpgsql as
           $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
         ${triggers.join(";")}`,
      );
    },
    async free() {
      await server.query(database, "drop function full_disk cascade");
    },
  };
}
