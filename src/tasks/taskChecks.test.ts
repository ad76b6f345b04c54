import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crashed, finished, no, playTask, ran, refused, yes } from "../../test/support/jobs/playTask.js";

const done = finished();
const retry = (retryTimes: number, additionalPrompt?: string) => ({
  failureAction: { retryTimes, ...(additionalPrompt && { additionalPrompt: [additionalPrompt] }) },
});
const tests = { run: ["npm", "test"] };

describe("a task that is checked by commands", () => {
  it("runs them after its prompt, in order, and asks its condition only when all of them pass", () => {
    const commands = [{ run: ["make"] }, tests];
    const task = { prompt: ["do"], criteria: { commands, condition: ["good?"], ...retry(0) } };
    const passes = playTask(task, {}, [done, ran(0), ran(0), yes]);
    assert.deepEqual(passes.actions.slice(1), [
      "send 1 do",
      "command make",
      "command npm test",
      "send 1 good?",
      "close 1 succeeded",
    ]);
    assert.deepEqual(passes.result, { succeeded: true });
    const fails = playTask(task, {}, [done, ran(2, "no rule")]);
    assert.deepEqual(fails.actions.slice(1), ["send 1 do", "command make", "close 1 failed"]);
    assert.equal(fails.reason, "make: exit code 2");
    assert.ok(fails.reports.some(text => text.includes("[CRITERIA] Failed: commands make: exit code 2")));
  });

  it("tells a retry which command failed, how, and the end of its output", () => {
    const criteria = {
      commands: [{ ...tests, name: "tests" }],
      ...retry(1, "Because: $reported-false-reason"),
    };
    const { sends, result, attempts, retryPrompts } = playTask({ prompt: ["do"], criteria }, {}, [
      done,
      ran(1, "1 of 3 fails"),
      done,
      ran(0),
    ]);
    const told = [
      "## Check Failed: npm test (exit code 1)",
      "The last lines of its output:",
      "```",
      "1 of 3 fails",
      "```",
      "## You accidentally Stopped",
      "Because: tests: exit code 1",
    ].join("\n");
    assert.deepEqual(sends, ["do", `do\n${told}`]);
    assert.deepEqual(result, { succeeded: true });
    assert.deepEqual(retryPrompts, [undefined, told]);
    assert.deepEqual(attempts, [
      {
        verdict: "failed",
        criteria: [{ kind: "command", asked: "npm test", met: false, said: "1 of 3 fails" }],
      },
      {
        verdict: "succeeded",
        criteria: [{ kind: "command", asked: "npm test", met: true, said: "exit code 0" }],
      },
    ]);
  });

  it("names the failed command instead of an older reason of the judge", () => {
    const criteria = {
      commands: [tests],
      condition: ["good?"],
      ...retry(2, "Because: $reported-false-reason"),
    };
    const { sends } = playTask({ prompt: ["do"], criteria }, {}, [
      done,
      ran(0),
      no,
      done,
      ran(1),
      done,
      ran(0),
      yes,
    ]);
    assert.match(sends[2] ?? "", /Because: it is not$/);
    assert.match(sends[3] ?? "", /Because: npm test: exit code 1$/);
  });

  it("still names a missing tool when a command fails too", () => {
    const criteria = { toolExecuted: ["job_prepare_document"], commands: [tests], ...retry(1) };
    const { sends } = playTask({ prompt: ["do"], criteria }, {}, [done, ran(1), done, ran(1)]);
    assert.match(
      sends[1] ?? "",
      /Not Called: job_prepare_document\n## Check Failed: npm test \(exit code 1\)$/,
    );
  });

  it("says how a command ended that did not exit", () => {
    const ends = {
      "timed out after 3 s": { timedOut: true as const, durationMs: 3000, tail: "" },
      "ended by SIGSEGV": { signal: "SIGSEGV", durationMs: 1, tail: "" },
      'There is no program "npm".': { problem: 'There is no program "npm".', durationMs: 1, tail: "" },
    };
    for (const [words, end] of Object.entries(ends)) {
      const task = { prompt: ["do"], criteria: { commands: [tests], ...retry(0) } };
      assert.equal(playTask(task, {}, [done, { kind: "ran", end }]).reason, `npm test: ${words}`);
    }
  });

  it("crashes when a command cannot be tried, because another attempt would not help", () => {
    const task = { prompt: ["do"], criteria: { commands: [tests], ...retry(3) } };
    const { result, attempts } = playTask(task, {}, [done, refused]);
    assert.deepEqual(result, { succeeded: false, crashError: "no such model" });
    assert.deepEqual(attempts, [{ verdict: "crashed", criteria: [] }]);
  });

  it("is not available when a command before it fails, and then costs no prompt", () => {
    const task = { prompt: ["do"], availability: { commands: [tests], condition: ["ready?"] } };
    const { actions, result, reason } = playTask(task, {}, [ran(1)]);
    assert.deepEqual(actions, ["command npm test"]);
    assert.deepEqual(result, { succeeded: false });
    assert.equal(reason, "Not available: npm test: exit code 1");
    assert.deepEqual(playTask(task, {}, [ran(0), yes, done]).result, { succeeded: true });
  });

  it("runs the line that an earlier task reported, and skips it when none was reported", () => {
    const task = { prompt: ["do"], criteria: { commands: [{ reportedBy: "finder" }], ...retry(0) } };
    const known = playTask(task, { reports: { finder: "make check" } }, [done, ran(0)]);
    assert.ok(known.actions.includes("command make check"));
    const unknown = playTask(task, {}, [done]);
    assert.deepEqual(unknown.result, { succeeded: true });
    assert.ok(unknown.reports.includes('[CRITERIA] Skipped: commands: the task "finder" named none'));
    assert.deepEqual(playTask(task, { reports: { constructor: "x" } }, [done]).result, { succeeded: true });
  });
});

describe("the evidence of a task", () => {
  it("has the judge's words, and the agent's own where a tool is missing", () => {
    const task = {
      prompt: ["do"],
      criteria: { toolExecuted: ["job_boolean_true"], ...retry(0) },
    };
    const { attempts, reason, reported } = playTask(task, {}, [
      finished(["job_boolean_false", "2 tests fail\nmore"]),
    ]);
    assert.deepEqual(attempts, [
      {
        verdict: "failed",
        criteria: [
          { kind: "toolExecuted", asked: "job_boolean_true", met: false, said: "2 tests fail\nmore" },
        ],
      },
    ]);
    assert.equal(reason, "2 tests fail");
    assert.deepEqual(reported, { falseReason: "2 tests fail\nmore" });
    assert.equal(playTask(task, {}, [done]).reason, "job_boolean_true was not called");
  });

  it("counts a prompt that is sent again after a crash in the same attempt", () => {
    const { attempts } = playTask({ prompt: ["do"] }, {}, [crashed, done]);
    assert.deepEqual(attempts, [{ verdict: "succeeded", criteria: [] }]);
  });

  it("has no part in the result of tasks that began with earlier rules", () => {
    const task = { prompt: ["do"], criteria: { toolExecuted: ["job_boolean_true"], ...retry(0) } };
    const { result, reason, reported } = playTask(task, { rules: 2 }, [no]);
    assert.deepEqual([result, reason, reported], [{ succeeded: false }, undefined, undefined]);
  });
});
