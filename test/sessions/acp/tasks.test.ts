import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fakeAgent, signedOutAgent, steps } from "../../support/acp/acp.js";
import type { Step } from "../../support/acp/fakeAgentSteps.js";
import { decisionsOf, portalWithEntry, type TaskOfTest, task } from "../../support/jobs/jobs.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { scriptedModelId } from "../../support/model/scriptedModel.js";
import { callbacksOf } from "../../support/portal/restSession.js";

const model = { id: "acp:fake" };
const does = (...list: Step[]) => [`Do this: ${steps(...list)}`];
const needs = (tool: string, retryTimes = 0, additional?: Step[]) => ({
  toolExecuted: [tool],
  failureAction: { retryTimes, ...(additional && { additionalPrompt: does(...additional) }) },
});
const report = { job: "job_prepare_document", argument: "/tmp/a.md" };

const tasks: Record<string, TaskOfTest> = {
  reports: { prompt: does(report), model, criteria: needs("job_prepare_document") },
  // A tool block counts for nothing; only a call that reaches the portal does.
  pretends: {
    prompt: does(
      { job: "" },
      {
        update: {
          sessionUpdate: "tool_call",
          toolCallId: "p",
          title: "portal-jobs-job_prepare_document",
          status: "completed",
        },
      },
    ),
    model,
    criteria: needs("job_prepare_document"),
  },
  second: { prompt: does({ job: "" }), model, criteria: needs("job_prepare_document", 1, [report]) },
  alone: { prompt: does({ message: "I have no tools" }), model, criteria: needs("job_prepare_document") },
  crashes: {
    prompt: does({ job: "" }, { onceThenFile: "crashed" }, report),
    model,
    criteria: needs("job_prepare_document"),
  },
  signsIn: { prompt: ["hello"], model: { id: "acp:login" } },
  checked: {
    prompt: does({ job: "" }, { message: "done" }),
    model,
    criteria: {
      condition: does({ job: "job_boolean_true", argument: "it is" }),
      failureAction: { retryTimes: 0 },
    },
  },
  asks: {
    prompt: does(
      {
        ask: "session/request_permission",
        params: {
          toolCall: { toolCallId: "x", title: "ls", kind: "execute" },
          options: [{ optionId: "yes", kind: "allow_once", name: "Yes" }],
        },
      },
      report,
    ),
    model,
    criteria: needs("job_prepare_document"),
  },
};
const jobs = {
  ...Object.fromEntries(Object.keys(tasks).map(name => [name, { work: task(name) }])),
  many: { work: { kind: "Par" as const, works: [task("reports"), task("checked"), task("reports")] } },
};

describe("Tasks on ACP agents", () => {
  test("job tool calls that reach the portal decide a task", async t => {
    const config = {
      acpAgents: {
        fake: fakeAgent({}, { taskPolicy: "approve-all" }),
        login: signedOutAgent(),
      },
    };
    const portal = await portalWithEntry(
      t,
      { tasks, jobs, models: { driving: "acp:fake", own: scriptedModelId } },
      { config, args: ["--permissions", "ask"] },
    );
    const { runJob, taskLog } = portal;
    const run = async (name: string) => {
      const job = await runJob(name);
      const start = job.responses.find(({ callback }) => callback === "workStarted");
      const log = await taskLog(String(start?.taskId));
      return { ...job, decisions: decisionsOf(log).join("\n"), log };
    };

    const reports = await run("reports");
    assert.deepEqual(reports.tasks, ["reports"], reports.decisions);
    await checkToken(portal.portal.url, reports.log, portal.portal);

    assert.deepEqual((await run("pretends")).tasks, ["pretends!"]);
    const second = await run("second");
    assert.deepEqual(second.tasks, ["second"], second.decisions);
    assert.match(second.decisions, /Retry 1 of 1/);

    const alone = await run("alone");
    assert.deepEqual(alone.tasks, ["alone!"]);
    assert.match(alone.decisions, /The agent did not connect to the job tools/);

    const crashes = await run("crashes");
    assert.deepEqual(crashes.tasks, ["crashes"], crashes.decisions);
    assert.match(crashes.decisions, /SESSION CRASHED.*exited with code 9/);

    const signsIn = await run("signsIn");
    assert.deepEqual(signsIn.tasks, ["signsIn!"]);
    assert.match(signsIn.decisions, /crashed \(5 of 5\): .*Log in\./, "asking again would be useless");

    assert.deepEqual((await run("checked")).tasks, ["checked"]);
    assert.deepEqual((await run("asks")).tasks, ["asks"], "a task's agent may do everything");
    assert.equal((await run("many")).outcome, "jobSucceeded");
  });
});

/** The session of an ended task no longer has job tools. */
async function checkToken(
  url: string,
  log: AnyResponse[],
  portal: { api(path: string): Promise<{ body: unknown }> },
) {
  const started = log.find(({ callback }) => callback === "taskSessionStarted");
  const { body } = await portal.api(`copilot/session/${started?.sessionId}/export?format=json`);
  const { responses } = body as { responses: AnyResponse[] };
  const call = responses.find(({ callback }) => callback === "onJobTool");
  assert.deepEqual([call?.name, call?.argument], ["job_prepare_document", "/tmp/a.md"]);
  assert.ok(!callbacksOf(responses).includes("onPermissionRequest"));
  const answer = await fetch(`${url}/api/acp/mcp/${"a".repeat(22)}`, { method: "POST", body: "{}" });
  assert.equal(answer.status, 404);
}
