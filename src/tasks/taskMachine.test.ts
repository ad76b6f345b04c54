import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crashed, finished, no, playTask, yes } from "../../test/support/jobs/playTask.js";
import type { TaskEvent } from "./taskSteps.js";

const prefix = "The session crashed, please redo and here is the last request:\n";
const done = finished();
const times = (count: number, event: TaskEvent) => Array.from({ length: count }, () => event);
const retry = (retryTimes: number, additionalPrompt?: string) => ({
  failureAction: { retryTimes, ...(additionalPrompt ? { additionalPrompt: [additionalPrompt] } : {}) },
});

describe("a task on one managed session", () => {
  it("opens one session of its model, sends the prompt, closes the session and succeeds", () => {
    const { actions, result, reports } = playTask({ prompt: ["do"], model: { category: "coding" } }, {}, [
      done,
    ]);
    assert.deepEqual(actions, ["open 1 coder driving", "send 1 do", "close 1 succeeded"]);
    assert.deepEqual(result, { succeeded: true });
    assert.deepEqual(reports, [
      "[SESSION STARTED] Driving and task session #1 on coder",
      "[TASK SUCCEEDED] The task succeeded: there are no criteria to meet",
    ]);
  });

  it("prefers the caller's model to its own, and runs on the driving model when neither is set", () => {
    const model = { id: "own" };
    const opened = (task: object, setup: object) =>
      playTask({ prompt: ["do"], ...task }, setup, [done]).actions[0];
    assert.equal(opened({ model }, { modelIdOverride: "callers" }), "open 1 callers driving");
    assert.equal(opened({ model }, {}), "open 1 own driving");
    assert.equal(opened({}, {}), "open 1 driver driving");
  });

  it("checks availability and criteria in the same session as the prompt", () => {
    const task = {
      prompt: ["do"],
      availability: { condition: ["ready?"] },
      criteria: { condition: ["good?"], ...retry(0) },
    };
    const { actions } = playTask(task, {}, [yes, done, yes]);
    assert.deepEqual(actions, [
      "open 1 driver driving",
      "send 1 ready?",
      "send 1 do",
      "send 1 good?",
      "close 1 succeeded",
    ]);
  });

  it("retries in the same session", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(1) } };
    const { actions } = playTask(task, {}, [done, no, done, yes]);
    assert.deepEqual(actions, [
      "open 1 driver driving",
      "send 1 do",
      "send 1 good?",
      "send 1 do",
      "send 1 good?",
      "close 1 succeeded",
    ]);
  });

  it("resends a prompt in a fresh session of the same model after a crash, and stays there", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(0) } };
    const { actions, reports } = playTask(task, {}, [crashed, done, yes]);
    assert.deepEqual(actions, [
      "open 1 driver driving",
      "send 1 do",
      "close 1 failed",
      "open 2 driver driving",
      `send 2 ${prefix}do`,
      "send 2 good?",
      "close 2 succeeded",
    ]);
    assert.ok(
      reports.includes("[SESSION CRASHED] Driving and task session #1 on driver crashed (1 of 5): boom"),
    );
    assert.ok(reports.includes("[OPERATION] Sending the request again on driver"));
  });
});

describe("a task on several managed sessions", () => {
  const separate = { runConditionInSameSession: false };

  it("has a separate session for each condition check and each run of the prompt", () => {
    const task = {
      prompt: ["do"],
      model: { category: "coding" },
      availability: { condition: ["ready?"] },
      criteria: { condition: ["good?"], ...separate, ...retry(1) },
    };
    const { actions, result } = playTask(task, {}, [yes, done, no, done, yes]);
    assert.deepEqual(actions, [
      "open 1 driver driving",
      "send 1 ready?",
      "close 1 succeeded",
      "open 2 coder",
      "send 2 do",
      "close 2 succeeded",
      "open 3 driver driving",
      "send 3 good?",
      "close 3 succeeded",
      "open 4 coder",
      "send 4 do",
      "close 4 succeeded",
      "open 5 driver driving",
      "send 5 good?",
      "close 5 succeeded",
    ]);
    assert.deepEqual(result, { succeeded: true });
  });

  it("opens no driving session when there is nothing to ask", () => {
    const task = {
      prompt: ["do"],
      criteria: { toolExecuted: ["job_prepare_document"], ...separate, ...retry(0) },
    };
    const { actions } = playTask(task, {}, [finished(["job_prepare_document", "a.md"])]);
    assert.deepEqual(actions, ["open 1 driver", "send 1 do", "close 1 succeeded"]);
  });
});

describe("a task in a borrowed session", () => {
  const borrowed = { borrowedModelId: "theirs" };

  it("runs every prompt in it, opens and closes nothing, and does not check availability", () => {
    const task = {
      prompt: ["do on $task-model"],
      availability: { previousTasks: ["other"], condition: ["ready?"] },
      criteria: { condition: ["good?"], runConditionInSameSession: false, ...retry(1) },
    };
    const { actions, result } = playTask(task, borrowed, [done, no, done, yes]);
    assert.deepEqual(actions, ["send 0 do on theirs", "send 0 good?", "send 0 do on theirs", "send 0 good?"]);
    assert.deepEqual(result, { succeeded: true });
  });

  it("fails at once when the session crashes", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(3) } };
    for (const events of [[crashed], [done, crashed], [done, no, crashed], [done, no, done, crashed]]) {
      const { result, unused, reports } = playTask(task, borrowed, events);
      assert.deepEqual(result, { succeeded: false, crashError: "boom" });
      assert.deepEqual(unused, []);
      assert.ok(reports.includes("[DECISION] The crash budget is spent: theirs 1 of 1"));
    }
  });
});

describe("the availability of a task", () => {
  const task = (availability: object) => ({ prompt: ["do"], availability });

  it("allows a task whose previousTasks include the task that ran before it", () => {
    const { result, reports } = playTask(task({ previousTasks: ["a", "b"] }), { previousTasks: ["b"] }, [
      done,
    ]);
    assert.equal(result.succeeded, true);
    assert.equal(reports[0], '[AVAILABILITY] Passed: previousTasks "a", "b": just before finished "b"');
  });

  it("fails a task without opening a session when another task, or none, ran before it", () => {
    for (const previousTasks of [["c"], []]) {
      const { result, reports, actions } = playTask(task({ previousTasks: ["a"] }), { previousTasks }, []);
      assert.deepEqual(result, { succeeded: false });
      assert.deepEqual(actions, []);
      assert.match(reports[0] ?? "", /^\[AVAILABILITY\] Failed: previousTasks "a": /);
      assert.equal(reports[1], "[TASK FAILED] The task failed: the task is not available");
    }
  });

  it("fails a task when the answer to its condition is false or missing", () => {
    for (const [event, reason] of [
      [no, "job_boolean_false was called: it is not"],
      [done, "neither job_boolean_true nor job_boolean_false was called"],
    ] as const) {
      const { result, reports, sends } = playTask(task({ condition: ["ready?"] }), {}, [event]);
      assert.deepEqual(result, { succeeded: false });
      assert.deepEqual(sends, ["ready?"]);
      assert.ok(reports.includes(`[AVAILABILITY] Failed: condition: ${reason}\n\nready?`));
    }
  });

  it("is not checked when the caller says so", () => {
    const unavailable = task({ previousTasks: ["a"], condition: ["ready?"] });
    const { sends, result } = playTask(unavailable, { ignoreAvailability: true }, [done]);
    assert.deepEqual(sends, ["do"]);
    assert.equal(result.succeeded, true);
  });

  it("fails the task with its crash error when the check spends its crash budget", () => {
    const { result, reports } = playTask(task({ condition: ["ready?"] }), {}, times(5, crashed));
    assert.deepEqual(result, { succeeded: false, crashError: "boom" });
    assert.ok(reports.includes("[TASK FAILED] The task failed: the availability could not be checked"));
  });
});

describe("the criteria of a task", () => {
  const needs = { toolExecuted: ["job_prepare_document", "job_boolean_true"] };
  const both = finished(["job_boolean_true", "y"], ["job_prepare_document", "d"]);

  it("are met when all tools were called in the last round", () => {
    const { result, reports, sends } = playTask({ prompt: ["do"], criteria: { ...needs, ...retry(3) } }, {}, [
      both,
    ]);
    assert.equal(result.succeeded, true);
    assert.deepEqual(sends, ["do"]);
    assert.ok(
      reports.includes(
        '[CRITERIA] Passed: toolExecuted "job_prepare_document", "job_boolean_true": all were called',
      ),
    );
  });

  it("do not count a call of an earlier round", () => {
    const first = finished(["job_prepare_document", "d"]);
    const second = finished(["job_boolean_true", "y"]);
    const { result } = playTask({ prompt: ["do"], criteria: { ...needs, ...retry(1) } }, {}, [first, second]);
    assert.equal(result.succeeded, false);
  });

  it("ask the condition even when a tool is missing, and fail whatever the answer is", () => {
    const task = { prompt: ["do"], criteria: { ...needs, condition: ["good?"], ...retry(0) } };
    for (const answer of [yes, no, done]) {
      const { sends, result } = playTask(task, {}, [done, answer]);
      assert.deepEqual([sends, result.succeeded], [["do", "good?"], false]);
    }
    const crashing = playTask(task, {}, [done, ...times(5, crashed)]);
    assert.deepEqual(crashing.result, { succeeded: false, crashError: "boom" });
  });

  it("that release 0.1.0 recorded ask no condition when a tool is missing, and end with that release's messages", () => {
    const task = { prompt: ["do"], criteria: { ...needs, condition: ["good?"], ...retry(0) } };
    const { sends, reports } = playTask(task, { rules: undefined }, [done]);
    assert.deepEqual([sends, reports.at(-1)], [["do"], "[TASK FAILED] The criteria are not met"]);
  });

  it("ask the condition when all tools were called; both must hold", () => {
    const task = { prompt: ["do"], criteria: { ...needs, condition: ["good?"], ...retry(0) } };
    assert.equal(playTask(task, {}, [both, yes]).result.succeeded, true);
    assert.equal(playTask(task, {}, [both, no]).result.succeeded, false);
  });

  it("say with what words the condition was answered, and when nobody answered", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(0) } };
    const told = (answer: TaskEvent) =>
      playTask(task, {}, [done, answer])
        .reports.find(report => report.startsWith("[CRITERIA]"))
        ?.split("\n")[0];
    assert.equal(told(yes), "[CRITERIA] Passed: condition: job_boolean_true was called: it is");
    assert.equal(told(no), "[CRITERIA] Failed: condition: job_boolean_false was called: it is not");
    assert.equal(
      told(done),
      "[CRITERIA] Failed: condition: neither job_boolean_true nor job_boolean_false was called",
    );
  });

  it("take the last boolean call of the round as its verdict", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(0) } };
    const wavering = (last: string) =>
      finished(["job_boolean_true", "1"], ["job_boolean_false", "2"], [last, "3"]);
    assert.equal(playTask(task, {}, [done, wavering("job_boolean_true")]).result.succeeded, true);
    assert.equal(playTask(task, {}, [done, wavering("job_boolean_false")]).result.succeeded, false);
  });

  it("do not treat a boolean call in the prompt's own round as an answer to the condition", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(0) } };
    assert.equal(playTask(task, {}, [yes, done]).result.succeeded, false);
  });
});

describe("the retries of a task", () => {
  const missingBoth = "## Required Tool Not Called: job_prepare_document, job_boolean_true";
  const needs = { toolExecuted: ["job_prepare_document", "job_boolean_true"] };

  it("send the original prompt with the missing tools and the additional prompt below it", () => {
    const task = { prompt: ["do"], criteria: { ...needs, ...retry(1, "go on") } };
    const { sends } = playTask(task, {}, [done, done]);
    assert.deepEqual(sends, ["do", `do\n${missingBoth}\n## You accidentally Stopped\ngo on`]);
  });

  it("send nothing more than the prompt when no tool is missing and there is no additional prompt", () => {
    const task = { prompt: ["do"], criteria: { condition: ["good?"], ...retry(1) } };
    assert.deepEqual(playTask(task, {}, [done, no, done, yes]).sends, ["do", "good?", "do", "good?"]);
  });

  it("name only the tools that are missing now", () => {
    const task = { prompt: ["do"], criteria: { ...needs, ...retry(2) } };
    const { sends } = playTask(task, {}, [done, finished(["job_prepare_document", "d"]), done]);
    assert.deepEqual(sends, [
      "do",
      `do\n${missingBoth}`,
      "do\n## Required Tool Not Called: job_boolean_true",
    ]);
  });

  it("do not happen after a success", () => {
    const task = { prompt: ["do"], criteria: { ...needs, ...retry(3) } };
    const good = finished(["job_boolean_true", "y"], ["job_prepare_document", "d"]);
    assert.equal(playTask(task, {}, [done, good]).sends.length, 2);
  });

  it("end when the budget is spent, and each is reported with its number", () => {
    for (const budget of [0, 1, 3]) {
      const task = { prompt: ["do"], criteria: { ...needs, ...retry(budget) } };
      const { result, sends, reports } = playTask(task, {}, times(budget + 1, done));
      assert.deepEqual(result, { succeeded: false });
      assert.equal(sends.length, budget + 1);
      for (let number = 1; number <= budget; number++) {
        assert.ok(reports.includes(`[OPERATION] Retry ${number} of ${budget}`));
      }
      assert.deepEqual(reports.slice(-2), [
        `[DECISION] The retry budget is spent: ${budget} of ${budget}`,
        "[TASK FAILED] The task failed: the criteria are not met",
      ]);
    }
  });
});

describe("runtime variables", () => {
  it("are filled at every send with the current values", () => {
    const task = {
      prompt: ["$user-input; $task-model; $reported-document; $reported-true-reason; $reported-false-reason"],
      model: { id: "coder" },
      criteria: { condition: ["good?"], ...retry(1) },
    };
    const first = finished(["job_prepare_document", "  a.md  \nmore"], ["job_boolean_true", "ok"]);
    const { sends } = playTask(task, { userInput: "input" }, [first, no, done, yes]);
    assert.equal(sends[0], "input; coder; <MISSING>; <MISSING>; <MISSING>");
    assert.equal(sends[2], "input; coder; a.md; <MISSING>; it is not");
  });

  it("quote the reason of the failed check in the additional prompt", () => {
    const task = {
      prompt: ["do"],
      criteria: { condition: ["good?"], ...retry(1, "because $reported-false-reason") },
    };
    const { sends } = playTask(task, {}, [done, no, done, yes]);
    assert.equal(sends[2], "do\n## You accidentally Stopped\nbecause it is not");
  });

  it("name the problem in the additional prompt when the agent gave no reason", () => {
    const criteria = {
      toolExecuted: ["job_prepare_document"],
      condition: ["good?"],
      ...retry(1, "because $reported-false-reason"),
    };
    const retryAfter = (answer: TaskEvent) =>
      playTask({ prompt: ["do"], criteria }, {}, [done, answer, done, done])
        .sends[2]?.split("\n")
        .at(-1);
    assert.equal(retryAfter(no), "because it is not");
    assert.equal(retryAfter(yes), "because not called in the last round: job_prepare_document");
    assert.equal(retryAfter(done), "because not called in the last round: job_prepare_document");
  });

  it("are not expanded again when a value looks like a variable", () => {
    const { sends } = playTask({ prompt: ["say $user-input"] }, { userInput: "$task-model" }, [done]);
    assert.deepEqual(sends, ["say $task-model"]);
  });
});

describe("a prerequisite that the agent reports", () => {
  it("as failed is reported, and the criteria decide", () => {
    const { reports, result } = playTask({ prompt: ["do"] }, {}, [
      finished(["job_prerequisite_failed", "no tests"]),
    ]);
    assert.ok(reports.includes("[MISC] The agent reported that a prerequisite failed: no tests"));
    assert.equal(result.succeeded, true);
  });
});
