import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { only } from "../../support/acp/conversation.js";
import { atHome, copilot } from "../../support/acp/copilotCli.js";
import { copilotCommand } from "../../support/acp/testAgents.js";
import { tempFolder } from "../../support/cleanup.js";
import { decisionsOf, portalWithEntry, type TaskOfTest, task } from "../../support/jobs/jobs.js";
import { sessionById } from "../../support/portal/restSession.js";

const onAgent = { model: { category: "agent" } };
const retry = (retryTimes: number) => ({ failureAction: { retryTimes } });

const tasks: Record<string, TaskOfTest> = {
  condition: {
    prompt: ["condition"],
    criteria: { condition: ["is it good? job_boolean_true", "@call job_boolean_true it is"], ...retry(0) },
  },
  later: {
    prompt: ["later", "@call-from 2 job_prepare_document a.md"],
    criteria: { toolExecuted: ["job_prepare_document"], ...retry(2) },
  },
  never: {
    prompt: ["never"],
    criteria: { toolExecuted: ["job_prepare_document"], ...retry(1) },
  },
  crashing: { prompt: ["crashing", "@crash-first 1"], ...onAgent },
  left: { prompt: ["left", "@wait both"], ...onAgent },
  right: { prompt: ["right", "@wait both"], ...onAgent },
  other: { prompt: ["other", "@call job_prepare_document b.md"], model: { category: "driving" } },
};

const jobs = {
  crash: { work: task("crashing") },
  mixed: {
    work: {
      kind: "Par" as const,
      works: [task("left"), task("right"), task("other")],
    },
  },
};

test("Tasks and jobs run on the real Copilot CLI", async t => {
  // The portal's messages to the agent are the only place to see the job tool addresses.
  const sent = join(await tempFolder(t), "sent.txt");
  const recorded = {
    ...copilot,
    command: "sh",
    args: ["-c", 'tee "$1" | "$0" --acp --stdio', copilotCommand, sent],
  };
  const { portal, puppet, startSession, runTask, runJob, startJob, jobLog } = await portalWithEntry(
    t,
    { tasks, jobs, models: { agent: "acp:copilot" } },
    { config: { acpAgents: await atHome(t, { copilot: recorded }) } },
  );
  const promptsOf = (name: string) => puppet.prompts.filter(prompt => prompt.split("\n").includes(name));
  const onCopilot = () => startSession(encodeURIComponent("acp:copilot"));

  await t.test(
    "a condition is met when the agent calls the job tool, which needs no permission",
    async () => {
      const sessionId = await onCopilot();
      const responses = await runTask("condition", sessionId);
      assert.equal(responses.at(-1)?.callback, "taskSucceeded", JSON.stringify(responses));
      assert.match(decisionsOf(responses)[0] ?? "", /job_boolean_true was called: it is/);
      const log = await sessionById(portal, sessionId).untilIdle(2);
      assert.equal(only(log, "onPermissionRequest").length, 0);
      assert.deepEqual(
        only(log, "onStartToolExecution").map(({ toolName }) => toolName),
        ["job_boolean_true"],
      );
    },
  );

  await t.test("a task without that call is retried, and fails when its budget is spent", async () => {
    assert.equal((await runTask("later", await onCopilot())).at(-1)?.callback, "taskSucceeded");
    assert.equal(promptsOf("later").length, 2);
    assert.equal((await runTask("never", await onCopilot())).at(-1)?.callback, "taskFailed");
    assert.equal(promptsOf("never").length, 2);
  });

  await t.test("a turn that fails at the provider counts as a crash, and the task continues", async () => {
    const { outcome } = await runJob("crash");
    assert.equal(outcome, "jobSucceeded");
    assert.equal(promptsOf("crashing").length, 2);
  });

  await t.test("one job runs parallel works on the agent and on a Copilot model", async () => {
    const jobId = await startJob("mixed");
    await puppet.arrived("both");
    puppet.release("both");
    assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
    for (const name of ["left", "right", "other"]) assert.equal(promptsOf(name).length, 1, name);
  });

  await t.test("the job tools of an ended session answer 404", async () => {
    const addresses = [...new Set((await readFile(sent, "utf8")).match(/http:[^"]*\/acp\/mcp\/[^"]+/g))];
    const status = async (address: string) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      const headers = { "content-type": "application/json" };
      return (await fetch(address, { method: "POST", headers, body })).status;
    };
    const statuses = await Promise.all(addresses.map(status));
    // Three sessions are still open; the jobs' sessions have ended.
    assert.deepEqual(statuses.slice(0, 3), [200, 200, 200]);
    assert.ok(statuses.length >= 6, `${statuses.length} sessions`);
    assert.ok(
      statuses.slice(3).every(answer => answer === 404),
      statuses.join(),
    );
  });
});
