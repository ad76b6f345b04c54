import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { packageVersion } from "../../src/base/paths.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { liveAll } from "../support/live/sse.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import { hasJoined, logOf, type NodeOfTest, nodeSeen, nodesOf } from "../support/nodes/nodes.js";
import { nextProgram, nextVersion } from "../support/portal/anotherVersion.js";
import { type Portal, runPortal, startPortal } from "../support/portal/portal.js";
import { seen } from "../support/seen.js";
import type { Postgres } from "../support/store/postgres.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

const file = groupScope();
let server: Postgres;
before(async () => {
  server = await runningPostgres(file);
});

const titlesOf = (log: readonly object[]) =>
  log.flatMap(response => ("title" in response ? [String(response.title)] : []));

describe("Nodes with few places", () => {
  test("share the jobs, and one that is drained, stopped or replaced leaves them to the other, which is of the next version", async t => {
    const nodes = await nodesOf(t, server);
    const { puppet } = nodes;
    const movable = async (portal: Portal) => nodes.startJob(portal, await nodes.sharedFolder());
    const pinned = async (portal: Portal) => nodes.startJob(portal, await tempFolder(t, "portal-own"));
    const ends = async (portal: Portal, jobId: string) => {
      const log = await logOf(portal, jobId);
      assert.equal(log.at(-1)?.callback, "jobSucceeded");
      return titlesOf(log);
    };
    const statusOf = async (portal: Portal, jobId: string) =>
      (await portal.api<{ status: string; waitingFor?: string }>(`copilot/job/${jobId}/status`)).body;
    const drain = (portal: Portal, name: string) =>
      portal.api<{ error?: string }>(`copilot/nodes/${name}/drain`, { method: "POST" });
    const twoPlaces = { config: { maxJobs: 2 } };
    const [a, b] = await Promise.all([
      nodes.start("a", twoPlaces),
      nodes.start("b", { config: { maxJobs: 1 }, program: await nextProgram(t) }),
    ]);
    let onA = "";
    let onB = "";
    const itHas = (version: string, other: string) => `It has version ${version}, and node ${other}.`;

    await t.test(
      "neighbouring versions run beside each other, and each names that of the other",
      async () => {
        for (const [name, portal, version] of [
          ["a", a, packageVersion],
          ["b", b, nextVersion],
        ] as const) {
          const { body } = await portal.api<{ nodes: NodeOfTest[] }>("copilot/nodes");
          assert.deepEqual(
            body.nodes.map(node => [node.name, node.version, node.warnings]),
            [
              ["a", packageVersion, name === "a" ? [] : [itHas(packageVersion, `b has ${version}`)]],
              ["b", nextVersion, name === "b" ? [] : [itHas(nextVersion, `a has ${version}`)]],
            ],
          );
        }
      },
    );

    await t.test(
      "a job beyond the places of its node starts at the other one, or waits for a place",
      async () => {
        onA = await pinned(a);
        await puppet.arrived("held 1");
        const first = await movable(a);
        await puppet.arrived("held 2");
        const second = await movable(a);
        await puppet.arrived("held 3");
        const third = await movable(a);
        const fourth = await pinned(a);
        assert.equal((await statusOf(a, fourth)).waitingFor, "a free place");
        const { jobs, places, waiting } = (await nodeSeen(a, "a")) ?? {};
        assert.deepEqual({ jobs, places, waiting }, { jobs: 2, places: 2, waiting: 2 });

        puppet.release("held 2");
        await ends(a, first);
        await puppet.arrived("held 4");
        assert.equal((await nodeSeen(a, "a"))?.waiting, 1, "a place goes first to what has to stay there");
        puppet.release("held 3");
        assert.deepEqual(await ends(b, second), [
          "Node a has no free place: the job waits for one.",
          "Node b goes on with the job.",
        ]);
        await puppet.arrived("held 5");
        puppet.release("held 4");
        await ends(a, fourth);
        onB = third;
        assert.deepEqual(nodes.counts(), { first: 5, held: 5, last: 3 });
      },
    );

    await t.test("a node that is drained leaves its jobs after the tasks that run", async () => {
      const leaving = await movable(a);
      await puppet.arrived("held 6");
      assert.equal((await drain(b, "no-such-node")).body.error, "NodeNotFound");
      const said = await runPortal(t, { command: ["node", "drain", "a", "--data-dir", b.dataDir] });
      assert.match(said.stdout, /^The node a is being drained: /);
      await seen(async () => (await nodeSeen(a, "a"))?.state === "draining");
      const { body } = await a.api<{ error?: string }>("copilot/job/start/three", {
        body: `${await tempFolder(t, "portal-own")}\n`,
      });
      assert.equal(body.error, "NodeDraining", "nothing new that would have to stay starts there");

      puppet.release("held 6");
      await seen(async () => (await nodeSeen(b, "a"))?.waiting === 1);
      assert.equal((await nodeSeen(b, "a"))?.state, "draining", "a task still runs there");
      puppet.release("held 5");
      await ends(b, onB);
      const titles = await ends(b, leaving);
      assert.deepEqual(titles, [
        "Node a is being drained: the job leaves it.",
        "Node b goes on with the job.",
      ]);

      puppet.release("held 1");
      await seen(async () => (await nodeSeen(b, "a"))?.state === "drained");
      assert.equal((await statusOf(a, onA)).status, "Paused");
      const health = await b.api<{ nodes: { name: string; state: string }[] }>("health");
      assert.deepEqual(
        health.body.nodes.map(({ name, state }) => `${name} ${state}`),
        ["a drained", "b running"],
      );
      assert.deepEqual(nodes.counts(), { first: 6, held: 6, last: 5 }, "no task ran twice");
    });

    await t.test(
      "one that was drained runs again after a restart, and what it paused can be continued",
      async () => {
        await a.restart();
        await hasJoined(a);
        assert.equal((await nodeSeen(b, "a"))?.state, "running");
        await a.api(`copilot/job/${onA}/continue`, { body: "" });
        await ends(a, onA);
        assert.deepEqual(nodes.counts(), { first: 6, held: 6, last: 6 });
      },
    );

    await t.test("one that a user stops hands over what can move at once, and pauses the rest", async () => {
      const stays = await pinned(a);
      await puppet.arrived("held 7");
      const leaves = await movable(a);
      await puppet.arrived("held 8");
      const { sessionId } = (
        await a.api<{ sessionId: string }>(`copilot/session/start/${scriptedModelId}`, {
          body: await nodes.sharedFolder(),
        })
      ).body;
      const start = `copilot/task/start/held/session/${sessionId}`;
      const { taskId } = (await a.api<{ taskId: string }>(start, { body: "" })).body;
      await puppet.arrived("held 9");
      await a.stop();
      for (const again of ["held 10", "held 11"]) {
        await puppet.arrived(again);
        puppet.release(again);
      }
      const task = await liveAll(`${b.url}/api/copilot/task/${taskId}/live/reader`);
      assert.equal(task.at(-1)?.callback, "taskSucceeded", "a task by itself goes on too");
      // Without the time to hand over, on a machine that is very busy, it counts as lost.
      assert.match((await ends(b, leaves)).join("\n"), /[Nn]ode b goes on with the job\.$/);
      assert.equal((await statusOf(b, stays)).status, "Paused");
    });

    await t.test("one whose machine or settings do not fit is warned about", async () => {
      // Its clock is ten seconds ahead.
      const clock = "const now = Date.now; Date.now = () => now() + 10_000;";
      const odd = await nodes.options("odd", {
        args: ["--auth", "--shared-dir", "/not/mounted"],
        config: { providers: [{ name: "other", baseUrl: "http://127.0.0.1:1/v1" }] },
        env: {
          PORTAL_TOKEN: "another-token-of-its-own",
          NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(clock)}"`,
        },
      });
      const { stderr } = await startPortal(t, odd);
      assert.match(stderr, /a shared folder cannot be used/);
      const { warnings } = await seen(async () => {
        const node = await nodeSeen(b, "odd");
        return (node?.warnings.length ?? 0) >= 5 && node;
      });
      for (const warning of [
        "It cannot use the shared folder /not/mounted: ENOENT.",
        /^Its clock is (9\.[5-9]|10\.\d) s ahead of that of the database\.$/,
        itHas(packageVersion, `b has ${nextVersion}`),
        "Its providers, agents or shared folders are not those of node b: jobs do not move between them.",
        "The node odd cannot be reached from here: it refuses this node. All nodes need the same PORTAL_TOKEN",
      ])
        assert.ok(
          warnings.some(found => (typeof warning === "string" ? found === warning : warning.test(found))),
          `${warning} in ${JSON.stringify(warnings)}`,
        );
      assert.deepEqual((await nodeSeen(b, "b"))?.warnings, []);
    });

    await t.test("one whose name was taken while it was frozen ends with one line", async () => {
      await a.restart();
      await hasJoined(a);
      process.kill(b.pid, "SIGSTOP");
      await seen(async () => (await nodeSeen(a, "b"))?.state !== "running");
      const other = await nodes.start("b");
      const exited = b.exited;
      process.kill(b.pid, "SIGCONT");
      const { code, stderr } = await exited;
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^While this node could not reach the database, another node b started at ${other.url} and`,
          "m",
        ),
      );
      assert.equal((await nodeSeen(a, "b"))?.state, "running");
    });
  });
});
