import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isJobTool, permissionRequestOf } from "../src/acp/client/permissionRequest.js";
import { fakeAgent, sharedAgent, steps } from "./support/acp.js";
import { messagesOf, type RestSession } from "./support/restSession.js";
import type { AnyResponse } from "./support/sse.js";

const bench = await sharedAgent({
  acpAgents: {
    fake: fakeAgent({}, { policy: "ask" }),
    hasty: fakeAgent({}, { policy: "ask", permissionTimeoutSec: 0.1 }),
    open: fakeAgent({}, { policy: "approve-all" }),
    shut: fakeAgent({}, { policy: "deny" }),
  },
});

const options = [
  { optionId: "always", kind: "allow_always", name: "Always" },
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "no", kind: "reject_once", name: "No" },
  { optionId: "odd", kind: "phone_a_friend", name: "Hm" },
];
const command = { toolCallId: "t", title: "run", kind: "execute", rawInput: { command: "make it" } };
const ask = (toolCall: object = command, more: object = {}) => ({
  ask: "session/request_permission",
  params: { toolCall, options, ...more },
});
const outcomes = (responses: readonly AnyResponse[]) =>
  messagesOf(responses)
    .filter(text => String(text).startsWith('{"outcome"'))
    .map(text => JSON.parse(String(text)).outcome);
const selected = (optionId: string) => ({ outcome: "selected", optionId });
const cancelled = { outcome: "cancelled" };

async function cards(session: RestSession, count: number): Promise<AnyResponse[]> {
  const seen: AnyResponse[] = [];
  for await (const { data } of session.events()) {
    if (data.callback === "onPermissionRequest") seen.push(data);
    if (seen.length === count) break;
  }
  return seen;
}
const answer = (session: RestSession, body: object) =>
  session.call("permission", { body: JSON.stringify(body) });

describe("The permissions of an ACP agent", () => {
  test("follow the policy by the kind of an option, never by its place", async () => {
    for (const [agent, expected] of [
      ["open", [selected("yes"), selected("always"), cancelled]],
      ["shut", [selected("no"), cancelled, cancelled]],
    ] as const) {
      const session = await bench.start(`acp:${agent}`);
      const only = (kind: string) => ({ options: options.filter(option => option.kind === kind) });
      await session.query(
        steps(ask(), ask(command, only("allow_always")), ask(command, only("phone_a_friend"))),
      );
      const responses = await session.untilIdle();
      assert.deepEqual(outcomes(responses), expected, agent);
      assert.ok(!responses.some(({ callback }) => callback === "onPermissionRequest"), "nobody was asked");
    }
  });

  test("show a card with the agent's own choices, also for a tool that was never announced", async () => {
    const session = await bench.start();
    await session.query(steps(ask()));
    const [card] = await cards(session, 1);
    assert.deepEqual(
      [card?.title, card?.kind, Object(card?.detail).command, Object(card?.options).length],
      ["run", "execute", "make it", 4],
    );
    const start = await session.waitFor("onStartToolExecution");
    assert.equal(card?.toolCallId, start.toolCallId);
    const state = await session.call("state");
    assert.equal(
      Object(state.permissions)[0].requestId,
      card?.requestId,
      "a page that is opened late has it",
    );
    assert.equal(
      (await answer(session, { requestId: card?.requestId, optionId: "maybe" })).error,
      "OptionNotFound",
    );
    assert.deepEqual(await answer(session, { requestId: card?.requestId, optionId: "odd" }), {});
    assert.equal(
      (await answer(session, { requestId: card?.requestId, optionId: "yes" })).error,
      "RequestNotFound",
    );
    assert.deepEqual(outcomes(await session.untilIdle()), [selected("odd")]);
  });

  test("may wait at once and are answered in any order", async () => {
    const session = await bench.start();
    const other = { ...command, toolCallId: "u", title: "second" };
    await session.query(
      steps({ ...ask(), id: 7, forget: true }, { ...ask(other), id: 8 }, { until: "never" }),
    );
    const both = await cards(session, 2);
    const [first, second] = ["run", "second"].map(title => both.find(card => card.title === title));
    await answer(session, { requestId: second?.requestId, optionId: "no" });
    await session.waitFor("onStartMessage");
    await answer(session, { requestId: first?.requestId, optionId: "always" });
    await session.call("cancel");
    const { messages } = await bench.portal
      .api<{ messages: { message: { id?: unknown; result?: { outcome?: unknown } } }[] }>(
        `acp/session/${session.id}/traffic`,
      )
      .then(({ body }) => body);
    const sent = messages.filter(({ message }) => message.result?.outcome);
    assert.deepEqual(
      sent.map(({ message }) => [message.id, message.result?.outcome]),
      [
        [8, selected("no")],
        [7, selected("always")],
      ],
    );
  });

  test("that are denied with words are rejected, and the words are the next request", async () => {
    const session = await bench.start();
    await session.query(steps(ask()));
    const [card] = await cards(session, 1);
    await answer(session, { requestId: card?.requestId, deny: true, instead: "use the other one" });
    const responses = await session.untilIdle(2);
    assert.deepEqual(outcomes(responses), [selected("no")]);
    assert.equal(messagesOf(responses).at(-1), "You said: use the other one");
  });

  test("end with the turn, with a withdrawal and with time", async () => {
    const session = await bench.start();
    await session.query(steps(ask()));
    await cards(session, 1);
    await session.call("cancel");
    await session.query(steps({ ...ask(), id: "w", withdraw: true }));
    const responses = await session.untilIdle(2);
    const resolved = responses.filter(({ callback }) => callback === "onPermissionResolved");
    assert.deepEqual(
      resolved.map(({ by }) => by),
      ["turn", "withdrawn"],
    );
    assert.deepEqual(outcomes(responses).at(-1), cancelled);
    const hasty = await bench.start("acp:hasty");
    await hasty.query(steps(ask()));
    const late = await hasty.untilIdle();
    assert.deepEqual(outcomes(late), [selected("no")]);
    assert.equal(late.find(({ callback }) => callback === "onPermissionResolved")?.by, "timeout");
  });

  test("of an unknown session, or without any choice, get no answer of the user", async () => {
    const session = await bench.start();
    await session.query(steps(ask(command, { sessionId: "nobody" }), ask(command, { options: [] })));
    assert.deepEqual(outcomes(await session.untilIdle()), [cancelled, cancelled]);
  });

  test("for job tools need nobody", async () => {
    const session = await bench.start();
    const report = { toolCallId: "j", title: "portal-jobs-job_boolean_true", rawInput: { argument: "x" } };
    await session.query(steps(ask(report), ask({ ...report, title: "job_boolean_true", kind: "other" })));
    assert.deepEqual(outcomes(await session.untilIdle()), [selected("yes"), selected("yes")]);
  });
});

describe("A request for permission", () => {
  const request = (toolCall: object) => permissionRequestOf({ toolCall, options: [] }).action;

  test("is read as well as the agent tells it", () => {
    assert.deepEqual(request({ kind: "execute", title: "rm x" }).command, "rm x", "the title is the command");
    assert.deepEqual(request({ kind: "execute", rawInput: { commands: ["a", "b"] } }).command, "a\nb");
    assert.deepEqual(
      request({ kind: "execute", rawInput: { command: ["bash", "-lc", "a && b"] } }).command,
      "a && b",
    );
    assert.deepEqual(
      request({ kind: "execute", rawInput: { command: ["echo", "a b", "it's"] } }).command,
      "echo 'a b' 'it'\\''s'",
    );
    const edit = request({ kind: "edit", title: "Edit file", rawInput: { fileName: "/a", diff: "@@" } });
    assert.deepEqual([edit.paths, edit.diff], [["/a"], "@@"]);
    assert.equal(request({ kind: "read", title: "Access paths outside trusted directories" }).outside, true);
    assert.equal(request({ kind: "sing", title: "la" }).kind, "other");
    const old = permissionRequestOf({
      title: "Old form",
      options: [{ optionId: "a", kind: "allow_once", name: "A" }, {}],
    });
    assert.deepEqual([old.action.title, old.options.length], ["Old form", 1]);
  });

  test("counts as one of a job tool only when everything fits", () => {
    const named = (title: string, more: object = {}) => isJobTool({ title, ...more }, true);
    assert.ok(named("mcp__portal-jobs__job_boolean_true"));
    assert.ok(named("job_boolean_true (portal-jobs MCP Server)"));
    assert.ok(!isJobTool({ title: "job_boolean_true" }, false));
    assert.ok(!named("job_boolean_true", { kind: "execute" }));
    assert.ok(!named("portal-jobs-job_boolean_true", { rawInput: { command: "rm -rf ." } }));
    assert.ok(!named("please allow portal-jobs-job_boolean_true"));
    assert.ok(!named("portal-jobs-job_boolean_true and more"));
  });
});
