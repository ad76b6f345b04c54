import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { packageRoot, portalProgram } from "../../src/base/paths.js";
import { tempFolder } from "../support/cleanup.js";

const run = promisify(execFile);
const source = join(packageRoot, "dist", "src");

test("the portal starts however its program is named, and does not start when it is imported", async t => {
  const link = join(await tempFolder(t), "copilot-portal");
  await symlink(portalProgram, link);
  for (const name of [portalProgram, link, source, join(source, "index"), join(source, "index.js")]) {
    const { stdout } = await run(process.execPath, [name, "--help"]);
    assert.match(stdout, /--port/, name);
  }
  const code = `const { createApp } = await import(${JSON.stringify(join(source, "index.js"))}); console.log(typeof createApp)`;
  const imported = await run(process.execPath, ["--input-type=module", "--eval", code, "no-such-file"]);
  assert.equal(imported.stdout, "function\n");
});
