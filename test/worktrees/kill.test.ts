import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Failpoint, failpoints } from "../../src/base/failpoint.js";
import { testRepository } from "../../src/changes/testRepository.js";
import { tempFolder } from "../support/cleanup.js";

const program = fileURLToPath(new URL("../support/mortalWorktree.js", import.meta.url));
const run = promisify(execFile);

/** What is under way when the process dies, and what the next one must find. */
const deaths: Partial<Record<Failpoint, { during: string; next: string }>> = {
  "worktree-recorded": { during: "create", next: "none" },
  "worktree-added": { during: "create", next: "none" },
  "worktree-apply-decided": { during: "apply", next: "applied" },
  "worktree-writing-begins": { during: "apply", next: "applied" },
  "worktree-written": { during: "apply", next: "applied" },
  "worktree-applied": { during: "apply", next: "applied" },
  "worktree-kept": { during: "keep", next: "kept" },
  "worktree-discard-decided": { during: "discard", next: "discarded" },
};

test("a portal that is killed at any point of a worktree's life leaves the old or the new state, and the next one knows which", async t => {
  assert.deepEqual(
    Object.keys(deaths),
    failpoints.filter(name => name.startsWith("worktree-")),
  );
  const dataDir = await tempFolder(t);
  const { root, git } = await testRepository(t);
  const life = async (what: string, owner: string, failpoint = "") => {
    const env = { ...process.env, PORTAL_FAILPOINT: failpoint };
    const { stdout } = await run(process.execPath, [program, dataDir, what, root, owner], { env });
    return JSON.parse(stdout) as { folder: string; state: string; branch: string };
  };
  for (const [point, { during, next }] of Object.entries(deaths)) {
    const owner = `owner of ${point}`;
    const made = during === "create" ? undefined : await life("create", owner);
    if (made) await writeFile(join(made.folder, `${point}.txt`), "agent\n");
    await assert.rejects(life(during, owner, point), { signal: "SIGKILL" }, point);
    const { state } = await life("look", owner);
    assert.equal(state, next, point);
    const isApplied = existsSync(join(root, `${point}.txt`));
    assert.equal(isApplied, next === "applied", point);
    if (isApplied) assert.equal(await readFile(join(root, `${point}.txt`), "utf8"), "agent\n");
    if (made) assert.equal(existsSync(made.folder), false, point);
  }
  assert.equal(git("worktree", "list").trim().split("\n").length, 1);
  assert.equal(git("branch", "--list", "portal/*").trim().split("\n").length, 1);
});
