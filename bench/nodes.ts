// Several portals on one database. `npm run bench -- nodes`
import { readdirSync, readFileSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { type EntryOfTest, task } from "../test/support/jobs.js";
import { hasJoined, logOf, nodesOf } from "../test/support/nodes.js";
import type { Portal } from "../test/support/portal.js";
import { startPostgres } from "../test/support/postgres.js";
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

export async function nodeRows(): Promise<Row[]> {
  return inScope(async scope => {
    const server = await startPostgres(scope);
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
      absoluteRow("commits of an idle node a second", idle, "", { atMost: 3 }),
      absoluteRow("memory of the watchdog", watchdogMb(b), "MB", { atMost: 45 }),
    ];
  });
}
