import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LiveResponse } from "../live/liveResponse.js";
import { errorToDetailedString } from "./errorText.js";
import { Interruption, unlessInterrupted } from "./interruption.js";
import { type CallsInLog, roundIn, roundPrompt } from "./taskRound.js";

async function* logOf(...responses: LiveResponse[]): AsyncGenerator<LiveResponse> {
  yield* responses;
}
const call = (toolCallId: string, toolName: string, argument: unknown): LiveResponse => ({
  callback: "onStartToolExecution",
  toolCallId,
  toolName,
  toolArguments: typeof argument === "string" ? JSON.stringify({ argument }) : String(argument),
});
const end = (toolCallId: string, more: object = {}): LiveResponse => ({
  callback: "onEndToolExecution",
  toolCallId,
  ...more,
});
/** The round without what the agent did besides calling job tools. */
async function callsIn(log: AsyncIterable<LiveResponse>, round: string, calls?: CallsInLog) {
  const { did: _, ...rest } = await roundIn(log, round, calls);
  return rest;
}
const idle: LiveResponse = { callback: "onIdle" };
const failed: LiveResponse = { sessionError: "it broke" };

describe("the round read from a session's log", () => {
  it("is empty when its prompt was not sent", async () => {
    const other = logOf(roundPrompt("other", "p", "r"), call("1", "job_boolean_true", "x"), end("1"), idle);
    assert.deepEqual(await callsIn(other, "mine"), { sent: false, finished: false, toolCalls: [] });
  });

  it("has the job tools that were called in it, in the order in which they ended", async () => {
    const log = logOf(
      roundPrompt("mine", "p", "r"),
      call("1", "job_prepare_document", "a.md"),
      call("2", "job_boolean_true", "yes"),
      call("3", "bash", "ls"),
      end("2"),
      end("1"),
      end("3"),
      idle,
      roundPrompt("next", "p", "r"),
      call("4", "job_boolean_false", "no"),
      end("4"),
    );
    assert.deepEqual(await callsIn(log, "mine"), {
      sent: true,
      finished: true,
      toolCalls: [
        { name: "job_boolean_true", argument: "yes" },
        { name: "job_prepare_document", argument: "a.md" },
      ],
    });
  });

  it("does not count a call that failed, was interrupted or has not ended", async () => {
    const log = logOf(
      roundPrompt("mine", "p", "r"),
      call("1", "job_boolean_true", "x"),
      end("1", { error: { message: "no" } }),
      call("2", "job_boolean_true", "x"),
      end("2", { interrupted: true }),
      call("3", "job_boolean_true", "x"),
    );
    assert.deepEqual(await callsIn(log, "mine"), { sent: true, finished: false, toolCalls: [] });
  });

  it("is unfinished after an error, and finished after a resend that ended well", async () => {
    const first = [
      roundPrompt("mine", "p", "r"),
      call("1", "job_prepare_document", "a.md"),
      end("1"),
      failed,
      idle,
    ];
    assert.equal((await callsIn(logOf(...first), "mine")).finished, false);
    const again = await callsIn(logOf(...first, roundPrompt("mine", "p", "r"), idle), "mine");
    assert.deepEqual(again, {
      sent: true,
      finished: true,
      toolCalls: [{ name: "job_prepare_document", argument: "a.md" }],
    });
  });

  it("treats malformed arguments as an empty argument", async () => {
    for (const argument of ["[", "null", "7", "{}"]) {
      const started = { ...call("1", "job_boolean_true", ""), toolArguments: argument };
      const { toolCalls } = await callsIn(logOf(roundPrompt("mine", "p", "r"), started, end("1")), "mine");
      assert.deepEqual(toolCalls, [{ name: "job_boolean_true", argument: "" }]);
    }
  });
});

describe("an interruption", () => {
  const signalOf = (kind: Interruption["kind"]) => AbortSignal.abort(new Interruption(kind));

  it("that stops a task is an ordinary result, and the next step does not begin", async () => {
    let begun = false;
    const end = await unlessInterrupted(signalOf("stopped"), async () => {
      begun = true;
    });
    assert.deepEqual(end, { kind: "stopped" });
    assert.equal(begun, false);
  });

  it("by a cancel is an error", async () => {
    await assert.rejects(
      unlessInterrupted(signalOf("canceled"), async () => 1),
      Interruption,
    );
  });

  it("ends the wait for a running step", async () => {
    const controller = new AbortController();
    const waiting = unlessInterrupted(controller.signal, () => new Promise<never>(() => {}));
    controller.abort(new Interruption("stopped"));
    assert.deepEqual(await waiting, { kind: "stopped" });
  });

  it("does not hide an earlier failure", async () => {
    const controller = new AbortController();
    await assert.rejects(
      unlessInterrupted(controller.signal, async () => {
        throw new Error("broken");
      }),
      /broken/,
    );
  });
});

describe("errorToDetailedString", () => {
  it("has the name, the message, the stack and the causes", () => {
    const error = new TypeError("outer", { cause: new Error("inner") });
    const { name, message, stack, cause } = JSON.parse(errorToDetailedString(error)) as Record<string, never>;
    assert.deepEqual([name, message], ["TypeError", "outer"]);
    assert.match(stack ?? "", /taskRound\.test/);
    assert.equal((cause as unknown as Error).message, "inner");
  });

  it("accepts any thrown value", () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const endless = new Error("endless");
    endless.cause = endless;
    assert.equal(errorToDetailedString("text"), '"text"');
    assert.equal(errorToDetailedString(undefined), '"undefined"');
    assert.equal(errorToDetailedString(null), "null");
    assert.equal(errorToDetailedString({ a: 1 }), '{"a":1}');
    assert.equal(errorToDetailedString(loop), '"[object Object]"');
    assert.match(errorToDetailedString(endless), /"cause":"\[circular\]"/);
  });
});
