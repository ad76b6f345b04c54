import { createLog } from "../src/base/log.js";
import { openStore } from "../src/store/store.js";
import { tempFolder } from "../test/support/cleanup.js";
import { startPortal } from "../test/support/portal.js";
import { compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds } from "./support/turns.js";

const openSessions = 10_000;

/** The store of an earlier portal with this many open sessions, each with a conversation of a few lines. */
async function prepare(dataDir: string, sessions: number): Promise<void> {
  const store = openStore({ dataDir, log: createLog("silent") });
  await store.query(
    `with s as (
       insert into sessions (id, model_id, model_name, backend, working_directory, title, created_at)
       select gen_random_uuid()::text, 'model', 'Model', 'provider', '/work', 'Session ' || i,
         now() - i * interval '1 minute'
       from generate_series(1, $1::int) as i returning id
     ), l as (
       insert into logs (kind, key, reserved, root) select 'session', id, 1000, id from s returning id
     ), o as (
       insert into owned (root, kind, node) select id, 'session', 'local' from s
     )
     insert into log_chunks (log_id, last_n, chars, lines) select id, 3, 600, repeat('x', 600) from l`,
    [sessions],
  );
  await store.close();
}

/** The time from the start of the process until the sessions are listed, including those of the earlier portal. */
async function startMs(dataDir: string): Promise<number> {
  return inScope(async scope => {
    const begun = performance.now();
    const portal = await startPortal(scope, { dataDir });
    await portal.api("copilot/session/history?limit=1");
    const ms = performance.now() - begun;
    await portal.stop();
    return ms;
  });
}

export async function openSessionRows(): Promise<Row[]> {
  return inScope(async scope => {
    const [empty, full] = [await tempFolder(scope, "empty"), await tempFolder(scope, "full")];
    await prepare(empty, 0);
    await prepare(full, openSessions);
    return compare({
      rounds: fewestRounds,
      unit: "ms",
      reference: { name: "start with no open session", take: () => startMs(empty) },
      subjects: {
        "start with 10,000 open sessions": { take: () => startMs(full), goal: { atMost: 1.2 } },
      },
    });
  });
}
