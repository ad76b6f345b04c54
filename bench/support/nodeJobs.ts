import { tempFolder } from "../../test/support/cleanup.js";
import { type EntryOfTest, portalWithEntry, task } from "../../test/support/jobs/jobs.js";
import { hasJoined, logOf, nodesOf } from "../../test/support/nodes/nodes.js";
import { type Portal, startPortal } from "../../test/support/portal/portal.js";
import type { PostgresServer } from "../../test/support/store/postgres.js";
import { absoluteRow, compare, type Row } from "./row.js";
import { inScope } from "./scope.js";
import { fewestRounds, repeat, timed } from "./turns.js";

const tasksOfJob = 10;
/** No more than a node has places for, so that none leaves the node that was asked. */
const jobsAtOnce = 6;
const firstStarts = 10;
const realLease = { env: { PORTAL_TEST_LEASE_MS: "" } };

const entry = {
  tasks: { plain: { prompt: ["plain"], model: { category: "driving" } } },
  jobs: {
    ten: { work: { kind: "Seq" as const, works: Array.from({ length: tasksOfJob }, () => task("plain")) } },
  },
} satisfies EntryOfTest;

/** What a task costs on a server and on an embedded store, from outside: the start of a job to the end of its log. */
export async function taskRows(server: PostgresServer): Promise<Row[]> {
  return inScope(async scope => {
    const nodes = await nodesOf(scope, server, entry);
    const onServer = await nodes.start("a", realLease);
    const embedded = await portalWithEntry(scope, entry);
    const folder = await tempFolder(scope);
    const perTask = async (work: () => Promise<unknown>) => (await timed(work)) / tasksOfJob;
    return compare({
      rounds: 5,
      warmUp: true,
      unit: "ms",
      reference: {
        name: "a task of a job on the embedded store",
        take: () => perTask(() => embedded.runJob("ten")),
      },
      subjects: {
        "a task of a job on a database server": {
          take: () => perTask(async () => logOf(onServer, await nodes.startJob(onServer, folder, "ten"))),
          goal: { atMost: 1.5 },
        },
      },
    });
  });
}

/** All nodes share the cores of this machine, and the model and the agents do too. */
export async function jobsPerSecondRows(server: PostgresServer): Promise<Row[]> {
  return inScope(async scope => {
    const nodes = await nodesOf(scope, server, entry);
    const portals = await Promise.all(["a", "b", "c"].map(name => nodes.start(name, realLease)));
    const folder = await tempFolder(scope);
    const run = (portal: Portal | undefined) => async () => {
      if (portal) await logOf(portal, await nodes.startJob(portal, folder, "ten"));
    };
    const jobsPerSecond = (count: number) => async () => {
      const all = Array.from({ length: jobsAtOnce }, (_, job) => run(portals[job % count]));
      return jobsAtOnce / ((await timed(() => Promise.all(all.map(each => each())))) / 1_000);
    };
    return compare({
      rounds: fewestRounds,
      warmUp: true,
      unit: "/s",
      reference: { name: "jobs of ten tasks a second at one node", take: jobsPerSecond(1) },
      subjects: {
        "jobs of ten tasks a second at two nodes": { take: jobsPerSecond(2), goal: { atLeast: 1.7 } },
        "jobs of ten tasks a second at three nodes": { take: jobsPerSecond(3), goal: { atLeast: 2.4 } },
      },
    });
  });
}

/** Three nodes that start at once on an empty database. */
export async function firstStartRow(server: PostgresServer): Promise<Row> {
  const seconds = await repeat(firstStarts, () =>
    inScope(async scope => {
      const env = { PORTAL_DATABASE_URL: server.urlOf(await server.newDatabase()) };
      const ms = await timed(() =>
        Promise.all(
          ["a", "b", "c"].map(async name =>
            hasJoined(await startPortal(scope, { args: ["--node", name], env })),
          ),
        ),
      );
      return ms / 1_000;
    }),
  );
  return absoluteRow("three first starts at once, until all have joined", seconds, "s", { atMost: 10 });
}
