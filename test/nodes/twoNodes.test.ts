import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { agentsOf, logOf, nodeSeen, nodesOf } from "../support/nodes/nodes.js";
import { runPortal } from "../support/portal/portal.js";
import { processesWith } from "../support/processes.js";
import { seen } from "../support/seen.js";
import type { Postgres } from "../support/store/postgres.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

const file = groupScope();
let server: Postgres;
before(async () => {
  server = await runningPostgres(file);
});

describe("Nodes on one database", () => {
  test("two start at once, a job goes on at the other one when its node is killed, and a job that kills all its nodes ends", async t => {
    const nodes = await nodesOf(t, server);
    const [a, b] = await Promise.all([nodes.start("a"), nodes.start("b")]);

    await t.test("a second node with the same name is refused in one line", async () => {
      const { code, stderr } = await runPortal(t, await nodes.options("a"));
      assert.equal(code, 1);
      assert.match(
        stderr,
        /There is a running node a at http:\/\/localhost:\d+\. Stop it, or give this one another name/,
      );
    });

    await t.test(
      "a movable job goes on elsewhere, after the agents of the lost node have ended",
      async () => {
        const jobId = await nodes.startJob(a, await nodes.sharedFolder());
        await nodes.puppet.arrived("held 1");
        await a.kill();
        await nodes.puppet.arrived("held 2");
        assert.deepEqual(
          await processesWith("COPILOT_HOME", a.copilotHome),
          [],
          "no agent of the lost node is left",
        );
        nodes.puppet.release("held 2");
        const log = await logOf(b, jobId);
        assert.equal(log.at(-1)?.callback, "jobSucceeded");
        assert.ok(log.some(({ title }) => title === "Node a was lost; node b goes on with the job."));
        assert.deepEqual(nodes.counts(), { first: 1, held: 2, last: 1 });
      },
    );

    await t.test(
      "a node that starts again has its name at once, and goes on with what is pinned to it",
      async () => {
        await a.restart();
        const jobId = await nodes.startJob(a, await tempFolder(t, "portal-own"));
        await nodes.puppet.arrived("held 3");
        await a.kill();
        await a.restart();
        await nodes.puppet.arrived("held 4");
        nodes.puppet.release("held 4");
        const log = await logOf(a, jobId);
        assert.equal(log.at(-1)?.callback, "jobSucceeded");
        assert.ok(!log.some(({ title }) => /goes on with the job/.test(String(title))));
        assert.deepEqual(nodes.counts(), { first: 2, held: 4, last: 2 });
        const owners = await server.query<{ node: string; movable: boolean }>(
          nodes.database,
          "select node, movable from owned order by since",
        );
        assert.deepEqual(
          owners.map(({ node, movable }) => `${node} ${movable}`),
          ["b true", "a false"],
        );
      },
    );

    await t.test(
      "a frozen node loses what can move, and once thawed it joins again with what is pinned",
      async () => {
        const pinned = await nodes.startJob(a, await tempFolder(t, "portal-own"));
        await nodes.puppet.arrived("held 5");
        const movable = await nodes.startJob(a, await nodes.sharedFolder());
        await nodes.puppet.arrived("held 6");
        const agents = await agentsOf(a);
        process.kill(a.pid, "SIGSTOP");
        await nodes.puppet.arrived("held 7");
        assert.deepEqual(
          (await agentsOf(a)).map(({ movable }) => movable),
          [false],
          "only the runtime of what is pinned is left",
        );
        assert.deepEqual(agents.map(({ movable }) => movable).sort(), [false, true]);
        nodes.puppet.release("held 7");
        assert.equal((await logOf(b, movable)).at(-1)?.callback, "jobSucceeded");
        process.kill(a.pid, "SIGCONT");
        await seen(async () => {
          const { body } = await a.api<{ lease: string; nodes: { name: string; state: string }[] }>("health");
          return body.lease === "held" && body.nodes.every(({ state }) => state === "running");
        });
        nodes.puppet.release("held 5");
        assert.equal((await logOf(a, pinned)).at(-1)?.callback, "jobSucceeded");
        assert.deepEqual(nodes.counts(), { first: 4, held: 7, last: 4 });
      },
    );

    await t.test(
      "a stopped node hands over what can move, and removing it ends what is pinned to it",
      async () => {
        const movable = await nodes.startJob(a, await nodes.sharedFolder());
        await nodes.puppet.arrived("held 8");
        const pinned = await nodes.startJob(a, await tempFolder(t, "portal-own"));
        await nodes.puppet.arrived("held 9");
        await a.kill("SIGTERM");
        await nodes.puppet.arrived("held 10");
        nodes.puppet.release("held 10");
        const log = await logOf(b, movable);
        assert.equal(log.at(-1)?.callback, "jobSucceeded");
        const known = await b.api<{ nodes: { name: string; state: string; sharedDirs: string[] }[] }>(
          "copilot/nodes",
        );
        assert.deepEqual(
          known.body.nodes.map(({ name, state, sharedDirs }) => [name, state, sharedDirs]),
          [
            ["a", "gone", [nodes.sharedDir]],
            ["b", "running", [nodes.sharedDir]],
          ],
        );
        const remove = async (name: string) =>
          (await b.api<{ error?: string }>(`copilot/nodes/${name}/remove`, { method: "POST" })).body;
        const listed = await runPortal(t, { command: ["nodes", "--data-dir", b.dataDir] });
        assert.deepEqual(
          listed.stdout.split("\n").map(line => line.split("\t").slice(0, 2)),
          [["a", "gone"], ["b", "running"], [""]],
        );
        assert.equal((await remove("b")).error, "NodeRunning");
        assert.equal((await remove("c")).error, "NodeNotFound");
        assert.deepEqual(await remove("a"), {});
        const { body } = await b.api<{ status: string; reason?: string }>(`copilot/job/${pinned}/status`);
        assert.deepEqual([body.status, body.reason], ["Failed", "The node a was removed."]);
      },
    );

    await t.test(
      "a job that kills five nodes in a row without ending a task fails, and the sixth node lives",
      async () => {
        const others = await Promise.all(["c", "d", "e", "f", "g"].map(name => nodes.start(name)));
        const living = new Map([b, ...others].map((portal, index) => ["bcdefg"[index] ?? "", portal]));
        const earlier = nodes.counts();
        const jobId = await nodes.startJob(b, await nodes.sharedFolder());
        const lost: string[] = [];
        for (let time = 11; time < 16; time++) {
          await nodes.puppet.arrived(`held ${time}`);
          const owned = "select node from owned where root = $1";
          const [{ node } = { node: "" }] = await server.query<{ node: string }>(nodes.database, owned, [
            jobId,
          ]);
          await living.get(node)?.kill();
          living.delete(node);
          lost.push(node);
        }
        // Were it sent a sixth time, the job would succeed.
        nodes.puppet.release("held 16");
        const [[last, survivor] = ["", b]] = living;
        const log = await seen(() => logOf(survivor, jobId).catch(() => undefined));
        const { callback, reason } = log.at(-1) ?? {};
        assert.deepEqual([callback, reason], ["jobFailed", "Five nodes were lost while this job ran."]);
        assert.deepEqual(
          log.flatMap(({ title }) => (/was lost/.test(String(title)) ? [title] : [])),
          lost
            .slice(1)
            .map((node, index) => `Node ${lost[index]} was lost; node ${node} goes on with the job.`),
        );
        assert.deepEqual(
          nodes.counts(),
          { first: (earlier.first ?? 0) + 1, held: (earlier.held ?? 0) + 5, last: earlier.last },
          "nothing that has ended runs again, and nothing is sent after the fifth time",
        );
        assert.equal((await nodeSeen(survivor, last))?.state, "running");
      },
    );
  });
});
