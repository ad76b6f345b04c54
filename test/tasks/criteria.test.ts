import assert from "node:assert/strict";
import { test } from "node:test";
import { decisionsOf, portalWithEntry, type TaskOfTest } from "../support/jobs/jobs.js";
import { callbacksOf, sessionById } from "../support/portal/restSession.js";

const retry = (retryTimes: number, additionalPrompt?: string) => ({
  failureAction: { retryTimes, ...(additionalPrompt && { additionalPrompt: [additionalPrompt] }) },
});
const document = ["job_prepare_document"];

const tasks: Record<string, TaskOfTest> = {
  plain: { prompt: ["plain"] },
  held: { prompt: ["held", "@wait held"] },
  input: { prompt: ["say $user-input on $task-model"] },
  "no-tool": { prompt: ["no-tool"], criteria: { toolExecuted: document, ...retry(0) } },
  "tool-later": {
    prompt: ["tool-later", "@call-from 3 job_prepare_document b.md"],
    criteria: { toolExecuted: document, ...retry(3, "Please go on.") },
  },
  "condition-later": {
    prompt: ["condition-later"],
    criteria: {
      condition: ["is it late? job_boolean_true", "@false-until 2"],
      ...retry(3, "Because: $reported-false-reason"),
    },
  },
  both: {
    prompt: ["both", "@call job_prepare_document c.md"],
    criteria: {
      toolExecuted: document,
      condition: ["is $reported-document good? job_boolean_true", "@call job_boolean_true yes"],
      runConditionInSameSession: false,
      ...retry(0),
    },
  },
};

test("A task in a session", async t => {
  const { portal, puppet, startSession, runTask, taskLog, model } = await portalWithEntry(t, { tasks });
  const promptsOf = (name: string) => puppet.prompts.filter(prompt => prompt.includes(name));

  await t.test("The list of tasks says which of them need user input", async () => {
    const { body } = await portal.api<{ tasks: { name: string; requireUserInput: boolean }[] }>(
      "copilot/task",
    );
    assert.deepEqual(
      body.tasks,
      Object.keys(tasks).map(name => ({ name, requireUserInput: name === "input" })),
    );
  });

  await t.test("A task without criteria succeeds after its prompt, and its session stays open", async () => {
    const sessionId = await startSession();
    const responses = await runTask("plain", sessionId);
    assert.deepEqual(callbacksOf(responses), [
      "taskAttemptStarted",
      "taskAttemptEnded",
      "taskDecision",
      "taskSucceeded",
    ]);
    assert.deepEqual(decisionsOf(responses), [
      "[TASK SUCCEEDED] The task succeeded: there are no criteria to meet",
    ]);
    const session = sessionById(portal, sessionId);
    await session.query("are you there?");
    const log = await session.untilIdle(2);
    assert.deepEqual(
      log
        .filter(({ callback }) => String(callback).endsWith("Prompt") || callback === "onUserRequest")
        .map(({ callback, prompt }) => `${callback}: ${prompt}`),
      ["onGeneratedUserPrompt: plain", "onUserRequest: are you there?"],
    );
  });

  await t.test("A task's prompt contains the user input and the session's model", async () => {
    await runTask("input", await startSession(), "hello\nyou");
    assert.deepEqual(promptsOf("say"), [`say hello\nyou on ${model.modelId}`]);
  });

  await t.test("A task with a retry budget of 0 fails at once", async () => {
    const responses = await runTask("no-tool", await startSession());
    assert.equal(responses.at(-1)?.callback, "taskFailed");
    assert.equal(promptsOf("no-tool").length, 1);
    assert.deepEqual(decisionsOf(responses), [
      '[CRITERIA] Failed: toolExecuted "job_prepare_document": not called in the last round: job_prepare_document',
      "[DECISION] The retry budget is spent: 0 of 0",
      "[TASK FAILED] The task failed: the criteria are not met",
    ]);
  });

  await t.test("A task is retried until it calls its tools, and its log has every retry", async () => {
    const responses = await runTask("tool-later", await startSession());
    assert.equal(responses.at(-1)?.callback, "taskSucceeded");
    const [first = "", ...retries] = promptsOf("tool-later");
    const added =
      "## Required Tool Not Called: job_prepare_document\n## You accidentally Stopped\nPlease go on.";
    assert.deepEqual(retries, [`${first}\n${added}`, `${first}\n${added}`]);
    const told = decisionsOf(responses).filter(reason => reason.startsWith("[OPERATION]"));
    assert.deepEqual(told, ["[OPERATION] Retry 1 of 3", "[OPERATION] Retry 2 of 3"]);
  });

  await t.test("A task is retried with the reason when the answer to its condition is false", async () => {
    const responses = await runTask("condition-later", await startSession());
    assert.equal(responses.at(-1)?.callback, "taskSucceeded");
    assert.deepEqual(promptsOf("condition-later"), [
      "condition-later",
      "condition-later\n## You accidentally Stopped\nBecause: time 1",
    ]);
  });

  await t.test(
    "A task in a borrowed session runs its condition there even when it asks for another session",
    async () => {
      const sessionId = await startSession();
      const responses = await runTask("both", sessionId);
      assert.equal(responses.at(-1)?.callback, "taskSucceeded");
      assert.equal(promptsOf("is c.md good?").length, 1);
      assert.ok(!callbacksOf(responses).includes("taskSessionStarted"));
    },
  );

  await t.test(
    "A task that does not exist, or lacks its session or input, is refused with a named error",
    async () => {
      const sessionId = await startSession();
      const start = async (path: string, body = "") =>
        (await portal.api(`copilot/task/start/${path}`, { body })).body;
      assert.equal((await start(`nothing/session/${sessionId}`)).error, "TaskNotFound");
      assert.equal((await start(`__proto__/session/${sessionId}`)).error, "TaskNotFound");
      assert.equal((await start("plain/session/nowhere")).error, "SessionNotFound");
      assert.equal((await start(`input/session/${sessionId}`, " \n ")).error, "UserInputRequired");
    },
  );

  await t.test("A task cannot be stopped while it borrows a session, or after it has ended", async () => {
    const started = await portal.api<{ taskId: string }>(
      `copilot/task/start/held/session/${await startSession()}`,
      { body: "" },
    );
    const { taskId } = started.body;
    const stop = async (id: string) => (await portal.api(`copilot/task/${id}/stop`)).body.error;
    await puppet.arrived("held");
    assert.equal(await stop(taskId), "TaskCannotClose");
    puppet.release("held");
    assert.equal((await taskLog(taskId)).at(-1)?.callback, "taskSucceeded");
    assert.equal(await stop(taskId), "TaskNotFound");
    assert.equal(await stop("never"), "TaskNotFound");
  });

  await t.test("A task is read one response at a time, then is closed once, then is unknown", async () => {
    const sessionId = await startSession();
    const { body } = await portal.api<{ taskId: string }>(`copilot/task/start/no-tool/session/${sessionId}`, {
      body: "",
    });
    const seen: string[] = [];
    for (;;) {
      const answer = (await portal.api(`copilot/task/${body.taskId}/live`)).body;
      if (answer.error === "HttpRequestTimeout") continue;
      seen.push(String(answer.callback ?? answer.error));
      if (answer.error === "TaskNotFound") break;
    }
    assert.deepEqual(seen.slice(-3), ["taskFailed", "TaskClosed", "TaskNotFound"]);
  });
});
