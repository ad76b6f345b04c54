import type { TestContext } from "node:test";
import { createLog } from "../src/base/log.js";
import { onlyNode } from "../src/store/ownership.js";
import { openStore } from "../src/store/store.js";
import { tempFolder } from "../test/support/cleanup.js";
import { startPortal } from "../test/support/portal/portal.js";
import type { PostgresServer } from "../test/support/store/postgres.js";
import { compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds } from "./support/turns.js";

const openSessions = 10_000;
const nodeName = "bench";

/** Where the store is: in the folder, or in a database. */
interface Place {
  dataDir: string;
  databaseUrl?: string;
}

/** The store of an earlier portal with this many open sessions, each with a conversation of a few lines. */
async function prepare({ dataDir, databaseUrl }: Place, sessions: number): Promise<void> {
  const store = openStore({ dataDir, databaseUrl, log: createLog("silent") });
  await store.query(
    `with s as (
       insert into sessions (id, model_id, model_name, backend, working_directory, title, created_at)
       select gen_random_uuid()::text, 'model', 'Model', 'provider', '/work', 'Session ' || i,
         now() - i * interval '1 minute'
       from generate_series(1, $1::int) as i returning id
     ), l as (
       insert into logs (kind, key, reserved, root) select 'session', id, 1000, id from s returning id
     ), o as (
       insert into owned (root, kind, node) select id, 'session', $2 from s
     )
     insert into log_chunks (log_id, last_n, chars, lines) select id, 3, 600, repeat('x', 600) from l`,
    [sessions, databaseUrl === undefined ? onlyNode : nodeName],
  );
  await store.close();
}

/** The time from the start of the process until the sessions are listed, including those of the earlier portal. */
async function startMs({ dataDir, databaseUrl }: Place): Promise<number> {
  return inScope(async scope => {
    const begun = performance.now();
    const portal = await startPortal(scope, {
      dataDir,
      ...(databaseUrl !== undefined && {
        args: ["--node", nodeName],
        env: { PORTAL_DATABASE_URL: databaseUrl },
      }),
    });
    await portal.api("copilot/session/history?limit=1");
    const ms = performance.now() - begun;
    await portal.stop();
    return ms;
  });
}

async function rowsOf(where: string, placeOf: (scope: TestContext) => Promise<Place>): Promise<Row[]> {
  return inScope(async scope => {
    const [empty, full] = [await placeOf(scope), await placeOf(scope)];
    await prepare(empty, 0);
    await prepare(full, openSessions);
    return compare({
      rounds: fewestRounds,
      unit: "ms",
      reference: { name: `start with no open session${where}`, take: () => startMs(empty) },
      subjects: {
        [`start with 10,000 open sessions${where}`]: { take: () => startMs(full), goal: { atMost: 1.2 } },
      },
    });
  });
}

export const openSessionRows = () => rowsOf("", async scope => ({ dataDir: await tempFolder(scope) }));

export const openSessionRowsOnServer = (server: PostgresServer) =>
  rowsOf(" on a database server", async scope => ({
    dataDir: await tempFolder(scope),
    databaseUrl: server.urlOf(await server.newDatabase()),
  }));
