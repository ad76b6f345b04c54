import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { doingOf } from "./doing.js";

const tool = (toolName: string, toolArguments: string) =>
  doingOf({ callback: "onStartToolExecution", toolCallId: "t", toolName, toolArguments });

describe("What a session does", () => {
  test("names a tool with the argument that says most", () => {
    assert.equal(
      tool("bash", '{"description":"Install","command":"npm ci\\n  --silent"}'),
      "bash: npm ci --silent",
    );
    assert.equal(tool("view", '{"path":"/a/b.ts"}'), "view: /a/b.ts");
  });

  test("names only the tool when its arguments are none, no object, no JSON or huge", () => {
    for (const given of ["", "[]", "null", "{", '{"n":1}', JSON.stringify({ command: "x".repeat(20_000) })])
      assert.equal(tool("bash", given), "bash");
  });

  test("fits into a line, however long the title is", () => {
    const title = `rm -rf ${"very ".repeat(1000)}`;
    const doing = doingOf({
      callback: "onPermissionRequest",
      requestId: "r",
      title,
      kind: "execute",
      detail: {},
      options: [],
    });
    assert.equal(doing?.length, 80);
    assert.match(doing ?? "", /^asks for rm -rf very /);
  });

  test("follows the turn: it thinks, writes, asks, and thinks again after an answer", () => {
    assert.equal(doingOf({ callback: "onAgentStart", turnId: "t" }), "thinks");
    assert.equal(doingOf({ callback: "onStartMessage", messageId: "m" }), "writes");
    assert.equal(
      doingOf({ callback: "onQuestion", requestId: "q", question: "Which colour?", allowFreeform: true }),
      "asks: Which colour?",
    );
    assert.equal(doingOf({ callback: "onQuestionResolved", requestId: "q", by: "user" }), "thinks");
    assert.equal(doingOf({ callback: "onNotice", severity: "info", title: "By the way" }), undefined);
  });
});
