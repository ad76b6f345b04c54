import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { files, lines } from "../backends/demo/tryItStory.js";
import { tryItEntry } from "./tryItEntry.js";
import { makeTryItRepository } from "./tryItRepository.js";

async function tempFolder(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portal-try-it-")));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs the check of the task as the portal does. */
function check(folder: string): { status: number | null; output: string } {
  const [command] = tryItEntry.tasks["mend-the-bug"]?.criteria?.commands ?? [];
  const [program = "", ...args] = command?.run ?? [];
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout } = spawnSync(program, args, { cwd: folder, env, encoding: "utf8" });
  return { status, output: stdout };
}

describe("The repository of Try it", () => {
  test("its test fails, still fails after the first edit, and passes after the second", async t => {
    const folder = await makeTryItRepository(join(await tempFolder(t), "try-it"));
    const file = join(folder, files.code);
    const code = await readFile(file, "utf8");
    const first = check(folder);
    assert.equal(first.status, 1);
    assert.match(first.output, /'1:5' !== '1:05'/);
    await writeFile(file, code.replace(lines.bug, lines.wrong));
    const second = check(folder);
    assert.equal(second.status, 1);
    assert.match(second.output, /'1: 5' !== '1:05'/);
    await writeFile(file, code.replace(lines.bug, lines.right));
    assert.equal(check(folder).status, 0);
  });

  test("it has a history of its own, and what the user set for all repositories does not reach it", async t => {
    const home = await tempFolder(t);
    const hostile = "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n[core]\n\thooksPath = /nowhere\n";
    await writeFile(join(home, ".gitconfig"), hostile);
    const folder = await makeTryItRepository(join(home, "try-it"));
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home };
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", folder, ...args], { env, encoding: "utf8" });
    assert.deepEqual(git("log", "--format=%an: %s").trim().split("\n"), [
      "Try it: Test the seconds, which fails",
      "Try it: Test the colon",
      "Try it: Write durations as minutes and seconds",
    ]);
    assert.equal(git("status", "--short"), "");
    await writeFile(join(folder, files.plan), "# Plan\n");
    assert.equal(git("status", "--short"), "");
    await writeFile(join(folder, files.code), "");
    git("commit", "--quiet", "--all", "--message", "As the agent does");
  });

  test("without git, and without a place to write, it says what to do and leaves nothing behind", async t => {
    const parent = await tempFolder(t);
    const { PATH } = process.env;
    t.after(() => Object.assign(process.env, { PATH }));
    process.env.PATH = parent;
    await assert.rejects(makeTryItRepository(parent), { code: "GitNotFound", message: /Install git/ });
    assert.deepEqual(await readdir(parent), []);
    process.env.PATH = PATH;
    const taken = join(parent, "file");
    await writeFile(taken, "");
    await assert.rejects(makeTryItRepository(taken), { code: "TryItFailed", status: 503 });
    await assert.rejects(makeTryItRepository("/dev/full/x"), { code: "TryItFailed" });
  });
});
