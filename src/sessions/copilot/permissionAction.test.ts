import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PermissionRequest } from "@github/copilot-sdk";
import { actionOf } from "./permissionAction.js";

const of = (request: Record<string, unknown>) => actionOf(request as unknown as PermissionRequest);

describe("A permission request of the Copilot runtime becomes an action for cards and rules", () => {
  test("a command keeps the paths that the runtime sees in it", () => {
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
  test("the runtime's current requests are left to the rules", () => {
    for (const request of [
      everything,
      { kind: "write", fileName: "a", diff: "", canOfferSessionApproval: true, newFileContents: "x" },
      { kind: "read", path: "a" },
      { kind: "mcp", serverName: "a", toolName: "b", toolTitle: "", readOnly: true, args: {} },
    ])
      assert.equal(of(request).unclear, undefined, request.kind);
  });

  for (const [why, request] of [
    ["an unknown field", { ...shell, environment: { PATH: "." } }],
    ["a warning", { ...shell, warning: "This deletes everything" }],
    ["a redirect that is not in the text", { ...shell, hasWriteFileRedirection: true }],
    ["a way out of the sandbox", { ...shell, requestSandboxBypass: true }],
    ["a partial way out of the sandbox", { ...shell, requestSandboxPermissive: true }],
    ["a request that requires a person's decision", { ...shell, managedApprovalRequired: true }],
    ["a command that is not in its text", { ...shell, commands: [{ identifier: "rm", readOnly: false }] }],
    [
      "a segment that is not in its text",
      { ...shell, commandSegments: [{ identifier: "rm", fullCommandText: "rm x" }] },
    ],
    ["a URL that is not in its text", { ...shell, possibleUrls: [{ url: "https://a.example" }] }],
    ["an edit with an extra field", { kind: "write", fileName: "a", diff: "", moveTo: "b" }],
    ["an edit out of the sandbox", { kind: "write", fileName: "a", diff: "", requestSandboxBypass: true }],
    ["a read with an extra field", { kind: "read", path: "a", recursive: true }],
    ["a tool with an extra field", { kind: "mcp", serverName: "a", toolName: "b", elevated: true }],
  ] as const)
    test(`no rule decides about ${why}`, () => assert.match(of(request).unclear ?? "", /\w/));

  test("a file keeps its resolved path, so that a link out of the folder is seen", () => {
    const write = of({ kind: "write", fileName: "link", resolvedPath: "/etc/x", diff: "+a", intention: "" });
    assert.deepEqual(write, { kind: "edit", title: "link", paths: ["link", "/etc/x"], diff: "+a" });
    const read = of({ kind: "read", path: "/w/a", resolvedPath: "/w/a" });
    assert.deepEqual(read, { kind: "read", title: "/w/a", paths: ["/w/a"] });
  });

  test("a URL, an MCP server's tool and a portal tool each become an action with their names", () => {
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

  test("an unknown kind of request is shown whole and matches no rule", () => {
    const action = of({ kind: "teleport", where: "elsewhere" });
    assert.deepEqual(action, {
      kind: "other",
      title: "teleport",
      arguments: { kind: "teleport", where: "elsewhere" },
    });
  });
});
