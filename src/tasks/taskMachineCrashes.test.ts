import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crashed, finished, no, playTask, refused, yes } from "../../test/support/jobs/playTask.js";
import type { TaskEvent } from "./taskSteps.js";

const prefix = "The session crashed, please redo and here is the last request:\n";
const done = finished();
const times = (count: number, event: TaskEvent) => Array.from({ length: count }, () => event);
const retry = (retryTimes: number, additionalPrompt?: string) => ({
  failureAction: { retryTimes, ...(additionalPrompt ? { additionalPrompt: [additionalPrompt] } : {}) },
});

describe("crashes of a task's sessions", () => {
  const good = { prompt: ["do"] };

  it("are forgiven four times for the same prompt, and each resend has the prefix once", () => {
    const { sends, result } = playTask(good, {}, [...times(4, crashed), done]);
    assert.deepEqual(sends, ["do", ...Array.from({ length: 4 }, () => `${prefix}do`)]);
    assert.equal(result.succeeded, true);
  });

  it("fail the task with the crash error at the fifth crash", () => {
    const { sends, result, reports } = playTask(good, {}, times(5, crashed));
    assert.equal(sends.length, 5);
    assert.deepEqual(result, { succeeded: false, crashError: "boom" });
    assert.deepEqual(reports.slice(-2), [
      "[DECISION] The crash budget is spent: driver 5 of 5",
      "[TASK FAILED] The task failed: the session crashed",
    ]);
  });

  it("have a fresh budget for every prompt", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(0) } };
    const events = [...times(4, crashed), done, ...times(4, crashed), yes];
    assert.equal(playTask(task, {}, events).result.succeeded, true);
  });

  it("in the first criteria check fail the task", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(3) } };
    const { result } = playTask(task, {}, [done, ...times(5, crashed)]);
    assert.deepEqual(result, { succeeded: false, crashError: "boom" });
  });

  it("that spend their budget inside a retry count as one failed retry, in its prompt and in its check", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(2) } };
    const inPrompt = playTask(task, {}, [done, no, ...times(5, crashed), done, yes]);
    assert.equal(inPrompt.result.succeeded, true);
    assert.ok(inPrompt.reports.includes("[DECISION] The crash counts as the failure of retry 1 of 2"));
    const inCheck = playTask(task, {}, [done, no, done, ...times(5, crashed), ...times(5, crashed)]);
    assert.deepEqual(inCheck.result, { succeeded: false });
  });

  it("while a session opens use the same budget, and the prompt is sent without the prefix", () => {
    const { sends, result, actions } = playTask(good, {}, [done], times(4, crashed));
    assert.deepEqual(sends, ["do"]);
    assert.equal(result.succeeded, true);
    assert.deepEqual(
      actions.slice(0, 5).map(action => action.split(" ").slice(0, 2).join(" ")),
      ["open 1", "open 2", "open 3", "open 4", "open 5"],
    );
    assert.deepEqual(playTask(good, {}, [], times(5, crashed)).result.crashError, "boom");
  });

  it("are not retried when the session cannot be opened", () => {
    const { actions, result } = playTask(good, {}, [], [refused]);
    assert.deepEqual(actions, ["open 1 driver driving"]);
    assert.deepEqual(result, { succeeded: false, crashError: "no such model" });
  });

  it("close the crashed session before a fresh one opens", () => {
    const { actions } = playTask(good, {}, [crashed, done]);
    assert.deepEqual(actions.slice(2, 4), ["close 1 failed", "open 2 driver driving"]);
  });
});

describe("driving work with drivingSessionRetries", () => {
  const entry = {
    models: { driving: "driver", coding: "coder" },
    tasks: {},
    drivingSessionRetries: [
      { modelId: "driver", retries: 1 },
      { modelId: "second", retries: 0 },
      { modelId: "third", retries: 1 },
    ],
  };
  const task = {
    prompt: ["do"],
    model: { id: "coder" },
    criteria: { condition: ["good?"], runConditionInSameSession: false, ...retry(1) },
  };
  const opened = (actions: string[]) =>
    actions.filter(action => action.startsWith("open")).map(action => action.split(" ")[2]);

  it("rotates through the models, each as often as its budget allows, until all are spent", () => {
    const { actions, result, reports } = playTask(task, { entry }, [done, ...times(5, crashed)]);
    assert.deepEqual(opened(actions), ["coder", "driver", "second", "third", "driver", "third"]);
    assert.deepEqual(result, { succeeded: false, crashError: "boom" });
    assert.ok(
      reports.includes("[DECISION] The crash budget is spent: driver 2 of 2, second 1 of 1, third 2 of 2"),
    );
  });

  it("has fresh budgets for every check", () => {
    const events = [done, ...times(4, crashed), no, done, ...times(4, crashed), yes];
    assert.equal(playTask(task, { entry }, events).result.succeeded, true);
  });

  it("moves to the next model at once when one is not available", () => {
    const { actions } = playTask(task, { entry }, [done, yes], [{ kind: "done" }, refused]);
    assert.deepEqual(opened(actions), ["coder", "driver", "second"]);
  });

  it("does not affect the prompt's own budget and model", () => {
    const { actions, result } = playTask(task, { entry }, times(5, crashed));
    assert.deepEqual(
      opened(actions),
      times(5, done).map(() => "coder"),
    );
    assert.equal(result.crashError, "boom");
  });
});
