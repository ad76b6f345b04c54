import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { commitChange, undoChange } from "../../src/changes/actions.js";
import { Changes } from "../../src/changes/changes.js";
import type { Store } from "../../src/store/store.js";
import { changedFolder } from "../support/changedFolder.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { anyStore } from "../support/store/suiteDatabase.js";

const scope = groupScope();
let store: Store;
let changes: Changes;
before(async () => {
  const dataDir = await tempFolder(scope);
  store = await anyStore(scope);
  changes = new Changes({ dataDir, store, log: silent });
});

describe("Undo", () => {
  test("puts changed, deleted, new and renamed files, modes and links back, and can be undone itself", async t => {
    const { root, write, turn } = await changedFolder(t, changes);
    await write("run.sh", "#!/bin/sh\n");
    await chmod(join(root, "run.sh"), 0o755);
    await symlink("a.txt", join(root, "link"));
    const record = await turn(async () => {
      await write("a.txt", "changed\n");
      await rm(join(root, "b.txt"));
      await write("new/deep/file.txt", "new\n");
      await chmod(join(root, "run.sh"), 0o644);
      await rm(join(root, "link"));
      await symlink("b.txt", join(root, "link"));
    });
    const { undo, restored, kept } = await undoChange(changes, record, []);
    assert.deepEqual(kept, []);
    assert.deepEqual(restored, ["a.txt", "b.txt", "link", "new/deep/file.txt", "run.sh"]);
    assert.equal(await readFile(join(root, "a.txt"), "utf8"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert.equal(await readFile(join(root, "b.txt"), "utf8"), "b\n");
    assert.equal(existsSync(join(root, "new")), false);
    assert.equal((await lstat(join(root, "run.sh"))).mode & 0o777, 0o755);
    assert.equal(await readlink(join(root, "link")), "a.txt");

    const again = await changes.records.find("undo", record.owner, undo);
    assert.ok(again);
    const redone = await undoChange(changes, again, []);
    assert.deepEqual(redone.kept, []);
    assert.equal(await readFile(join(root, "a.txt"), "utf8"), "changed\n");
    assert.equal(await readFile(join(root, "new/deep/file.txt"), "utf8"), "new\n");
    assert.equal(existsSync(join(root, "b.txt")), false);
  });

  test("never overwrites a file that has changed since, unless the user says so", async t => {
    const { root, write, turn } = await changedFolder(t, changes);
    const record = await turn(async () => {
      await write("a.txt", "agent\n");
      await write("b.txt", "agent\n");
    });
    await write("a.txt", "user\n");
    const first = await undoChange(changes, record, []);
    assert.deepEqual(first.restored, ["b.txt"]);
    assert.deepEqual(first.kept, [{ path: "a.txt", why: "it has changed since" }]);
    assert.equal(await readFile(join(root, "a.txt"), "utf8"), "user\n");
    const second = await undoChange(changes, record, ["a.txt"]);
    assert.deepEqual(second.kept, []);
    assert.match(await readFile(join(root, "a.txt"), "utf8"), /^1\n2\n/);
    // The user's text is not lost either.
    const undo = await changes.records.find("undo", record.owner, second.undo);
    assert.ok(undo);
    await undoChange(changes, undo, []);
    assert.equal(await readFile(join(root, "a.txt"), "utf8"), "user\n");
  });

  test("names a file that cannot be written, one behind a link, and one that git stores in another form", async t => {
    const { root, write, turn, git } = await changedFolder(t, changes);
    await write("folder/inside.txt", "before\n");
    await write("filtered.lfs", "before\n");
    const record = await turn(async () => {
      await rm(join(root, "a.txt"));
      await write("folder/inside.txt", "after\n");
      await write("filtered.lfs", "after\n");
      await write("b.txt", "after\n");
    });
    // Git does not see an empty folder.
    await mkdir(join(root, "a.txt"));
    await write(".gitattributes", "*.lfs filter=lfs\n");
    git("config", "filter.lfs.clean", "false");
    const elsewhere = await tempFolder(t);
    await writeFile(join(elsewhere, "inside.txt"), "after\n");
    await rm(join(root, "folder"), { recursive: true });
    await symlink(elsewhere, join(root, "folder"));
    const { restored, kept } = await undoChange(changes, record, ["folder/inside.txt", "filtered.lfs"]);
    assert.deepEqual(restored, ["b.txt"]);
    assert.deepEqual(Object.fromEntries(kept.map(({ path, why }) => [path, why])), {
      "a.txt": "it cannot be written: EISDIR",
      "filtered.lfs": "git stores it in another form",
      "folder/inside.txt": "it is behind a link",
    });
    assert.equal(await readFile(join(elsewhere, "inside.txt"), "utf8"), "after\n");
  });

  test("twice at once does the same as once", async t => {
    const { root, write, turn } = await changedFolder(t, changes);
    const record = await turn(() => write("a.txt", "agent\n"));
    const both = await Promise.all([undoChange(changes, record, []), undoChange(changes, record, [])]);
    for (const { restored, kept } of both)
      assert.deepEqual({ restored, kept }, { restored: ["a.txt"], kept: [] });
    assert.match(await readFile(join(root, "a.txt"), "utf8"), /^1\n2\n/);
  });

  test("writes the user's line endings with core.autocrlf", async t => {
    const { root, write, turn, git } = await changedFolder(t, changes);
    git("config", "core.autocrlf", "true");
    await write("b.txt", "b\r\n");
    const record = await turn(() => write("b.txt", "agent\r\n"));
    await undoChange(changes, record, []);
    assert.equal(await readFile(join(root, "b.txt"), "utf8"), "b\r\n");
  });

  test("is told to the agent once, with its next request", async t => {
    const { write, turn } = await changedFolder(t, changes);
    const record = await turn(() => write("hostile\n# name", "agent\n"));
    assert.deepEqual(await changes.untold(record.owner), { text: "", ids: [] });
    await undoChange(changes, record, []);
    const { text, ids } = await changes.untold(record.owner);
    assert.equal((await changes.untold(record.owner)).text, text, "until a request has told it");
    assert.match(text, /put these files back/);
    assert.ok(text.includes('- "hostile\\n# name"\n'));
    await changes.records.told(ids);
    assert.equal((await changes.untold(record.owner)).text, "");
  });

  test("of a folder that is gone says so", async t => {
    const { root, write, turn } = await changedFolder(t, changes);
    const record = await turn(() => write("a.txt", "agent\n"));
    await rm(root, { recursive: true });
    await assert.rejects(undoChange(changes, record, []), { code: "NoRepository" });
  });
});

describe("Commit", () => {
  test("has the agent's change only: what was dirty or staged before stays so", async t => {
    const { root, write, turn, git } = await changedFolder(t, changes);
    await write("a.txt", "dirty\n2\n3\n4\n5\n6\n7\n8\n9\n");
    await write("b.txt", "staged\n");
    git("add", "b.txt");
    await write("untracked.txt", "user\n");
    const record = await turn(async () => {
      await write("a.txt", "dirty\n2\n3\n4\n5\n6\n7\n8\nagent\n");
      await write("new.txt", "agent\n");
    });
    const { commit } = await commitChange(changes, [record], "Do it\n\nBecause.", undefined);
    assert.equal(git("rev-parse", "HEAD").trim(), commit);
    assert.equal(
      git("log", "-1", "--format=%an <%ae>: %B").trim(),
      "The User <user@example.com>: Do it\n\nBecause.",
    );
    assert.equal(git("show", "HEAD:a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\nagent\n");
    assert.equal(git("status", "--porcelain"), " M a.txt\nM  b.txt\n?? untracked.txt\n");
    assert.equal(
      git("diff", "--stat", "HEAD", "--", "a.txt").includes("1 insertion(+), 1 deletion(-)"),
      true,
    );
    assert.match(await readFile(join(root, "a.txt"), "utf8"), /^dirty\n/);
    await assert.rejects(commitChange(changes, [record], "Again", undefined), { code: "NothingToCommit" });
  });

  test("of some paths leaves the rest for later, and a staged change of the agent is committed too", async t => {
    const { write, turn, git } = await changedFolder(t, changes);
    const record = await turn(async () => {
      await write("a.txt", "agent\n");
      await write("b.txt", "agent\n");
    });
    git("add", "a.txt");
    await commitChange(changes, [record], "One", ["a.txt"]);
    assert.equal(git("status", "--porcelain"), " M b.txt\n");
    await commitChange(changes, [record], "Two", undefined);
    assert.equal(git("status", "--porcelain"), "");
    assert.equal(git("log", "--format=%s"), "Two\nOne\nfirst\n");
  });

  test("names a file in which the change cannot be separated, and commits nothing", async t => {
    const { write, turn, git } = await changedFolder(t, changes);
    await write("b.txt", "dirty\n");
    const record = await turn(async () => {
      await write("b.txt", "dirty and agent\n");
      await write("new.txt", "agent\n");
    });
    const before = git("rev-parse", "HEAD");
    await assert.rejects(commitChange(changes, [record], "No", undefined), {
      code: "CannotSeparate",
      message: /"b\.txt"/,
    });
    assert.equal(git("rev-parse", "HEAD"), before);
    assert.equal(git("status", "--porcelain"), " M b.txt\n?? new.txt\n");
    assert.equal(existsSync(join(git("rev-parse", "--absolute-git-dir").trim(), "index.lock")), false);
  });

  test("waits for nobody: a locked index, a merge under way and a missing identity are told", async t => {
    const { root, write, turn, git } = await changedFolder(t, changes);
    const record = await turn(() => write("a.txt", "agent\n"));
    await writeFile(join(root, ".git", "index.lock"), "");
    await assert.rejects(commitChange(changes, [record], "No", undefined), { code: "IndexLocked" });
    assert.equal(existsSync(join(root, ".git", "index.lock")), true);
    await rm(join(root, ".git", "index.lock"));
    await writeFile(join(root, ".git", "MERGE_HEAD"), git("rev-parse", "HEAD"));
    await assert.rejects(commitChange(changes, [record], "No", undefined), { code: "RepositoryBusy" });
    await rm(join(root, ".git", "MERGE_HEAD"));
    git("config", "user.useConfigOnly", "true");
    git("config", "--unset", "user.email");
    const { HOME } = process.env;
    process.env.HOME = root;
    t.after(() => {
      process.env.HOME = HOME;
    });
    await assert.rejects(commitChange(changes, [record], "No", undefined), { code: "NoIdentity" });
    assert.equal(git("log", "--format=%s"), "first\n");
  });

  test("runs no hook and no program of the repository", async t => {
    const { root, write, turn, git } = await changedFolder(t, changes);
    const trace = join(await tempFolder(t), "ran");
    for (const name of [
      "pre-commit",
      "commit-msg",
      "post-commit",
      "reference-transaction",
      "post-index-change",
    ]) {
      await write(`.git/hooks/${name}`, `#!/bin/sh\necho ${name} >>'${trace}'\n`);
      await chmod(join(root, ".git", "hooks", name), 0o755);
    }
    git("config", "gpg.program", join(root, ".git", "hooks", "pre-commit"));
    git("config", "commit.gpgSign", "true");
    git("config", "filter.x.smudge", join(root, ".git", "hooks", "pre-commit"));
    await write(".gitattributes", "* filter=x\n");
    await rm(trace, { force: true });
    const record = await turn(() => write("a.txt", "agent\n"));
    await commitChange(changes, [record], "Quiet", undefined);
    await undoChange(changes, record, []);
    assert.equal(existsSync(trace), false);
    try {
      git("commit", "-qam", "Loud");
    } catch {
      // What runs here is no gpg; what counts is that it ran.
    }
    assert.equal(existsSync(trace), true, "plain git runs them, so that this test can fail");
  });

  test("is the first one of a repository without a commit", async t => {
    const { root, write, turn, git } = await changedFolder(t, changes);
    await rm(join(root, ".git"), { recursive: true });
    git("init", "-q");
    git("config", "user.name", "x");
    git("config", "user.email", "x@example.com");
    const record = await turn(() => write("new.txt", "agent\n"));
    await commitChange(changes, [record], "First", undefined);
    assert.equal(git("ls-tree", "--name-only", "HEAD"), "new.txt\n");
    assert.equal(git("status", "--porcelain"), "?? a.txt\n?? b.txt\n");
  });
});
