import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lchownSync } from "node:fs";
import { appendFile, chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { Snapshots } from "../../src/changes/snapshots.js";
import { type TestRepository, testRepository } from "../../src/changes/testRepository.js";
import type { Store } from "../../src/store/store.js";
import { ConflictError, Worktrees } from "../../src/worktrees/worktrees.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { anyStore } from "../support/store/suiteDatabase.js";

const scope = groupScope();
let store: Store;
let dataDir: string;
before(async () => {
  dataDir = await tempFolder(scope);
  store = await anyStore(scope);
});

/** As one life of the portal. */
function life(): Worktrees {
  return new Worktrees({ dataDir, store, snapshots: new Snapshots(join(dataDir, "changes")), log: silent });
}

let owners = 0;

interface Made extends TestRepository {
  worktrees: Worktrees;
  record: Awaited<ReturnType<Worktrees["create"]>>;
  /** Writes a file of the worktree. */
  work(path: string, text: string): Promise<void>;
  text(path: string): Promise<string>;
  branches(): string;
}

async function made(t: TestContext, options: { fromChanges?: boolean; below?: string } = {}): Promise<Made> {
  const repository = await testRepository(t);
  await repository.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  repository.git("commit", "-qam", "nine lines");
  if (options.fromChanges) {
    await repository.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    await repository.write("new.txt", "mine\n");
  }
  return madeIn(repository, options);
}

async function madeIn(
  repository: TestRepository,
  { fromChanges = false, below = "" }: { fromChanges?: boolean; below?: string } = {},
): Promise<Made> {
  const worktrees = life();
  await worktrees.recovered;
  const target = join(repository.root, below);
  const record = await worktrees.create({ owner: `owner-${owners++}`, name: "My job", target, fromChanges });
  await worktrees.confirm(record);
  return {
    ...repository,
    worktrees,
    record: (await worktrees.records.find(record.id)) ?? record,
    async work(path, text) {
      await mkdir(join(record.folder, path, ".."), { recursive: true });
      await writeFile(join(record.folder, path), text);
    },
    text: path => readFile(join(repository.root, path), "utf8"),
    branches: () => repository.git("branch", "--list", "portal/*").trim(),
  };
}

const conflicts =
  (...paths: string[]) =>
  (error: unknown) => {
    assert.ok(error instanceof ConflictError, String(error));
    assert.deepEqual(
      error.conflicts.map(({ path }) => path),
      paths,
    );
    return true;
  };

const stateOf = async ({ worktrees, record }: Made) => (await worktrees.records.find(record.id))?.state;

/** Nothing is left of the worktree, neither on the disk nor in the repository. */
function assertGone({ record, git }: Made): void {
  assert.equal(existsSync(record.folder), false);
  assert.doesNotMatch(git("worktree", "list"), new RegExp(record.id));
}

describe("A worktree", () => {
  test("has the newest commit on a branch of its own, in the data folder", async t => {
    const { record, git, write } = await made(t);
    await write("a.txt", "dirty\n");
    assert.match(record.folder, /\/worktrees\/repo-[0-9a-f]{8}$/);
    assert.ok(record.branch.startsWith("portal/My-job-"));
    assert.equal(record.workingDirectory, record.folder);
    assert.equal(await readFile(join(record.folder, "a.txt"), "utf8"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert.equal(git("rev-parse", record.branch), git("rev-parse", "HEAD"));
  });

  test("has the uncommitted changes as a commit of its own if wanted, and the user's folder stays as it is", async t => {
    const { record, git } = await made(t, { fromChanges: true });
    assert.equal(await readFile(join(record.folder, "new.txt"), "utf8"), "mine\n");
    assert.match(await readFile(join(record.folder, "a.txt"), "utf8"), /nine/);
    assert.equal(git("status", "--porcelain"), " M a.txt\n?? new.txt\n");
    assert.equal(git("log", "-1", "--format=%s", record.branch), "Uncommitted changes\n");
    assert.equal(git("fsck", "--no-dangling"), "");
  });

  test("of a folder below the root works in that folder", async t => {
    const { record } = await made(t, { below: "b" });
    assert.equal(record.workingDirectory, join(record.folder, "b"));
    assert.equal(await readFile(join(record.workingDirectory, "c.txt"), "utf8"), "c\n");
  });

  test("is refused, and nothing is made, without a repository, a commit, a whole repository or git", async t => {
    const worktrees = life();
    const create = (target: string) =>
      worktrees.create({ owner: `owner-${owners++}`, name: "x", target, fromChanges: true });
    await assert.rejects(create(await tempFolder(t)), { code: "NoRepository" });
    const empty = await testRepository(t, false);
    await assert.rejects(create(empty.root), { code: "NoCommit" });
    const damaged = await testRepository(t);
    await rm(join(damaged.root, ".git", "objects"), { recursive: true });
    await assert.rejects(create(damaged.root), { code: "NoRepository" });
    const taken = await testRepository(t);
    taken.git("branch", "portal");
    await assert.rejects(create(taken.root), { code: "WorktreeFailed" });
    assert.equal(taken.git("worktree", "list").trim().split("\n").length, 1);
    const { PATH } = process.env;
    process.env.PATH = "/nowhere";
    await assert.rejects(create(taken.root), { code: "GitNotFound" }).finally(() => {
      process.env.PATH = PATH;
    });
  });

  test("runs no program that the repository's settings name", async t => {
    const repository = await testRepository(t);
    const ran = join(repository.outside, "ran");
    const script = join(repository.outside, "evil");
    await writeFile(script, `#!/bin/sh\necho "$0 $*" >> ${ran}\ncat\n`);
    await chmod(script, 0o755);
    await repository.write(
      ".gitattributes",
      "*.txt filter=evil merge=evil diff=evil\n*.late filter=late\n*.empty filter=\n",
    );
    await repository.write("a.late", "x\n");
    await repository.write("a.empty", "x\n");
    repository.git("add", "-A");
    repository.git("commit", "-qm", "attributes");
    for (const hook of ["post-checkout", "reference-transaction", "post-index-change"]) {
      await writeFile(join(repository.root, ".git", "hooks", hook), `#!/bin/sh\necho hook >> ${ran}\n`);
      await chmod(join(repository.root, ".git", "hooks", hook), 0o755);
    }
    for (const name of ["filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.fsmonitor"])
      repository.git("config", name, script);
    repository.git("config", "filter.evil.required", "true");
    // One with an empty name, and one that only the new branch has.
    await repository.write(".git/on-branch", `[filter "late"]\n\tsmudge = ${script}\n`);
    await appendFile(
      join(repository.root, ".git", "config"),
      `[filter ""]\n\tsmudge = ${script}\n[includeIf "onbranch:portal/**"]\n\tpath = on-branch\n`,
    );
    repository.git("config", "merge.evil.driver", `${script} %A`);
    repository.git("config", "diff.evil.command", script);
    await rm(ran, { force: true });
    // Git asks about a repository of another user in its own way.
    for (const path of [repository.root, join(repository.root, ".git")]) lchownSync(path, 65534, 65534);
    const one = await madeIn(repository, { fromChanges: true });
    await one.work("other.md", "x\n");
    await one.worktrees.apply([one.record]);
    const two = await madeIn(repository, { fromChanges: true });
    await two.work("more.md", "x\n");
    await two.worktrees.keep(two.record);
    assert.equal(existsSync(ran) && (await readFile(ran, "utf8")), false);
  });
});

describe("Applying a worktree", () => {
  test("merges three ways: both sides' changes are there, committed or not, and nothing is left", async t => {
    const one = await made(t);
    await one.work("a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    await one.work("sub/added.txt", "new\n");
    await rm(join(one.record.folder, "b/c.txt"));
    execFileSync("git", ["-C", one.record.folder, "add", "-A"]);
    const identity = ["-c", "user.name=x", "-c", "user.email=x@x"];
    execFileSync("git", ["-C", one.record.folder, ...identity, "commit", "-qm", "agent"]);
    await one.work("late.txt", "uncommitted\n");
    await one.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    await one.write("mine.txt", "mine\n");
    await one.worktrees.apply([one.record]);
    assert.equal(await one.text("a.txt"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert.equal(await one.text("sub/added.txt"), "new\n");
    assert.equal(await one.text("late.txt"), "uncommitted\n");
    assert.equal(await one.text("mine.txt"), "mine\n");
    assert.equal(existsSync(join(one.root, "b")), false);
    assert.equal(one.git("log", "--format=%s", "-1"), "nine lines\n");
    assert.equal(await stateOf(one), "applied");
    assert.equal(one.branches(), "");
    assertGone(one);
    await assert.rejects(one.worktrees.discard(one.record), { code: "WorktreeDecided" });
  });

  test("brings back only what the agent did, where it began with the user's changes", async t => {
    const one = await made(t, { fromChanges: true });
    await one.work("a.txt", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    await one.write("new.txt", "mine, changed since\n");
    await one.worktrees.apply([one.record]);
    assert.equal(await one.text("a.txt"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert.equal(await one.text("new.txt"), "mine, changed since\n");
  });

  test("names the conflicting files and changes nothing, and works after the user solved them", async t => {
    const one = await made(t);
    await one.work("a.txt", "agent\n2\n3\n4\n5\n6\n7\n8\n9\n");
    await one.work("fine.txt", "fine\n");
    await one.write("a.txt", "user\n2\n3\n4\n5\n6\n7\n8\n9\n");
    await assert.rejects(one.worktrees.apply([one.record]), conflicts("a.txt"));
    assert.equal(one.git("status", "--porcelain"), " M a.txt\n");
    assert.match(await one.text("a.txt"), /^user/);
    assert.equal(await stateOf(one), "waiting");
    one.git("checkout", "-q", "a.txt");
    await one.worktrees.apply([one.record]);
    assert.match(await one.text("a.txt"), /^agent/);
  });

  test("names what is there and nothing that git invents where the user put a link in place of a folder", async t => {
    const one = await made(t);
    const outside = await tempFolder(t);
    await writeFile(join(outside, "c.txt"), "outside\n");
    await one.work("b/c.txt", "agent\n");
    await rm(join(one.root, "b"), { recursive: true });
    await symlink(outside, join(one.root, "b"));
    await assert.rejects(one.worktrees.apply([one.record]), conflicts("b", "b/c.txt"));
    assert.equal(await readFile(join(outside, "c.txt"), "utf8"), "outside\n");
    assert.equal(await stateOf(one), "waiting");
  });

  test("never overwrites a file that git ignores", async t => {
    const one = await made(t);
    await one.work(".gitignore", "");
    await one.work("ignored/secret.txt", "agent\n");
    await one.work("fine.txt", "fine\n");
    await one.write("ignored/secret.txt", "user\n");
    await assert.rejects(one.worktrees.apply([one.record]), conflicts("ignored/secret.txt"));
    assert.equal(await one.text("ignored/secret.txt"), "user\n");
    assert.equal(existsSync(join(one.root, "fine.txt")), false);
    assert.equal(await one.text(".gitignore"), "ignored/\n");
  });

  test("puts a file where a folder was, and a folder where a file was", async t => {
    const one = await made(t);
    await rm(join(one.record.folder, "b"), { recursive: true });
    await one.work("b", "a file now\n");
    await rm(join(one.record.folder, "a.txt"));
    await one.work("a.txt/inner.txt", "a folder now\n");
    await one.worktrees.apply([one.record]);
    assert.equal(await one.text("b"), "a file now\n");
    assert.equal(await one.text("a.txt/inner.txt"), "a folder now\n");
  });

  test("says which files are too large, and goes on without them only if the user says so", async t => {
    const one = await made(t);
    await one.work("huge.bin", "x".repeat(11 * 1024 * 1024));
    await one.work("small.txt", "x\n");
    await assert.rejects(one.worktrees.apply([one.record]), {
      code: "WorktreeNotWhole",
      message: /huge\.bin/,
    });
    await assert.rejects(one.worktrees.keep(one.record), { code: "WorktreeNotWhole" });
    await one.worktrees.apply([one.record], true);
    assert.equal(await one.text("small.txt"), "x\n");
  });

  test("merges several in their order, all or none", async t => {
    const one = await made(t);
    const two = await madeIn(one);
    const three = await madeIn(one);
    await one.work("one.txt", "1\n");
    await two.work("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\ntwo\n");
    await three.work("a.txt", "three\n2\n3\n4\n5\n6\n7\n8\n9\n");
    const all = [one.record, two.record, three.record];
    await three.work("one.txt", "another\n");
    await assert.rejects(one.worktrees.apply(all), conflicts("one.txt"));
    assert.equal(one.git("status", "--porcelain"), "");
    await rm(join(three.record.folder, "one.txt"));
    await one.worktrees.apply(all);
    assert.equal(await one.text("a.txt"), "three\n2\n3\n4\n5\n6\n7\n8\ntwo\n");
    assert.equal(await one.text("one.txt"), "1\n");
    for (const each of [one, two, three]) assertGone(each);
  });
});

describe("A worktree that is not applied", () => {
  test("can be kept as a branch with everything that was done", async t => {
    const one = await made(t);
    await one.work("a.txt", "agent\n");
    await one.work("new.txt", "new\n");
    const commit = await one.worktrees.keep(one.record);
    assert.equal(one.git("rev-parse", one.record.branch).trim(), commit);
    assert.equal(one.git("show", `${one.record.branch}:new.txt`), "new\n");
    assert.equal(one.git("status", "--porcelain"), "");
    assert.equal(one.git("fsck", "--no-dangling"), "");
    assert.equal(await stateOf(one), "kept");
    assertGone(one);
  });

  test("can be discarded with its branch", async t => {
    const one = await made(t);
    await one.work("new.txt", "new\n");
    await one.worktrees.discard(one.record);
    assert.equal(one.branches(), "");
    assert.equal(await stateOf(one), "discarded");
    assertGone(one);
  });

  test("can be discarded when the user removed its folder, or when its repository is gone", async t => {
    const one = await made(t);
    await rm(one.record.folder, { recursive: true });
    assert.equal(await one.worktrees.missing(one.record), "folder");
    await assert.rejects(one.worktrees.apply([one.record]), { code: "WorktreeGone" });
    await one.worktrees.discard(one.record);
    assertGone(one);
    const two = await made(t);
    await rm(two.root, { recursive: true });
    assert.equal(await two.worktrees.missing(two.record), "repository");
    await assert.rejects(two.worktrees.apply([two.record]), { code: "RepositoryGone" });
    await two.worktrees.discard(two.record);
    assert.equal(existsSync(two.record.folder), false);
  });

  test("whose agent led its .git file elsewhere is applied to nothing", async t => {
    const one = await made(t);
    const other = await testRepository(t);
    await writeFile(join(one.record.folder, ".git"), `gitdir: ${join(other.root, ".git")}\n`);
    other.git("config", "core.worktree", other.root);
    await assert.rejects(one.worktrees.apply([one.record]), { code: "WorktreeBroken" });
    await one.worktrees.discard(one.record);
    assertGone(one);
  });
});

describe("The next portal", () => {
  test("removes a worktree whose session never came to be", async t => {
    const { git, root } = await testRepository(t);
    const record = await life().create({
      owner: `owner-${owners++}`,
      name: "x",
      target: root,
      fromChanges: false,
    });
    const next = life();
    await next.recovered;
    assert.equal(await next.records.find(record.id), undefined);
    assert.equal(existsSync(record.folder), false);
    assert.equal(git("branch", "--list", "portal/*"), "");
  });

  test("keeps a worktree whose session is there, and says when that is deleted", async t => {
    const { root } = await testRepository(t);
    const owner = `owner-${owners++}`;
    const record = await life().create({ owner, name: "x", target: root, fromChanges: false });
    const columns = "id, model_id, model_name, backend, working_directory";
    await store.query(`insert into sessions (${columns}) values ($1, 'm', 'm', 'b', $2)`, [
      owner,
      record.workingDirectory,
    ]);
    const next = life();
    await next.recovered;
    assert.equal((await next.in(record.workingDirectory))?.state, "waiting");
    assert.deepEqual((await next.records.owners()).get(record.id), { kind: "session", title: "" });
    await store.query("delete from sessions where id = $1", [owner]);
    assert.equal((await next.records.owners()).has(record.id), false);
    assert.equal(existsSync(record.folder), true);
  });

  test("writes no file of an apply when one of them cannot be written", async t => {
    const one = await made(t);
    const snapshots = new Snapshots(join(dataDir, "changes"));
    const before = await snapshots.take(one.root);
    const { folder } = snapshots.shadowOf(before?.repository ?? "");
    const git = (input: string, ...args: string[]) =>
      execFileSync("git", ["--git-dir", folder, ...args], { input, encoding: "utf8" }).trim();
    const written = git("agent\n", "hash-object", "-w", "--stdin");
    const files = `100644 blob ${written}\ta.txt\n100644 blob ${"1".repeat(40)}\tz.txt\n`;
    const applying = { from: before?.tree ?? "", to: git(files, "mktree", "--missing") };
    assert.ok(await one.worktrees.records.change([one.record.id], "waiting", "applying", { applying }));
    await life().recovered;
    assert.equal(one.git("status", "--porcelain"), "");
    const { state, problem } = (await one.worktrees.records.find(one.record.id)) ?? {};
    assert.equal(state, "waiting");
    assert.match(problem ?? "", /^Nothing was applied\. .*"z\.txt"/);
  });

  test("finishes an apply of which some files are written", async t => {
    const one = await halfApplied(t);
    await life().recovered;
    assert.equal(await stateOf(one), "applied");
    assert.equal(await one.text("a.txt"), "agent\n");
    assert.equal(await one.text("z.txt"), "new\n");
    assert.equal(one.git("status", "--porcelain"), " M a.txt\n?? z.txt\n");
    assertGone(one);
  });

  test("takes a half-written apply back where the user changed a file since, and says so", async t => {
    const one = await halfApplied(t);
    await one.write("z.txt", "the user's\n");
    await life().recovered;
    assert.equal(await stateOf(one), "waiting");
    assert.equal(await one.text("a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert.equal(await one.text("z.txt"), "the user's\n");
    assert.match((await one.worktrees.records.find(one.record.id))?.problem ?? "", /z\.txt/);
    assert.equal(existsSync(one.record.folder), true);
  });

  /** As a portal leaves it that dies between the first and the second file. */
  async function halfApplied(t: TestContext): Promise<Made> {
    const one = await made(t);
    await one.work("a.txt", "agent\n");
    await one.work("z.txt", "new\n");
    const snapshots = new Snapshots(join(dataDir, "changes"));
    const before = await snapshots.take(one.root);
    await one.write("a.txt", "agent\n");
    await one.write("z.txt", "new\n");
    const afterwards = await snapshots.take(one.root);
    await rm(join(one.root, "z.txt"));
    await one.write(".portal-undo-01234567-89ab-cdef-0123-456789abcdef", "half a fi");
    const applying = { from: before?.tree ?? "", to: afterwards?.tree ?? "" };
    assert.ok(await one.worktrees.records.change([one.record.id], "waiting", "applying", { applying }));
    return one;
  }
});
