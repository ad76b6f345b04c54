// Several portals on one database. `npm run bench -- nodes`
import { readdirSync, readFileSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import { type EntryOfTest, task } from "../test/support/jobs/jobs.js";
import { agentsOf, hasJoined, logOf, type Nodes, nodesOf } from "../test/support/nodes/nodes.js";
import { nodesSafety } from "../test/support/nodes/nodesSafety.js";
import type { Portal } from "../test/support/portal/portal.js";
import { seen } from "../test/support/seen.js";
import { type PostgresServer, startPostgres } from "../test/support/store/postgres.js";
import { openSessionRowsOnServer } from "./openSessions.js";
import { nodeDeltaRows } from "./support/nodeDeltas.js";
import { firstStartRow, jobsPerSecondRows, taskRows } from "./support/nodeJobs.js";
import { table } from "./support/report.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds, repeat } from "./support/turns.js";

/** The real lease: with the watchdog nobody waits for its end. */
const realLease = { env: { PORTAL_TEST_LEASE_MS: "" } };
const requests = 400;
const atOnce = 10;
const idleMs = 20_000;

const entry = {
  tasks: { held: { prompt: ["held", "@wait-each held"], model: { category: "driving" } } },
  jobs: { held: { work: task("held") } },
} satisfies EntryOfTest;

/** Answered requests a second for what a session is. */
async function requestsPerSecond({ url }: Portal, sessionId: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  let left = requests;
  const worker = async () => {
    while (left-- > 0) await answered(`${url}/api/copilot/session/${sessionId}`, agent);
  };
  const begunMs = performance.now();
  await Promise.all(Array.from({ length: atOnce }, worker));
  agent.destroy();
  return requests / ((performance.now() - begunMs) / 1000);
}

function answered(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const read = (response: IncomingMessage) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.resume().once("end", resolve);
    };
    get(url, { agent }, read).once("error", reject);
  });
}

/** The memory of the watchdog of a node that no other process shares, and its part of what is shared. */
function watchdogMb({ pid }: Portal): number {
  const processes = readdirSync("/proc").filter(name => /^\d+$/.test(name));
  for (const other of processes) {
    try {
      const parent = / (\d+)/.exec(readFileSync(`/proc/${other}/stat`, "utf8").replace(/.*\) \S/, ""))?.[1];
      if (Number(parent) !== pid || !readFileSync(`/proc/${other}/cmdline`, "utf8").includes("watchdog"))
        continue;
      const pss = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${other}/smaps_rollup`, "utf8"))?.[1];
      return Number(pss) / 1000;
    } catch {
      // A process has just ended.
    }
  }
  throw new Error("The node has no watchdog");
}

/** From the moment a node is frozen until its watchdog has ended what others may take over. */
async function frozenSeconds(nodes: Nodes, node: Portal): Promise<number> {
  const hasMovable = async () => (await agentsOf(node)).some(({ movable }) => movable);
  // The agents of the last round are dead, and a node that was just thawed may refuse a session.
  await seen(async () => {
    await nodes.startSession(node, await nodes.sharedFolder()).catch(() => undefined);
    return hasMovable();
  });
  const beganMs = performance.now();
  process.kill(node.pid, "SIGSTOP");
  await seen(async () => !(await hasMovable()));
  const seconds = (performance.now() - beganMs) / 1_000;
  process.kill(node.pid, "SIGCONT");
  await hasJoined(node);
  return seconds;
}

async function safetyRow(scope: TestContext, server: PostgresServer): Promise<Row> {
  const { events, jobs, tasksEnded, prompts, again, moved, poison, seed } = await nodesSafety(scope, server, {
    seed: Number(process.env.FUZZ_SEED ?? Date.now()),
    jobs: 12,
    atOnce: 4,
    events: { kill: 20, freeze: 10, stop: 10, database: 8, cut: 12 },
  });
  const all = Object.values(events).reduce((sum, count) => sum + count, 0);
  const counts = `${jobs} jobs (${poison} given up), ${tasksEnded} tasks ended once, ${moved} moves, ${prompts} prompts, ${again} again after a death that hit them, seed ${seed}`;
  return absoluteRow(`events without a loss: ${counts}`, all, "events", { atLeast: 60 });
}

/** The round of events by itself, to repeat it: `FUZZ_SEED=1 npm run bench -- nodesSafety`. */
export function safetyRows(): Promise<Row[]> {
  return inScope(async scope => [await safetyRow(scope, await startPostgres(scope))]);
}

export async function nodeRows(): Promise<Row[]> {
  return inScope(async scope => {
    const server = await startPostgres(scope);
    const parts = [
      () => lifeRows(server),
      () => nodeDeltaRows(server),
      () => taskRows(server),
      () => jobsPerSecondRows(server),
      async () => [await firstStartRow(server)],
      () => openSessionRowsOnServer(server),
      async () => [await safetyRow(scope, server)],
    ];
    const rows: Row[] = [];
    for (const part of parts) {
      const measured = await part();
      // It takes ten minutes, and whoever waits wants to see something.
      process.stderr.write(`${table(measured)}\n`);
      rows.push(...measured);
    }
    return rows;
  });
}

/** Two nodes with the real lease: what they cost, and what one does when the other dies. */
async function lifeRows(server: PostgresServer): Promise<Row[]> {
  return inScope(async scope => {
    const nodes = await nodesOf(scope, server, entry);
    const [a, b] = await Promise.all([nodes.start("a", realLease), nodes.start("b", realLease)]);
    const session = await nodes.startSession(a, await nodes.sharedFolder());

    const commits = async () => {
      const [row] = await server.query<{ commits: string }>(
        "postgres",
        "select xact_commit::text as commits from pg_stat_database where datname = $1",
        [nodes.database],
      );
      return Number(row?.commits);
    };
    const idleCommits = async () => {
      const before = await commits();
      await new Promise(resolve => setTimeout(resolve, idleMs));
      return ((await commits()) - before) / (idleMs / 1000) / 2;
    };
    const idle = await repeat(fewestRounds, idleCommits);

    const throughput = await compare({
      rounds: fewestRounds,
      warmUp: true,
      unit: "/s",
      reference: { name: "requests about a session at its owner", take: () => requestsPerSecond(a, session) },
      subjects: {
        "requests about a session through another node": {
          take: () => requestsPerSecond(b, session),
          goal: { atLeast: 0.6 },
        },
      },
    });

    let kills = 0;
    const takeoverSeconds = async () => {
      // Only a node that has had its lease for a while may judge that another one is lost.
      const jobId = await nodes.startJob(a, await nodes.sharedFolder(), "held");
      await nodes.puppet.arrived(`held ${2 * kills + 1}`);
      const killedMs = performance.now();
      await a.kill();
      await nodes.puppet.arrived(`held ${2 * kills + 2}`);
      const seconds = (performance.now() - killedMs) / 1000;
      nodes.puppet.release(`held ${2 * kills + 2}`);
      await logOf(b, jobId);
      kills++;
      await a.restart();
      await hasJoined(a);
      return seconds;
    };
    return [
      absoluteRow("kill -9 of a node to the first prompt elsewhere", await repeat(4, takeoverSeconds), "s", {
        atMost: 3,
      }),
      ...throughput,
      absoluteRow(
        "a frozen node to the death of its agents",
        await repeat(fewestRounds, () => frozenSeconds(nodes, b)),
        "s",
        {
          atMost: 21,
        },
      ),
      absoluteRow("commits of an idle node a second", idle, "", { atMost: 3 }),
      absoluteRow("memory of the watchdog", watchdogMb(b), "MB", { atMost: 45 }),
    ];
  });
}
