import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isJobTool, optionsOf } from "../../../src/sessions/acp/permissionRequest.js";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { messagesOf, type RestSession } from "../../support/portal/restSession.js";

const bench = sharedAgent({
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

describe("Permission requests of an ACP agent", () => {
  test("the policy picks an option by its kind, never by its position", async () => {
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
      assert.ok(
        !responses.some(({ callback }) => callback === "onPermissionRequest"),
        "the user was not asked",
      );
    }
  });

  test("a card shows the agent's own choices, even for a tool that was never announced", async () => {
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
    assert.equal(Object(state.permissions)[0].requestId, card?.requestId, "a page that opens late has it");
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

  test("several requests can wait at once and be answered in any order", async () => {
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

  test("a denial with a text rejects the request and sends the text as the next request", async () => {
    const session = await bench.start();
    await session.query(steps(ask()));
    const [card] = await cards(session, 1);
    await answer(session, { requestId: card?.requestId, deny: true, instead: "use the other one" });
    const responses = await session.untilIdle(2);
    assert.deepEqual(outcomes(responses), [selected("no")]);
    assert.equal(messagesOf(responses).at(-1), "You said: use the other one");
  });

  test("a request ends with its turn, its withdrawal or its time limit", async () => {
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

  test("a request for an unknown session or without choices never reaches the user", async () => {
    const session = await bench.start();
    await session.query(steps(ask(command, { sessionId: "nobody" }), ask(command, { options: [] })));
    assert.deepEqual(outcomes(await session.untilIdle()), [cancelled, cancelled]);
  });

  test("job tools need no permission", async () => {
    const session = await bench.start();
    const report = { toolCallId: "j", title: "portal-jobs-job_boolean_true", rawInput: { argument: "x" } };
    await session.query(steps({ job: "" }, ask(report), ask({ ...report, kind: "other" })));
    assert.deepEqual(outcomes(await session.untilIdle()), [selected("yes"), selected("yes")]);
  });

  test("the user is asked when an agent only claims to call a job tool", async () => {
    const session = await bench.start();
    const report = { toolCallId: "j", title: "portal-jobs-job_boolean_true", rawInput: { argument: "x" } };
    await session.query(steps(ask(report)));
    const [card] = await cards(session, 1);
    assert.match(String(card?.why), /does not name the tool/);
    await session.call("cancel");
  });
});

describe("The choices that an ACP agent offers", () => {
  const named = (optionId: unknown, kind: unknown, name: unknown) => ({ optionId, kind, name });

  test("valid choices keep their ids, kinds and names", () => {
    assert.deepEqual(
      optionsOf([
        named("a", "allow_once", "Reject"),
        { id: "older form", kind: "reject_once" },
        named("b", 7, ["x"]),
        named("n".repeat(501), "allow_once", "an id that cannot be sent back whole"),
        named("long", "odd".repeat(100), "y".repeat(1000)),
        {},
        null,
        "x",
      ]).map(({ optionId, kind, name }) => [optionId, kind.length > 20 ? kind.length : kind, name.length]),
      [
        ["a", "allow_once", 6],
        ["older form", "reject_once", 10],
        ["b", "", 1],
        ["long", 50, 200],
      ],
    );
    assert.equal(optionsOf(Array.from({ length: 1000 }, (_, i) => named(`${i}`, "odd", ""))).length, 20);
    assert.deepEqual(optionsOf({ length: 5 }), []);
  });

  test("a choice whose id stands for two answers is dropped", () => {
    const two = [named("x", "reject_once", "No"), named("x", "allow_always", "Yes"), named("y", "odd", "Hm")];
    assert.deepEqual(
      optionsOf(two).map(({ optionId }) => optionId),
      ["y"],
    );
  });
});

describe("A request for permission", () => {
  const call = (title: string, more: object = {}) => ({ title, rawInput: { argument: "x" }, ...more });
  const named = (title: string, more: object = {}) => isJobTool(call(title, more), [], true);

  test("counts as a job tool call only when everything fits", () => {
    assert.ok(named("mcp__portal-jobs__job_boolean_true"));
    assert.ok(named("job_boolean_true (portal-jobs MCP Server)"));
    assert.ok(named("portal-jobs-job_boolean_true", { kind: "other", status: "pending" }));
    assert.ok(named("Reports", { name: "mcp__portal-jobs__job_boolean_true" }));
  });

  const others: Record<string, boolean> = {
    "the agent has never found the tools": isJobTool(call("portal-jobs-job_boolean_true"), [], false),
    "a bare name could be any tool's": named("job_boolean_true"),
    "its program names another tool": named("portal-jobs-job_boolean_true", { name: "shell" }),
    "it is a command": named("portal-jobs-job_boolean_true", { kind: "execute" }),
    "it has a command": named("portal-jobs-job_boolean_true", { rawInput: { argument: "x", command: "ls" } }),
    "it has no argument": named("portal-jobs-job_boolean_true", { rawInput: {} }),
    "its argument is not a string": named("portal-jobs-job_boolean_true", {
      rawInput: { argument: { toString: 1 } },
    }),
    "it shows a difference": named("portal-jobs-job_boolean_true", {
      content: [{ type: "diff", path: "a" }],
    }),
    "it touches files": named("portal-jobs-job_boolean_true", { locations: [{ path: "/etc/passwd" }] }),
    "it was announced as a command": isJobTool(
      call("portal-jobs-job_boolean_true"),
      [{ kind: "execute", rawInput: { command: "rm -rf ." } }],
      true,
    ),
    "text precedes the name": named("please allow portal-jobs-job_boolean_true"),
    "text follows the name": named("portal-jobs-job_boolean_true and more"),
  };
  for (const [why, isOne] of Object.entries(others))
    test(`is not a job tool call when ${why}`, () => assert.equal(isOne, false));
});
