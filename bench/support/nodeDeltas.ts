import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sseEvents } from "../../test/support/live/sse.js";
import { largeText, startScriptedModel } from "../../test/support/model/scriptedModel.js";
import { nodesOf } from "../../test/support/nodes/nodes.js";
import type { PostgresServer } from "../../test/support/store/postgres.js";
import { absoluteRow, type Row } from "./row.js";
import { inScope } from "./scope.js";
import { inTurns, percentile } from "./turns.js";

const busySessions = 50;
/** The pace of a quick model. */
const deltaEveryMs = 20;
const deltas = 250;
const rounds = 3;

/** The deltas of fifty sessions at one node, followed there and through another one, and what the database has to do. */
export async function nodeDeltaRows(server: PostgresServer): Promise<Row[]> {
  return inScope(async scope => {
    const model = await startScriptedModel(scope, () => [{ ...largeText(deltas), delayMs: deltaEveryMs }]);
    const nodes = await nodesOf(scope, server, { tasks: {} });
    const lease = { model, env: { PORTAL_TEST_LEASE_MS: "" } };
    const [owner, other] = await Promise.all([nodes.start("a", lease), nodes.start("b", lease)]);
    const sessionIds: string[] = [];
    while (sessionIds.length < busySessions)
      sessionIds.push(await nodes.startSession(owner, await nodes.sharedFolder()));
    const client = fork(
      fileURLToPath(import.meta.url),
      [owner, other].flatMap(({ url }) =>
        sessionIds.map(id => `${url}/api/copilot/session/${id}/events?after=0`),
      ),
    );
    const turn = async () => {
      const later = laterMs(client);
      await Promise.all(sessionIds.map(id => owner.api(`copilot/session/${id}/query`, { body: "go on" })));
      return later;
    };
    const commits = async () => {
      const [row] = await server.query<{ commits: string }>(
        "postgres",
        "select xact_commit::text as commits from pg_stat_database where datname = $1",
        [nodes.database],
      );
      return Number(row?.commits);
    };
    // The first turn of a session is a warm-up.
    await turn();
    const p99: number[] = [];
    const perSecond: number[] = [];
    const { p50 } = await inTurns(rounds, {
      p50: async () => {
        const [before, beganMs] = [await commits(), performance.now()];
        const later = await turn();
        const seconds = (performance.now() - beganMs) / 1_000;
        perSecond.push(((await commits()) - before) / seconds);
        p99.push(percentile(later, 0.99));
        return percentile(later, 0.5);
      },
    });
    client.disconnect();
    const figure = `a delta through another node, later than at its owner, ${busySessions} busy sessions`;
    const busy = `commits of a node with ${busySessions} streaming sessions a second, and of one that is idle`;
    return [
      absoluteRow(`${figure}, p50`, p50, "ms", { atMost: 2 }),
      absoluteRow(`${figure}, p99`, p99, "ms", { atMost: 10 }),
      absoluteRow(busy, perSecond, "", { atMost: 25 }),
    ];
  });
}

async function laterMs(client: ChildProcess): Promise<number[]> {
  const [later] = (await once(client, "message")) as [number[]];
  return later;
}

/** Reads the streams of the owner, then those of the other node; tells after each turn how much later the latter were. */
async function runClient(urls: readonly string[]): Promise<void> {
  const half = urls.length / 2;
  const seenMs = new Map<string, number>();
  let later: number[] = [];
  let idle = 0;
  process.once("disconnect", () => process.exit());
  await Promise.all(
    urls.map(async (url, place) => {
      for await (const { n, data } of sseEvents(url)) {
        if (data.callback === "onIdle" && ++idle % urls.length === 0) {
          process.send?.(later);
          later = [];
        }
        if (data.callback !== "onMessage") continue;
        const key = `${place % half} ${n}`;
        const nowMs = performance.now();
        const firstMs = seenMs.get(key);
        if (firstMs === undefined) seenMs.set(key, nowMs);
        else later.push(place < half ? firstMs - nowMs : nowMs - firstMs);
      }
    }),
  );
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url))
  await runClient(process.argv.slice(2));
