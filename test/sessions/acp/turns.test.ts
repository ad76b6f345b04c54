import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import { type AnyResponse, collectUntil } from "../../support/live/sse.js";
import { redPixel } from "../../support/pages/picture.js";
import { callbacksOf, isEndOf, messagesOf, requestsIn } from "../../support/portal/restSession.js";

const find = (responses: readonly AnyResponse[], callback: string) =>
  responses.filter(response => response.callback === callback);
const errorsOf = (responses: readonly AnyResponse[]) =>
  responses.map(({ sessionError }) => sessionError).filter(error => error !== undefined);

const bench = sharedAgent({
  acpAgents: {
    fake: fakeAgent({}, { initPrompt: "Be kind.", errorTextIsFailure: true }),
    // Long enough for a turn that ends, on a busy machine too.
    stuck: fakeAgent({ ignoreCancel: true }, { promptTimeoutSec: 1 }),
    sees: fakeAgent({ capabilities: { promptCapabilities: { image: true } } }),
  },
});

describe("A turn of an ACP agent", () => {
  test("a turn ends as its stop reason says, and the session continues", async () => {
    const session = await bench.start();
    const reasons = [
      "end_turn",
      "max_tokens",
      "max_turn_requests",
      "refusal",
      "sunset",
      undefined,
      "cancelled",
    ];
    for (const stop of reasons) await session.query(steps({ message: "hi" }, { stop: stop ?? null }));
    const responses = await session.untilIdle(reasons.length);
    assert.deepEqual(
      find(responses, "onTurnResult").map(({ stopReason }) => stopReason),
      ["end_turn", "max_tokens", "max_turn_requests", "refusal", "sunset", "cancelled"],
    );
    assert.deepEqual(
      find(responses, "onNotice").map(({ title }) => title),
      [
        "The answer was cut off: token limit reached.",
        "The agent stopped: too many model requests in one turn.",
        "The agent declined to continue.",
        'The agent stopped for a reason that is not known here: "sunset".',
        "The agent stopped for a reason that is not known here: null.",
        "The agent broke off the turn by itself.",
      ],
    );
    assert.deepEqual(errorsOf(responses), []);
    for (const callback of ["onAgentStart", "onAgentEnd", "onIdle"])
      assert.equal(find(responses, callback).length, reasons.length, callback);
  });

  test("an agent that takes pictures gets them with the request, and one that takes none is not asked", async () => {
    const upload = { method: "POST", body: new Uint8Array(redPixel) };
    const blind = await bench.start();
    const refused = await blind.call<{ error: string }>("picture", upload);
    assert.equal(refused.error, "PicturesNotSupported");
    const session = await bench.start("acp:sees");
    const { pictureId } = await session.call<{ pictureId: string }>("picture", upload);
    await session.call(`query?pictures=${pictureId}`, { method: "POST", body: "What is this?" });
    const said = messagesOf(await session.untilIdle()).join("");
    assert.equal(said, `You said: What is this?<image/png, ${redPixel.length} bytes>`);
  });

  test("a failed turn reports code and message, and the session stays usable", async () => {
    const session = await bench.start();
    const codes = [-32700, -32600, -32601, -32602, -32603, 4711];
    for (const code of codes) await session.query(steps({ error: { code, message: `broken ${code}` } }));
    await session.query(steps({ error: { code: -32800, message: "cancelled" } }));
    await session.query(steps({ error: { code: -32000, message: "Authentication required" } }));
    await session.query(steps({ message: "Error: 429 too many requests" }));
    await session.query(steps({ message: "fine" }));
    const errors = errorsOf(await session.untilIdle(codes.length + 4));
    assert.deepEqual(
      errors.slice(0, codes.length),
      codes.map(code => `fake: broken ${code} (code ${code})`),
    );
    assert.match(String(errors[codes.length]), /^fake is not signed in\. Sign in with the agent's own/);
    assert.equal(errors[codes.length + 1], "Error: 429 too many requests");
    assert.equal(errors.length, codes.length + 2, "a cancelled request is not a failure");
  });

  test("turns run in order: of 100 quick requests none is lost and none overtakes another", async () => {
    const session = await bench.start();
    const texts = Array.from({ length: 100 }, (_, index) => `number ${index}`);
    for (const text of texts) await session.query(text);
    const said = messagesOf(await session.untilIdle(texts.length));
    assert.equal(
      said[0],
      "You said: Be kind.\n\nnumber 0",
      "the first prompt starts with the configured text",
    );
    assert.deepEqual(
      said.slice(1),
      texts.slice(1).map(text => `You said: ${text}`),
    );
  });

  test("a turn ends under its request's id, even when two clients send the same words at once", async () => {
    const session = await bench.start();
    const words = steps({ message: "hi" });
    const ids = await Promise.all([session.query(words), session.query(words)]);
    const failing = await session.query(steps({ error: { code: -32603, message: "broken" } }));
    const seen = await Promise.all(
      [...ids, failing].map(id => collectUntil(session.events(), ({ data }) => isEndOf(id, data))),
    );
    const all = await session.untilIdle(3);
    const asked = requestsIn(all, "onUserRequest");
    assert.deepEqual(asked.toSorted(), [...ids, failing].toSorted());
    assert.deepEqual(requestsIn(all, "onIdle"), asked);
    for (const [client, id] of ids.entries())
      assert.equal(messagesOf((seen[client] ?? []).map(({ data }) => data)).length, asked.indexOf(id) + 1);
    const errors = all.filter(({ sessionError }) => sessionError !== undefined);
    assert.deepEqual(
      errors.map(({ requestId }) => requestId),
      [failing],
    );
  });

  test("a turn can be cancelled once at any point, and the queued requests are dropped", async () => {
    const session = await bench.start();
    assert.deepEqual(await session.call("cancel"), { canceled: false }, "nothing runs");
    await session.query(
      steps({ update: { sessionUpdate: "tool_call", toolCallId: "t", title: "Slow" } }, { hang: true }),
    );
    await session.query("dropped");
    await session.waitFor("onStartToolExecution");
    const both = await Promise.all([session.call("cancel"), session.call("cancel")]);
    assert.ok(both.some(({ canceled }) => canceled));
    const responses = await session.untilIdle(2);
    assert.deepEqual(find(responses, "onEndToolExecution")[0]?.error, {
      message: "Cancelled",
      code: "cancelled",
    });
    assert.deepEqual(
      find(responses, "onTurnResult").map(({ stopReason }) => stopReason),
      ["cancelled"],
    );
    assert.deepEqual(errorsOf(responses), []);
    assert.deepEqual(messagesOf(responses), []);
    await session.query("next");
    assert.deepEqual(messagesOf(await session.untilIdle(3)), ["You said: next"]);
    await session.query(steps({ hang: true }));
    await Promise.all([session.call("cancel"), session.call("stop")]);
    assert.equal((await session.call("")).status, "Closed");
  });

  test("a turn can be cancelled as soon as its request is accepted, whatever is being prepared", async () => {
    const session = await bench.start();
    for (let turn = 1; turn <= 20; turn++) {
      await session.query(steps({ hang: true }));
      assert.deepEqual(await session.call("cancel"), { canceled: true }, `turn ${turn}`);
      assert.deepEqual(errorsOf(await session.untilIdle(turn)), []);
    }
    await session.query("next");
    assert.deepEqual(messagesOf(await session.untilIdle(21)), ["You said: next"]);
  });

  test("text after the end of a turn becomes its own block, and late tool updates are ignored", async () => {
    const session = await bench.start();
    await session.query(
      steps(
        { update: { sessionUpdate: "tool_call", toolCallId: "t", status: "completed" } },
        { update: { sessionUpdate: "tool_call_update", toolCallId: "t", status: "failed" } },
        { later: "By the way" },
        { message: "done" },
      ),
    );
    const responses: AnyResponse[] = [];
    for await (const { data } of session.events()) {
      responses.push(data);
      if (data.callback === "onEndMessage" && data.completeContent === "By the way") break;
    }
    assert.equal(find(responses, "onEndToolExecution").length, 1);
    assert.deepEqual(
      callbacksOf(responses)
        .filter(name => name !== "onMessage")
        .slice(-4),
      ["onAgentEnd", "onIdle", "onStartMessage", "onEndMessage"],
    );
  });

  test("turns of two sessions in one process stay apart", async () => {
    const [one, two] = await Promise.all([bench.start(), bench.start()]);
    await one.query(steps({ message: "one " }, { until: "two-has-spoken" }, { message: "again" }));
    await two.query(steps({ message: "two" }));
    assert.deepEqual(messagesOf(await two.untilIdle()), ["two"]);
    await writeFile(join(bench.workingDirectory, "two-has-spoken"), "");
    assert.deepEqual(messagesOf(await one.untilIdle()), ["one again"]);
    const { body } = await bench.portal.api<{ agents: { sessions: number; state: string }[] }>("acp/agents");
    assert.equal(body.agents[0]?.state, "ready");
    assert.ok((body.agents[0]?.sessions ?? 0) >= 2);
  });

  test("a turn of many megabytes leaves the portal responsive and the blocks bounded", async () => {
    const session = await bench.start();
    const big = (length: number) => [
      { type: "content", content: { type: "text", text: "x".repeat(length) } },
    ];
    await session.query(
      steps(
        { update: { sessionUpdate: "tool_call", toolCallId: "t", content: big(100_000) } },
        {
          update: {
            sessionUpdate: "tool_call_update",
            toolCallId: "t",
            status: "completed",
            content: big(800_000),
          },
        },
        { message: "done" },
      ),
    );
    const other = await bench.start();
    await other.query("still there?");
    assert.equal(messagesOf(await other.untilIdle()).length, 1);
    assert.deepEqual(messagesOf(await session.untilIdle()), ["done"]);
  });
});

describe("An ACP agent that does not end its turn", () => {
  test("a turn is given up after the prompt's time limit, and the session continues in another process", async () => {
    const session = await bench.start("acp:stuck");
    const other = await bench.start("acp:stuck");
    await session.query(steps({ message: "stuck" }, { hang: true }));
    const responses = await session.untilIdle();
    assert.deepEqual(errorsOf(responses), ["stuck took too long; the turn was cancelled."]);
    await session.query("again");
    assert.equal(messagesOf(await session.untilIdle(2)).at(-1), "You said: again");
    await other.query("the old process still serves others");
    assert.equal(messagesOf(await other.untilIdle()).length, 1);
    const { body } = await bench.portal.api<{ agents: { id: string; sessions: number }[] }>("acp/agents");
    assert.equal(body.agents.find(({ id }) => id === "stuck")?.sessions, 2);
  });
});
