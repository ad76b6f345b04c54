import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  mapping,
  message,
  names,
  progress,
  type Seen,
  said,
  tool,
} from "../../../test/support/acp/acpMapping.js";

describe("Tools of an ACP agent", () => {
  const startsOf = (seen: Seen[]) => seen.filter(({ callback }) => callback === "onStartToolExecution");
  const endsOf = (seen: Seen[]) => seen.filter(({ callback }) => callback === "onEndToolExecution");
  const deltasOf = (seen: Seen[], id: string) =>
    seen
      .filter(({ callback, toolCallId }) => callback === "onToolExecution" && toolCallId === id)
      .map(({ delta }) => delta);

  test("tools get the best name and arguments that the agent gives", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(
      tool("1", { name: "shell", title: "Run it", kind: "execute", rawInput: { command: "ls" } }),
      tool("2", {
        title: "Look",
        kind: "never heard of",
        locations: [{ path: "/a", line: 3 }, { nothing: 1 }],
      }),
      tool("3", { kind: "read" }),
      tool("4"),
      tool("5", { title: "portal-jobs-job_boolean_true" }),
      tool("6", { title: "mcp__portal-jobs__job_prepare_document" }),
      tool("7", { title: "job_boolean_false (portal-jobs MCP Server)" }),
    );
    assert.deepEqual(
      startsOf(seen).map(({ toolName, kind }) => [toolName, kind]),
      [
        ["shell", "execute"],
        ["Look", "other"],
        ["read", "read"],
        ["tool", undefined],
        ["job_boolean_true", undefined],
        ["job_prepare_document", undefined],
        ["job_boolean_false", undefined],
      ],
    );
    assert.equal(startsOf(seen)[0]?.toolArguments, '{\n  "command": "ls"\n}');
    assert.deepEqual(JSON.parse(String(startsOf(seen)[1]?.toolArguments)), {
      title: "Look",
      kind: "never heard of",
      locations: ["/a"],
    });
    assert.deepEqual(startsOf(seen)[1]?.locations, [{ path: "/a", line: 3 }]);
  });

  test("tools report only what is new when content replaces content", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(tool("t"), progress("t", { content: said("1\n") }), progress("t", { content: said("1\n2\n") }));
    send(progress("t", { content: said("1\n2\n") }), progress("t", { content: said("2\n3\n") }));
    send(progress("t", { content: said("else") }), progress("t", { status: "completed" }));
    assert.deepEqual(deltasOf(seen, "t"), ["1\n", "2\n", "3\n", "…\nelse"]);
    assert.deepEqual(endsOf(seen)[0]?.result, { content: "else" });
  });

  test("tools with the same title are told apart by id, and a repeated id is a new call", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(tool("a", { title: "Same" }), tool("b", { title: "Same" }));
    send(progress("b", { content: said("B") }), progress("a", { content: said("A") }));
    send(
      progress("a", { status: "completed" }),
      progress("a", { content: said("late") }),
      progress("b", { status: "completed" }),
    );
    send(tool("a", { title: "Again", status: "completed", content: said("now") }));
    assert.deepEqual(
      startsOf(seen).map(({ toolCallId }) => toolCallId),
      ["a", "b", "a#2"],
    );
    assert.deepEqual(
      endsOf(seen).map(({ toolCallId, result }) => [toolCallId, result]),
      [
        ["a", { content: "A" }],
        ["b", { content: "B" }],
        ["a#2", { content: "now" }],
      ],
    );
  });

  test("an unannounced tool starts with its first update", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(message("m"), progress("t", { title: "Late", content: said("x"), status: "completed" }));
    assert.deepEqual(names(seen).slice(2), [
      "onEndMessage",
      "onStartToolExecution",
      "onToolExecution",
      "onEndToolExecution",
    ]);
    assert.equal(mapper.toolFor({ toolCallId: "p", title: "Asks", status: "completed" }), "p");
    assert.equal(endsOf(seen).length, 1, "a request for permission ends nothing");
  });

  test("a tool ends with its content or else its raw output, with diff and exit code", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    const diff = { type: "diff", path: "/w/a.txt", oldText: "1\n2\n3\n", newText: "1\nzwei\n3\n" };
    send(
      tool("view", { status: "completed", rawOutput: { content: "file", detailedContent: "long" } }),
      tool("json", { status: "completed", rawOutput: { found: 2 } }),
      tool("edit", { status: "completed", content: [diff, ...said("edited")] }),
      tool("bash", {
        status: "completed",
        content: said("out"),
        rawOutput: { contents: [{ type: "shell_exit", exitCode: 3 }] },
      }),
      tool("term", { status: "completed", content: [{ type: "terminal", terminalId: "t9" }] }),
      tool("none", { status: "completed" }),
    );
    const [view, json, edit, bash, term, none] = endsOf(seen);
    assert.deepEqual(view?.result, { content: "file", detailedContent: "long" });
    assert.deepEqual(json?.result, { content: '{\n  "found": 2\n}' });
    assert.equal(
      Object(edit?.result).detailedContent,
      "--- /w/a.txt\n+++ /w/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n",
    );
    assert.deepEqual(edit?.diffs, [{ path: "/w/a.txt", oldText: "1\n2\n3\n", newText: "1\nzwei\n3\n" }]);
    assert.deepEqual([bash?.exitCode, bash?.error, bash?.result], [3, undefined, { content: "out" }]);
    assert.deepEqual(term?.result, { content: "output of t9" });
    assert.deepEqual(none?.result, { content: "" });
  });

  test("a failed tool gives the agent's best reason", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(
      tool("1", { status: "failed", rawOutput: { message: "No such path", code: "failure" } }),
      tool("2", { status: "failed", content: said("broken") }),
      tool("3", { status: "failed" }),
    );
    assert.deepEqual(
      endsOf(seen).map(({ error }) => error),
      [{ message: "No such path", code: "failure" }, { message: "broken" }, { message: "The tool failed." }],
    );
  });

  test("a tool that the agent leaves open ends with the turn, with the turn's outcome", () => {
    for (const [why, message] of [
      ["cancelled", "Cancelled"],
      ["no_result", "The agent did not report a result."],
      ["agent_exited", "The agent exited before the tool had finished."],
    ] as const) {
      const { mapper, seen, send } = mapping();
      mapper.beginTurn();
      send(tool("t"), progress("t", { content: said("so far") }));
      mapper.endTurn(why);
      mapper.endTurn(why);
      assert.deepEqual(
        endsOf(seen).map(({ error }) => error),
        [{ message, code: why }],
      );
    }
  });

  test("a sub-agent's tools belong to the call that started it", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    const child = (id: string, agentId: string) => tool(id, { _meta: { "github.com/copilot": { agentId } } });
    send(
      tool("s1", { rawInput: { agent_type: "explore" } }),
      tool("s2", { rawInput: { agent_type: "explore" } }),
    );
    send(child("c1", "x"), child("c2", "y"), child("c3", "x"), child("c4", "z"));
    send(tool("linked", { _meta: { claudeCode: { parentToolUseId: "s2" } } }));
    assert.deepEqual(
      startsOf(seen)
        .map(({ parentToolCallId }) => parentToolCallId)
        .slice(2),
      ["s1", "s2", "s1", undefined, "s2"],
    );
  });

  test("a tool with megabytes of output is bounded", () => {
    const { mapper, seen, send } = mapping();
    mapper.beginTurn();
    send(tool("t"));
    for (let i = 0; i < 40; i++) send(progress("t", { content: said(`${i} ${"y".repeat(100_000)}`) }));
    send(progress("t", { status: "completed", content: said("z".repeat(3_000_000)) }));
    const told = deltasOf(seen, "t").join("").length;
    assert.ok(told < 1_300_000, `${told}`);
    const content = String(Object(endsOf(seen)[0]?.result).content);
    assert.ok(content.length < 1_000_100 && content.endsWith("truncated"));
  });
});
