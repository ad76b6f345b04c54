import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { completeFolder } from "./folderCompletion.js";

test("a typed path is completed with folders only, and repositories say their branch", async t => {
  const root = mkdtempSync(join(tmpdir(), "folders-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const name of ["project", "Projects", "other", ".hidden"]) mkdirSync(join(root, name));
  writeFileSync(join(root, "profile.txt"), "");
  symlinkSync(join(root, "other"), join(root, "prolink"));
  execFileSync("git", ["init", "-q", "-b", "trunk", join(root, "project")]);
  const names = async (typed: string, home?: string) =>
    (await completeFolder(typed, home)).map(
      ({ path, branch }) => path.slice(root.length + 1) + (branch ? ` on ${branch}` : ""),
    );
  assert.deepEqual(await names(join(root, "pro")), ["Projects", "project on trunk", "prolink"]);
  assert.deepEqual(await names(`${root}/`), ["Projects", "other", "project on trunk", "prolink"]);
  assert.deepEqual(await names(join(root, ".h")), [".hidden"]);
  assert.deepEqual(await names("~/oth", root), ["other"]);
  for (const nowhere of ["", "relative", "~other/x", join(root, "none", "x"), `${root}/\0`])
    assert.deepEqual(await names(nowhere, root), [], nowhere);
});

test("a folder with many others offers the first twenty", async t => {
  const root = mkdtempSync(join(tmpdir(), "folders-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (let n = 0; n < 50; n++) mkdirSync(join(root, `f${n}`));
  assert.equal((await completeFolder(`${root}/f`)).length, 20);
});
