import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PermissionRequest } from "@github/copilot-sdk";
import { actionOf } from "../src/sessions/permissionAction.js";

const of = (request: Record<string, unknown>) => actionOf(request as unknown as PermissionRequest);

describe("What the Copilot runtime asks for becomes an action that cards and rules understand", () => {
  test("a command with the paths that the runtime sees in it", () => {
    const action = of({
      kind: "shell",
      toolCallId: "1",
      fullCommandText: "cat a > b",
      intention: "Copy",
      possiblePaths: ["a", "b"],
    });
    assert.deepEqual(action, {
      kind: "execute",
      title: "cat a > b",
      command: "cat a > b",
      paths: ["a", "b"],
      toolCallId: "1",
      intention: "Copy",
    });
  });

  test("a file, and where it really is, so that a link out of the folder is seen", () => {
    const write = of({ kind: "write", fileName: "link", resolvedPath: "/etc/x", diff: "+a", intention: "" });
    assert.deepEqual(write, { kind: "edit", title: "link", paths: ["link", "/etc/x"], diff: "+a" });
    const read = of({ kind: "read", path: "/w/a", resolvedPath: "/w/a" });
    assert.deepEqual(read, { kind: "read", title: "/w/a", paths: ["/w/a"] });
  });

  test("an address, a tool of an MCP server by both names, a tool of the portal", () => {
    assert.deepEqual(of({ kind: "url", url: "https://a" }), {
      kind: "fetch",
      title: "https://a",
      url: "https://a",
    });
    const mcp = of({
      kind: "mcp",
      serverName: "github",
      toolName: "search",
      toolTitle: "Find",
      args: { q: 1 },
    });
    assert.deepEqual(mcp, { kind: "other", title: "Find", tool: "github/search", arguments: { q: 1 } });
    const own = of({ kind: "custom-tool", toolName: "mine", args: {} });
    assert.deepEqual(own, { kind: "other", title: "mine", tool: "mine", arguments: {} });
  });

  test("what a later runtime may ask is shown whole, and has nothing that a rule could be about", () => {
    const action = of({ kind: "teleport", where: "elsewhere" });
    assert.deepEqual(action, {
      kind: "other",
      title: "teleport",
      arguments: { kind: "teleport", where: "elsewhere" },
    });
  });
});
