import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { worktreeBranch, worktreeFolder } from "./worktreeNames.js";

test("a branch is named after its job, and a folder after its repository", () => {
  assert.equal(worktreeBranch("Fix the bug", "0a1b2c3d"), "portal/Fix-the-bug-0a1b2c3d");
  assert.equal(worktreeFolder("my.repo", "0a1b2c3d"), "my-repo-0a1b2c3d");
});

test("whatever the name is, git takes the branch and the folder is one folder", () => {
  const names = [
    "../../etc",
    "-rf",
    "a..b",
    "x.lock",
    "@{-1}",
    "ü\n",
    "",
    "/",
    "a".repeat(300),
    "refs/heads/x~^:?*[",
  ];
  for (const name of names) {
    const branch = worktreeBranch(name, "0a1b2c3d");
    execFileSync("git", ["check-ref-format", `refs/heads/${branch}`]);
    assert.match(branch, /^portal\/[A-Za-z0-9_][A-Za-z0-9_-]*-0a1b2c3d$/);
    assert.match(worktreeFolder(name, "0a1b2c3d"), /^[A-Za-z0-9_][A-Za-z0-9_-]*-0a1b2c3d$/);
  }
});
