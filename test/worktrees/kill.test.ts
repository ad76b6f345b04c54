import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Failpoint, failpoints } from "../../src/base/failpoint.js";
import { testRepository } from "../../src/changes/testRepository.js";
import { tempFolder } from "../support/cleanup.js";
import { databaseOf } from "../support/store/suiteDatabase.js";

const program = fileURLToPath(new URL("../support/kills/mortalWorktree.js", import.meta.url));

/** What is under way when the process dies, and what the next one must find. No life dies while it finishes an apply. */
const deaths: Partial<Record<Failpoint, { during: string; next: string }>> = {
  "worktree-recorded": { during: "create", next: "none" },
  "worktree-apply-decided": { during: "apply", next: "applied" },
  "worktree-added": { during: "create", next: "none" },
  "worktree-writing-begins": { during: "apply", next: "applied" },
  "worktree-branch-moved": { during: "keep", next: "waiting" },
  "worktree-written": { during: "apply", next: "applied" },
  "worktree-kept": { during: "keep", next: "kept" },
  "worktree-applied": { during: "apply", next: "applied" },
  "worktree-discard-decided": { during: "discard", next: "discarded" },
};

test("a portal that is killed at any point of a worktree's life leaves the old or the new state, and the next one knows which", async t => {
  assert.deepEqual(
    Object.keys(deaths).sort(),
    failpoints.filter(name => name.startsWith("worktree-")).sort(),
  );
  const dataDir = await tempFolder(t);
  const DATABASE = await databaseOf(t, dataDir);
  const { root, git } = await testRepository(t);
  /** Looks at what the life before left, then works until it dies. */
  async function life(before: string, owner: string, what: string) {
    const env = { ...process.env, DATABASE, PORTAL_FAILPOINT: what === "look" ? "" : owner };
    const args = [program, dataDir, root, before, owner, what];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    const [said, [, signal]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    return { ...(JSON.parse(said) as { folder: string; state: string }), signal: signal as string | null };
  }
  const points = Object.entries(deaths);
  let before = "";
  for (const [point, { during }] of [...points, ["nobody", { during: "look" }] as const]) {
    const { folder, state, signal } = await life(before, point, during);
    assert.equal(signal, during === "look" ? null : "SIGKILL", `${point} is reached`);
    const { next = "none" } = deaths[before as Failpoint] ?? {};
    assert.equal(state, next, `after ${before}`);
    const file = join(root, `${before}.txt`);
    assert.equal(existsSync(file), next === "applied", `after ${before}`);
    if (next === "applied") assert.equal(await readFile(file, "utf8"), "agent\n");
    if (folder !== "") assert.equal(existsSync(folder), next === "waiting", `after ${before}`);
    before = point;
  }
  // Of the two that were to be kept, one waits and has its work on its branch already.
  assert.equal(git("worktree", "list").trim().split("\n").length, 2);
  const branches = git("branch", "--list", "portal/*", "--format=%(refname)").trim().split("\n");
  for (const branch of branches)
    assert.match(git("show", "--name-only", "--format=", branch), /worktree-.*\.txt/);
  assert.equal(branches.length, 2);
});
