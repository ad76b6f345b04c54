import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PermissionRequest } from "@github/copilot-sdk";
import { actionOf } from "./permissionAction.js";

const of = (request: Record<string, unknown>) => actionOf(request as unknown as PermissionRequest);

describe("What the Copilot runtime asks for becomes an action that cards and rules understand", () => {
  test("a command with the paths that the runtime sees in it", () => {
    const action = of({
      kind: "shell",
      toolCallId: "1",
      fullCommandText: "cat a b",
      intention: "Show",
      possiblePaths: ["a", "b"],
      resolvedPaths: { a: "/w/a", b: "/etc/b" },
      resolvedWorkingDirectory: "/w",
    });
    assert.deepEqual(action, {
      kind: "execute",
      title: "cat a b",
      command: "cat a b",
      directory: "/w",
      paths: ["a", "b", "/w/a", "/etc/b"],
      toolCallId: "1",
      intention: "Show",
    });
  });

  const shell = { kind: "shell", fullCommandText: "ls", possiblePaths: [], hasWriteFileRedirection: false };
  const everything = {
    ...shell,
    canOfferSessionApproval: true,
    commands: [{ identifier: "ls", readOnly: true }],
    commandSegments: [{ identifier: "ls", fullCommandText: "ls" }],
    possibleUrls: [],
    requestSandboxBypass: false,
  };
  test("what the runtime says today leaves the decision to rules", () => {
    for (const request of [
      everything,
      { kind: "write", fileName: "a", diff: "", canOfferSessionApproval: true, newFileContents: "x" },
      { kind: "read", path: "a" },
      { kind: "mcp", serverName: "a", toolName: "b", toolTitle: "", readOnly: true, args: {} },
    ])
      assert.equal(of(request).unclear, undefined, request.kind);
  });

  for (const [why, request] of [
    ["a field that nobody knows", { ...shell, environment: { PATH: "." } }],
    ["a warning", { ...shell, warning: "This deletes everything" }],
    ["a redirect that we did not see", { ...shell, hasWriteFileRedirection: true }],
    ["a way out of the sandbox", { ...shell, requestSandboxBypass: true }],
    ["half a way out of it", { ...shell, requestSandboxPermissive: true }],
    ["somebody who wants a person to decide", { ...shell, managedApprovalRequired: true }],
    ["a command that is not in its text", { ...shell, commands: [{ identifier: "rm", readOnly: false }] }],
    [
      "a part that is not in it",
      { ...shell, commandSegments: [{ identifier: "rm", fullCommandText: "rm x" }] },
    ],
    ["an address that is not in it", { ...shell, possibleUrls: [{ url: "https://a.example" }] }],
    ["an edit with more than an edit", { kind: "write", fileName: "a", diff: "", moveTo: "b" }],
    ["an edit out of the sandbox", { kind: "write", fileName: "a", diff: "", requestSandboxBypass: true }],
    ["a read with more than a read", { kind: "read", path: "a", recursive: true }],
    ["a tool with more than arguments", { kind: "mcp", serverName: "a", toolName: "b", elevated: true }],
  ] as const)
    test(`no rule decides about ${why}`, () => assert.match(of(request).unclear ?? "", /\w/));

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
