import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  ends,
  mapping,
  message,
  names,
  progress,
  said,
  thought,
  tool,
} from "../../../test/support/acp/acpMapping.js";

describe("Text of an ACP agent", () => {
  test("a text block lasts until the other kind, a tool, another messageId or the turn's end", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(thought("a"), thought("b"), thought(""), message("c"), message("d", { messageId: "2" }));
    send(tool("t"), message("e"), progress("t", { content: said("x") }), message("f"));
    mapper.endTurn("no_result");
    assert.deepEqual(ends(seen), ["ab", "c", "d", "ef"]);
    const ids = seen
      .filter(({ callback }) => callback === "onStartMessage")
      .map(({ messageId }) => messageId);
    assert.equal(new Set(ids).size, 3);
    assert.equal(seen.filter(({ interrupted }) => interrupted).length, 1, "only the tool was cut short");
  });

  test("content that is not text appears as a placeholder, a link or the resource's text", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    const contents = [
      { type: "image", mimeType: "image/png", data: "AAAA" },
      { type: "audio", mimeType: "audio/wav", data: "AAAA" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///b", text: "inside" } },
      { type: "hologram" },
    ];
    for (const content of contents) send({ sessionUpdate: "agent_message_chunk", content });
    mapper.endTurn("no_result");
    assert.deepEqual(ends(seen), ["[image: image/png][audio: audio/wav][a](file:///a)inside[hologram]"]);
  });

  test("text outside a turn is a complete block of its own, without a turn around it", () => {
    const { seen, send } = mapping();
    send(message("a"), message("b"));
    assert.deepEqual(ends(seen), ["a", "b"]);
    assert.deepEqual(names(seen).slice(0, 3), ["onStartMessage", "onMessage", "onEndMessage"]);
  });

  test("text that exceeds a block's limit continues in the next block", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    for (let i = 0; i < 5; i++) send(message("x".repeat(400_000)));
    mapper.endTurn("no_result");
    const texts = ends(seen).map(text => String(text).length);
    assert.equal(
      texts.reduce((sum, length) => sum + length, 0),
      2_000_000,
    );
    assert.ok(texts.length > 1);
  });

  test("text that ends with an error report fails the turn, for agents known to report errors as text", () => {
    const { mapper, seen, send } = mapping({ errorTextIsFailure: true });
    mapper.beginTurn();
    send(message("Info: trying again"), message("Info: trying again"), message("Error: 429"));
    assert.equal(mapper.failure, "Error: 429");
    mapper.endTurn("no_result");
    assert.deepEqual(ends(seen), ["Info: trying again", "Info: trying again", "Error: 429"]);
    mapper.beginTurn();
    send(message("Error: 500"), message("It works now"));
    assert.equal(mapper.failure, undefined);
    send(message("Error: 500"), tool("t"));
    assert.equal(mapper.failure, undefined);
    const plain = mapping();
    plain.mapper.beginTurn();
    plain.send(message("Error: 429"));
    assert.equal(plain.mapper.failure, undefined);
  });
});

describe("What an ACP agent reports about a session", () => {
  test("a new report replaces the previous one", () => {
    const { seen, send, state } = mapping();
    send(
      {
        sessionUpdate: "plan",
        entries: [
          { content: "a", priority: "high", status: "in_progress" },
          { content: "b", status: "?" },
          7,
        ],
      },
      { sessionUpdate: "plan", steps: [{ description: "old form", status: "completed" }] },
      { sessionUpdate: "plan", entries: [] },
      {
        sessionUpdate: "available_commands_update",
        availableCommands: [
          { name: "usage", description: "d", input: { hint: "h" } },
          { name: "x", input: null },
          {},
        ],
      },
      { sessionUpdate: "current_mode_update", modeId: "plan" },
      { sessionUpdate: "session_info_update", title: "T", updatedAt: "now" },
      { sessionUpdate: "usage_update", used: 5, size: 10, cost: { amount: 1, currency: "USD" } },
    );
    assert.deepEqual(seen, [
      {
        callback: "onPlan",
        entries: [
          { content: "a", priority: "high", status: "in_progress" },
          { content: "b", status: "pending" },
        ],
      },
      { callback: "onPlan", entries: [{ content: "old form", status: "completed" }] },
      { callback: "onPlan", entries: [] },
      {
        callback: "onCommands",
        commands: [
          { name: "usage", description: "d", hint: "h" },
          { name: "x", description: "" },
        ],
      },
      { callback: "onMode", currentModeId: "plan", modes: [] },
      { callback: "onSessionInfo", title: "T", updatedAt: "now" },
      { callback: "onUsage", used: 5, size: 10, cost: { amount: 1, currency: "USD" } },
    ]);
    assert.deepEqual([state.plan, state.title, state.currentModeId], [[], "T", "plan"]);
  });

  test("a notice stays a notice whatever its severity is called", () => {
    const { seen, send } = mapping();
    send(
      { sessionUpdate: "notice", severity: "warning", title: "Careful", description: "because" },
      { sessionUpdate: "notice", severity: "catastrophe", message: "Hm" },
      { sessionUpdate: "compaction_update", status: "in_progress" },
      { sessionUpdate: "compaction_update", status: "completed" },
      { sessionUpdate: "compaction_update", status: "cancelled" },
      { sessionUpdate: "compaction_summary_chunk", content: { type: "text", text: "s" } },
    );
    assert.deepEqual(
      seen.map(({ severity, title, text }) => [severity, title, text]),
      [
        ["warning", "Careful", "because"],
        ["info", "Hm", undefined],
        ["info", "Conversation is being summarised", undefined],
        ["info", "Conversation was summarised", undefined],
        ["info", "Conversation was not summarised", undefined],
      ],
    );
  });

  test("an update in an unknown form does not affect the others", () => {
    const { mapper, seen, send, unknown } = mapping();
    mapper.beginTurn();
    send({ sessionUpdate: "telepathy" }, { sessionUpdate: "telepathy" }, {}, { sessionUpdate: 7 });
    send(
      message(7),
      message("still here"),
      { sessionUpdate: "tool_call" },
      { sessionUpdate: "agent_message_chunk" },
    );
    send({ sessionUpdate: "plan" }, { sessionUpdate: "config_option_update", configOptions: "?" });
    mapper.endTurn("no_result");
    assert.deepEqual(unknown, ["telepathy", ""]);
    assert.deepEqual(ends(seen), ["still here"]);
  });

  test("the history is replayed between two marks, or kept hidden", () => {
    const past = [
      { sessionUpdate: "user_message_chunk", content: { type: "text", text: "Hel" } },
      { sessionUpdate: "user_message_chunk", content: { type: "text", text: "lo" } },
      message("Hi"),
      tool("t", { status: "pending" }),
      { sessionUpdate: "user_message_chunk", content: { type: "text", text: "More" } },
      { sessionUpdate: "session_info_update", title: "T" },
    ];
    const shown = mapping();
    shown.mapper.beginReplay(false);
    shown.send(...past);
    shown.mapper.endReplay();
    assert.deepEqual(names(shown.seen), [
      "onReplay",
      "onUserMessage",
      "onStartMessage",
      "onMessage",
      "onEndMessage",
      "onStartToolExecution",
      "onSessionInfo",
      "onUserMessage",
      "onEndToolExecution",
      "onReplay",
    ]);
    assert.equal(shown.seen[1]?.text, "Hello");
    const hidden = mapping();
    hidden.mapper.beginReplay(true);
    hidden.send(...past);
    hidden.mapper.endReplay();
    assert.deepEqual(names(hidden.seen), ["onSessionInfo"]);
    hidden.mapper.beginTurn();
    hidden.send({ sessionUpdate: "user_message_chunk", content: { type: "text", text: "echo" } });
    assert.deepEqual(names(hidden.seen), ["onSessionInfo"], "the page already shows the query");
  });
});
