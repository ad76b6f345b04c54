import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Action } from "../../permissions/action.js";
import { expandTools } from "../agents/agentTools.js";
import type { PermissionMode } from "../orchestratorConfig.js";
import { refusalOf, ruledPermissions } from "./permissions.js";

const none: readonly string[] = [];

describe("AGENT_PERMISSIONS, for every kind of agent,", () => {
  let folder = "";
  let repoRoot = "";
  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "permissions-")));
    repoRoot = join(folder, "repo");
    await mkdir(repoRoot);
    await symlink(folder, join(repoRoot, "out"));
    await symlink(join(folder, "not-there"), join(repoRoot, "dangling"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  type Case = [
    what: string,
    action: Omit<Action, "title">,
    tools: readonly string[] | undefined,
    modes: readonly PermissionMode[],
  ];
  const every: readonly PermissionMode[] = ["read-only", "declared", "all"];
  const listed: readonly PermissionMode[] = ["declared", "all"];
  const allOnly: readonly PermissionMode[] = ["all"];
  const cases: Case[] = [
    ["a read inside", { kind: "read", paths: ["a.txt"] }, none, every],
    ["a read that names no file", { kind: "read" }, none, allOnly],
    ["a read through a link that leads out", { kind: "read", paths: ["out/secret"] }, none, allOnly],
    [
      "a read inside that also names a file outside",
      { kind: "read", paths: ["a", "/etc/passwd"] },
      none,
      allOnly,
    ],
    ["a read that is not fully understood", { kind: "read", paths: ["a"], unclear: "x" }, none, allOnly],
    [
      "a read that says that it leaves the folder",
      { kind: "read", paths: ["a"], outside: true },
      none,
      allOnly,
    ],
    ["a search inside the repository", { kind: "search" }, none, every],
    ["a search above the repository", { kind: "search", paths: [".."] }, none, allOnly],
    ["a change without a listed tool", { kind: "edit", paths: ["a.txt"] }, ["read"], allOnly],
    ["a change by an agent without a list of tools", { kind: "edit", paths: ["a.txt"] }, undefined, allOnly],
    ["a change that is listed", { kind: "edit", paths: ["a.txt"] }, ["edit"], listed],
    ["a change that names no file", { kind: "edit" }, ["edit"], allOnly],
    ["a change through a dangling link", { kind: "edit", paths: ["dangling"] }, ["edit"], allOnly],
    [
      "a change that is not fully understood",
      { kind: "edit", paths: ["a"], unclear: "x" },
      ["edit"],
      allOnly,
    ],
    ["a deletion that is listed", { kind: "delete", paths: ["a.txt"] }, ["edit"], listed],
    ["a move out of the repository", { kind: "move", paths: ["a.txt", "/tmp/a"] }, ["edit"], allOnly],
    ["a command that is listed", { kind: "execute", command: "ls", unclear: "x" }, ["execute"], listed],
    ["a command that is not listed", { kind: "execute", command: "ls" }, ["edit", "web"], allOnly],
    ["an address that is listed", { kind: "fetch", url: "http://a.example", unclear: "x" }, ["web"], listed],
    ["an address that is not listed", { kind: "fetch", url: "http://a.example" }, ["execute"], allOnly],
    ["a tool of a server that is listed", { kind: "other", tool: "files/look" }, ["files/look"], listed],
    ["another tool of that server", { kind: "other", tool: "files/delete" }, ["files/look"], allOnly],
    [
      "a listed tool in a request that is not fully understood",
      { kind: "other", tool: "files/look", unclear: "x" },
      ["files/look"],
      allOnly,
    ],
    ["a tool with the name of a built-in one", { kind: "other", tool: "view" }, ["read"], allOnly],
    ["an unknown kind of request", { kind: "other" }, ["files/look", "execute"], allOnly],
  ];
  for (const [what, action, declared, modes] of cases)
    test(`allows ${what} under ${modes.join(", ")} and under no other mode`, async () => {
      const tools = declared && expandTools(declared).names;
      const allowed: PermissionMode[] = [];
      for (const mode of every)
        if (!(await refusalOf({ title: "x", ...action }, { mode, repoRoot, tools }))) allowed.push(mode);
      assert.deepEqual(allowed, modes);
    });

  test("answers with one of the agent's own options, and with none when none fits", async () => {
    const { permission } = ruledPermissions({ mode: "read-only", repoRoot, tools: none });
    const options = [
      { optionId: "1", kind: "reject_once", name: "Yes" },
      { optionId: "2", kind: "allow_once", name: "No" },
    ];
    const read: Action = { kind: "read", title: "a", paths: ["a"] };
    const edit: Action = { kind: "edit", title: "a", paths: ["a"] };
    assert.equal((await permission(read, { options })).optionId, "2");
    assert.equal((await permission(edit, { options })).optionId, "1");
    assert.deepEqual(await permission(edit), {
      allowed: false,
      by: "policy",
      reason: "Agents may only read here.",
    });
    assert.equal((await permission(edit, { options: options.slice(1) })).optionId, undefined);
    assert.equal((await permission(read, { options: options.slice(0, 1) })).allowed, false);
  });
});
