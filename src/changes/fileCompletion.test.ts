import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../../test/support/cleanup.js";
import { completeFile } from "./fileCompletion.js";

test("a file is found by a part of its path, and those whose name begins with it come first", async t => {
  const folder = await tempFolder(t);
  for (const name of ["src/base", "node_modules/a", ".git", "docs"])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ["README.md", "src/index.ts", "src/base/reindex.ts", "docs/Index of all.md"])
    writeFileSync(join(folder, name), "");
  for (const name of ["node_modules/a/index.js", ".git/index", ".env"]) writeFileSync(join(folder, name), "");
  symlinkSync("/", join(folder, "root"));
  assert.deepEqual(await completeFile(folder, "index"), [
    "docs/Index of all.md",
    "src/index.ts",
    "src/base/reindex.ts",
  ]);
  assert.deepEqual(await completeFile(folder, "src/b"), ["src/base/reindex.ts"]);
  assert.deepEqual(await completeFile(folder, ".env"), [".env"]);
  for (const [at, typed] of [
    ["relative", ""],
    [join(folder, "none"), ""],
    [`${folder}\0`, ""],
    [folder, "../"],
  ] as const)
    assert.deepEqual(await completeFile(at, typed), [], `${at} ${typed}`);
});

test("a folder with many files offers twenty", async t => {
  const folder = await tempFolder(t);
  for (let n = 0; n < 50; n++) writeFileSync(join(folder, `f${n}`), "");
  assert.equal((await completeFile(folder, "f")).length, 20);
  assert.equal((await completeFile(folder, "")).length, 20);
});
