import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectUntil } from "../support/live/sse.js";
import { barrier, byPrompt, runShell } from "../support/model/scriptedModel.js";
import {
  callbacksOf,
  messagesOf,
  requestsIn,
  sessionById,
  sharedPortal,
} from "../support/portal/restSession.js";

const portalWith = sharedPortal({ store: "embedded" });

describe("a session survives", () => {
  it("sessions survive a kill of the server", async t => {
    const [gate, queueGate] = [barrier(), barrier()];
    const { portal, startSession, model } = await portalWith(
      t,
      byPrompt({ story: [{ text: "Once upon a time", chunkSize: 4 }, gate.step], wait: [queueGate.step] }),
    );
    const untouched = await startSession();
    const session = await startSession();
    await session.query("before");
    await session.untilIdle();
    await session.query("story");
    await gate.reached;
    const seen = await collectUntil(session.events(), joinedText("Once upon a time"));
    // When another session's request is acknowledged, everything written before it is durable.
    const queued = await startSession();
    const done = await queued.query("before");
    await queued.untilIdle();
    const pending = [await queued.query("wait"), await queued.query("wait"), await queued.query("wait")];
    await queueGate.reached;
    await portal.kill("SIGKILL");
    await portal.restart();

    await t.test(
      "after a kill in mid-message the block is ended and marked, and the conversation continues",
      async () => {
        const { sessions } = (
          await portal.api<{ sessions: { sessionId: string }[] }>("copilot/session/history")
        ).body;
        assert.ok(sessions.some(({ sessionId }) => sessionId === session.id));
        const responses = await session.untilIdle(2);
        assert.deepEqual(messagesOf(responses), ["You said: before", "Once upon a time"]);
        const ends = responses.filter(({ callback }) => callback === "onEndMessage");
        assert.deepEqual(
          ends.map(end => end.interrupted ?? false),
          [false, true],
        );
        assert.deepEqual(callbacksOf(responses).slice(-2), ["sessionError", "onIdle"]);

        // A reader continues after what it has and gets no number twice.
        const last = seen.at(-1)?.n ?? 0;
        const rest = await collectUntil(session.events(last), ({ data }) => data.callback === "onIdle");
        assert.ok(rest.every(({ n }) => (n ?? 0) > last));

        gate.release();
        await session.query("after");
        const all = await session.untilIdle(3);
        assert.equal(messagesOf(all).at(-1), "You said: after");
        assert.deepEqual(model.requests.at(-1)?.request.userTexts, ["before", "story", "after"]);
      },
    );

    await t.test(
      "after a kill with queued requests each is logged as interrupted under its own id",
      async () => {
        const responses = await queued.untilIdle(4);
        assert.deepEqual(requestsIn(responses, "onUserRequest"), [done, ...pending]);
        assert.deepEqual(requestsIn(responses, "onIdle"), [done, ...pending]);
        const errors = responses.filter(({ sessionError }) => sessionError !== undefined);
        assert.deepEqual(
          errors.map(({ requestId }) => requestId),
          pending,
        );
        queueGate.release();
        const after = await queued.query("after");
        assert.equal(requestsIn(await queued.untilIdle(5), "onIdle").at(-1), after);
      },
    );

    await t.test("a session survives a restart before its first request", async () => {
      await untouched.query("hello");
      assert.deepEqual(messagesOf(await untouched.untilIdle()), ["You said: hello"]);
    });
  });

  it("after kills at random moments of a turn every log is whole, balanced and numbered in order", async t => {
    // What has ended may reach a late reader in one piece, without the moment that it waits for.
    const [thinking, answering] = [barrier(), barrier()];
    const { portal, startSession } = await portalWith(
      t,
      byPrompt({
        work: [
          [{ reasoning: "Let me see." }, thinking.step, runShell("echo one; echo two")],
          [{ text: "It is done. ".repeat(20), delayMs: 2 }, answering.step],
        ],
      }),
    );
    const session = await startSession();
    const moments = [
      "onUserRequest",
      "onAgentStart",
      "onReasoning",
      "onStartToolExecution",
      "onStartMessage",
      "onMessage",
    ];
    let idles = 0;
    for (const moment of moments) {
      const before = await lastNumber(session.events(), idles);
      await session.query("work");
      await collectUntil(session.events(before), ({ data }) => data.callback === moment);
      await portal.kill("SIGKILL");
      if (moment === "onReasoning") thinking.release();
      await portal.restart();
      idles++;
      const all = await collectUntil(session.events(), idleNumber(idles));
      checkLog(all.map(({ data }) => data));
      assert.ok(
        all.every(({ n }, index) => index === 0 || (n ?? 0) > (all[index - 1]?.n ?? 0)),
        "numbers only increase",
      );
    }
    answering.release();
    await session.query("still there?");
    assert.equal(messagesOf(await session.untilIdle(idles + 1)).at(-1), "You said: still there?");
  });

  it("when the agent runtime dies the running request fails with a named error, and the next one continues the conversation", async t => {
    const gate = barrier();
    const { portal, startSession, model } = await portalWith(
      t,
      byPrompt({ story: [{ text: "Once" }, gate.step] }),
    );
    const session = await startSession();
    const before = await session.query("before");
    await session.untilIdle();
    const [story, behind] = [await session.query("story"), await session.query("go on")];
    await gate.reached;
    await collectUntil(session.events(), joinedText("Once"));
    const runtimes = (await portal.processes()).filter(pid => pid !== portal.pid);
    assert.ok(runtimes.length > 0, "the runtime is a separate process");
    for (const pid of runtimes) process.kill(pid, "SIGKILL");
    const all = await session.untilIdle(3);
    assert.deepEqual(requestsIn(all, "onIdle"), [before, story, behind]);
    const errors = all.filter(({ sessionError }) => sessionError !== undefined);
    assert.deepEqual(
      errors.map(({ requestId }) => requestId),
      [story],
    );
    assert.equal(messagesOf(all).at(-1), "You said: go on");
    const userTexts = model.requests.at(-1)?.request.userTexts ?? [];
    // The runtime may not have written down the story that it died of, but it has everything before it.
    assert.deepEqual([userTexts[0], userTexts.at(-1)], ["before", "go on"]);
  });

  it("after a clean restart a session is listed, readable and open for the next request", async t => {
    const { portal, startSession, model } = await portalWith(t);
    const session = await startSession();
    await session.query("one");
    await session.untilIdle();
    const before = await session.untilIdle();
    await portal.stop();
    await portal.restart();
    assert.deepEqual(await sessionById(portal, session.id).untilIdle(), before);
    await session.query("two");
    await session.untilIdle(2);
    assert.deepEqual(model.requests.at(-1)?.request.userTexts, ["one", "two"]);
  });
});

/** Matches when the deltas so far make up the text. */
function joinedText(text: string) {
  let joined = "";
  return ({ data }: { data: Record<string, unknown> }) => {
    if (data.callback === "onMessage") joined += data.delta;
    return joined.endsWith(text);
  };
}

function idleNumber(idles: number) {
  let seen = 0;
  return ({ data }: { data: Record<string, unknown> }) => data.callback === "onIdle" && ++seen === idles;
}

async function lastNumber(
  events: AsyncGenerator<{ n: number | undefined; data: Record<string, unknown> }>,
  idles: number,
) {
  if (idles === 0) return 0;
  return (await collectUntil(events, idleNumber(idles))).at(-1)?.n ?? 0;
}

/** Every block that started has ended once. */
function checkLog(responses: readonly Record<string, unknown>[]): void {
  const open = new Set<string>();
  for (const response of responses) {
    const match = /^on(Start|End)(Reasoning|Message|ToolExecution)$/.exec(String(response.callback));
    if (!match) continue;
    const key = `${match[2]} ${response.reasoningId ?? response.messageId ?? response.toolCallId}`;
    if (match[1] === "Start") {
      assert.ok(!open.has(key), `${key} started twice`);
      open.add(key);
    } else assert.ok(open.delete(key), `${key} ended without a start`);
  }
  assert.deepEqual([...open], [], "nothing is left open");
}
