import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, lchownSync, readdirSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { diffFile, type FileChange } from "./diff.js";
import { gitPath, shownPath } from "./gitPath.js";
import { type SnapshotRef, Snapshots } from "./snapshots.js";
import { type TestRepository, testRepository } from "./testRepository.js";

async function taken(snapshots: Snapshots, folder: string): Promise<SnapshotRef> {
  const snapshot = await snapshots.take(folder);
  assert.ok(snapshot, "the folder is in a repository");
  return snapshot;
}

interface Change {
  files: FileChange[];
  outside: number;
  left: SnapshotRef["left"];
}

/** What two snapshots show of what `work` does in between. */
async function changeOf(
  { root, data }: TestRepository,
  work: () => Promise<void>,
  folder = root,
): Promise<Change> {
  const snapshots = new Snapshots(data);
  const before = await taken(snapshots, folder);
  await work();
  const after = await taken(snapshots, folder);
  return { ...(await snapshots.changesBetween(before, after)), left: after.left };
}

const names = ({ files }: Pick<Change, "files">) => files.map(({ kind, path }) => `${kind} ${path}`);

/** Everything in the repository's own folder that git could have written. */
function insideGit(root: string): string {
  const listed = execFileSync("find", [".git", "-type", "f", "-printf", "%p %s %T@\\n"], { cwd: root });
  return listed.toString().split("\n").sort().join("\n");
}

describe("A snapshot of a work tree", () => {
  test("shows added, changed, deleted and renamed files with their lines, and honours .gitignore", async t => {
    const repo = await testRepository(t);
    await repo.write("old name.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    const change = await changeOf(repo, async () => {
      await repo.write("a.txt", "one\n2\nthree\nfour\n");
      await repo.write("new.txt", "x\n");
      await repo.write("ignored/file", "x\n");
      await rm(join(repo.root, "b"), { recursive: true });
      await rename(join(repo.root, "old name.txt"), join(repo.root, "new name.txt"));
    });
    assert.deepEqual(change.files, [
      { path: "a.txt", kind: "changed", added: 2, deleted: 1 },
      { path: "b/c.txt", kind: "deleted", added: 0, deleted: 1 },
      { path: "new name.txt", oldPath: "old name.txt", kind: "renamed", added: 0, deleted: 0 },
      { path: "new.txt", kind: "added", added: 1, deleted: 0 },
    ]);
  });

  test("leaves the user's repository as it was: index, objects, refs, staged changes", async t => {
    const repo = await testRepository(t);
    await repo.write("a.txt", "staged\n");
    repo.git("add", "a.txt");
    await repo.write("a.txt", "staged and changed\n");
    await repo.write("untracked.txt", "x\n");
    const status = repo.git("--no-optional-locks", "status", "--porcelain");
    const before = insideGit(repo.root);
    await changeOf(repo, () => repo.write("a.txt", "changed again\n"));
    assert.equal(insideGit(repo.root), before);
    assert.equal(repo.git("--no-optional-locks", "status", "--porcelain"), status);
  });

  test("without a change in between has the same tree", async t => {
    const repo = await testRepository(t);
    const snapshots = new Snapshots(repo.data);
    const [first, second] = [await taken(snapshots, repo.root), await taken(snapshots, repo.root)];
    assert.equal(first.tree, second.tree);
    assert.equal((await taken(new Snapshots(repo.data), repo.root)).tree, first.tree);
  });

  test("sees a change of the same size right after the commit", async t => {
    const repo = await testRepository(t);
    const change = await changeOf(repo, () => repo.write("b/c.txt", "d\n"));
    assert.deepEqual(names(change), ["changed b/c.txt"]);
  });

  test("shows binary files, modes, links and a file that became a folder", async t => {
    const repo = await testRepository(t);
    await repo.write("script.sh", "#!/bin/sh\n");
    await repo.write("binary", Buffer.from([0, 1, 2]));
    await repo.write("folder or file", "file\n");
    const change = await changeOf(repo, async () => {
      await chmod(join(repo.root, "script.sh"), 0o755);
      await repo.write("binary", Buffer.from([0, 1, 3]));
      await rm(join(repo.root, "folder or file"));
      await repo.write("folder or file/inside", "x\n");
      await rm(join(repo.root, "b"), { recursive: true });
      await symlink(repo.outside, join(repo.root, "b"));
    });
    assert.deepEqual(change.files, [
      { path: "b", kind: "added", added: 1, deleted: 0 },
      { path: "b/c.txt", kind: "deleted", added: 0, deleted: 1 },
      { path: "binary", kind: "changed", added: 0, deleted: 0, binary: true },
      { path: "folder or file", kind: "deleted", added: 0, deleted: 1 },
      { path: "folder or file/inside", kind: "added", added: 1, deleted: 0 },
      {
        path: "script.sh",
        kind: "changed",
        added: 0,
        deleted: 0,
        oldMode: "100644",
        newMode: "100755",
      },
    ]);
  });

  test("takes names with line feeds, quotes, leading colons and bytes that are no text", async t => {
    const repo = await testRepository(t);
    const odd = ["line\nfeed", '"quoted"', ":(exclude)a.txt", "-rf", "tab\there", "ünï", "back\\slash"];
    const bytes = Buffer.concat([Buffer.from(`${repo.root}/`), Buffer.from([0x66, 0xff, 0x0a, 0x22])]);
    const snapshots = new Snapshots(repo.data);
    const before = await taken(snapshots, repo.root);
    for (const name of odd) await repo.write(name, `${name}\n`);
    await writeFile(bytes, "bytes\n");
    const after = await taken(snapshots, repo.root);
    const { files } = await snapshots.changesBetween(before, after);
    const shownBytes = '"f\\377\\012\\042"';
    const shownQuotes = '"\\042quoted\\042"';
    assert.deepEqual(
      files.map(({ path }) => path).sort(),
      [...odd.filter(name => name !== '"quoted"'), shownQuotes, shownBytes].sort(),
    );
    for (const { path } of files) {
      const shadow = snapshots.shadowOf(after.repository);
      const diff = await diffFile(shadow, before.tree, after.tree, gitPath(path));
      assert.match(diff?.diff ?? "", /^\+/m, path);
      assert.equal(shownPath(gitPath(path)), path);
    }
  });

  test("leaves out and names large files, nested repositories, submodules and what is no file", async t => {
    const repo = await testRepository(t);
    execFileSync("git", ["init", "-q", join(repo.root, "nested")]);
    await repo.write("nested/file", "x\n");
    const inner = await testRepository(t);
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.root, "sub");
    repo.git("commit", "-qm", "submodule");
    const change = await changeOf(repo, async () => {
      await repo.write("large", "");
      await truncate(join(repo.root, "large"), 10 * 1024 * 1024 + 1);
      await repo.write("just fits", "");
      await truncate(join(repo.root, "just fits"), 10 * 1024 * 1024);
      await repo.write("sub/a.txt", "changed in the submodule\n");
      await rm(join(repo.root, "a.txt"));
      execFileSync("mkfifo", [join(repo.root, "a.txt")]);
    });
    assert.deepEqual(names(change), ["added just fits"]);
    assert.deepEqual(Object.fromEntries(change.left.map(({ path, why }) => [path, why])), {
      large: "larger than 10 MiB",
      "nested/": "a repository of its own",
      sub: "a submodule",
      "a.txt": "neither a file nor a link",
    });
  });

  test("leaves out and names what its user may not read", async t => {
    const repo = await testRepository(t);
    await repo.write("secret", "x\n");
    await repo.write("closed/file", "x\n");
    chmodSync(join(repo.root, "secret"), 0o000);
    chmodSync(join(repo.root, "closed"), 0o000);
    // Root may read everything, so that another user takes the snapshot.
    const uid = process.getuid?.() === 0 ? 65534 : undefined;
    if (uid !== undefined) {
      execFileSync("chown", ["-R", String(uid), repo.outside]);
      execFileSync("chmod", ["-R", "go-rwx", join(repo.root, ".git")]);
    }
    const program = `import { Snapshots } from ${JSON.stringify(new URL("./snapshots.js", import.meta.url).href)};
      const { left } = await new Snapshots(${JSON.stringify(repo.data)}).take(${JSON.stringify(repo.root)});
      console.log(JSON.stringify(left));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: "/",
      ...(uid !== undefined && { uid, gid: uid }),
      env: { PATH: process.env.PATH, HOME: "/" },
    });
    chmodSync(join(repo.root, "closed"), 0o700);
    assert.deepEqual(
      JSON.parse(output.toString())
        .map(({ path }: { path: string }) => path)
        .sort(),
      ["closed/", "secret"],
    );
  });

  test("is undefined where there is no repository, also when git cannot read the one that is there", async t => {
    const repo = await testRepository(t);
    const snapshots = new Snapshots(repo.data);
    assert.equal(await snapshots.take(repo.outside), undefined);
    assert.equal(await snapshots.take(join(repo.outside, "missing")), undefined);
    await rm(join(repo.root, ".git", "HEAD"));
    assert.equal(await snapshots.take(repo.root), undefined);
  });

  test("is undefined without git", async t => {
    const repo = await testRepository(t);
    const { PATH } = process.env;
    process.env.PATH = repo.outside;
    t.after(() => {
      process.env.PATH = PATH;
    });
    assert.equal(await new Snapshots(repo.data).take(repo.root), undefined);
  });

  test("with a diff of many megabytes is compared in bounds", async t => {
    const repo = await testRepository(t);
    const lines = (text: string) => `${text}\n`.repeat((9 * 1024 * 1024) / (text.length + 1));
    await repo.write("long.txt", lines("before"));
    const snapshots = new Snapshots(repo.data);
    const before = await taken(snapshots, repo.root);
    await repo.write("long.txt", lines("behind"));
    const after = await taken(snapshots, repo.root);
    const { totals } = await snapshots.changesBetween(before, after);
    assert.equal(totals.files, 1);
    assert.ok(totals.added > 1_000_000 && totals.added === totals.deleted);
    const file = await diffFile(snapshots.shadowOf(after.repository), before.tree, after.tree, "long.txt");
    assert.equal(file?.cut, true);
    assert.equal(file.diff.length, 2 * 1024 * 1024);
    assert.deepEqual([file.before, file.after], [undefined, undefined]);
  });

  test("of a folder below the root counts what changed elsewhere", async t => {
    const repo = await testRepository(t);
    await mkdir(join(repo.root, "b", "deeper"));
    const change = await changeOf(
      repo,
      async () => {
        await repo.write("a.txt", "elsewhere\n");
        await repo.write("b/c.txt", "here\n");
        await repo.write("bb.txt", "elsewhere too\n");
      },
      join(repo.root, "b"),
    );
    assert.deepEqual(names(change), ["changed c.txt"]);
    assert.equal(change.outside, 2);
  });

  test("heals itself after a kill: a half-written index, a left-over lock, a half-made folder", async t => {
    const repo = await testRepository(t);
    const snapshots = new Snapshots(repo.data);
    const { repository, tree } = await taken(snapshots, repo.root);
    const folder = snapshots.folderOf(repository);
    const index = await readFile(join(folder, "portal-index"));
    await writeFile(join(folder, "portal-index"), index.subarray(0, index.length / 2));
    await writeFile(join(folder, "portal-index.lock"), "");
    assert.equal((await taken(new Snapshots(repo.data), repo.root)).tree, tree);
    await rm(join(folder, "HEAD"));
    await mkdir(`${folder}.draft`, { recursive: true });
    assert.equal((await taken(new Snapshots(repo.data), repo.root)).tree, tree);
    assert.deepEqual(readdirSync(repo.data), [repository]);
  });

  test("taken many times at once in one folder is always whole", async t => {
    const repo = await testRepository(t);
    const snapshots = new Snapshots(repo.data);
    await repo.write("new.txt", "x\n");
    const all = await Promise.all(Array.from({ length: 8 }, () => taken(snapshots, repo.root)));
    assert.equal(new Set(all.map(({ tree }) => tree)).size, 1);
  });
});

interface Shape {
  what: string;
  /** Returns the folder to work in. */
  prepare(repo: TestRepository, t: TestContext): Promise<string>;
}

/** Two branches that changed the same line. */
async function withConflictingSide(repo: TestRepository): Promise<void> {
  repo.git("checkout", "-qb", "side");
  await repo.write("b/c.txt", "side\n");
  repo.git("commit", "-qam", "side");
  repo.git("checkout", "-q", "main");
  await repo.write("b/c.txt", "main\n");
  repo.git("commit", "-qam", "main");
}

const shapes: readonly Shape[] = [
  {
    what: "a linked worktree, whose .git is a file",
    async prepare(repo) {
      const linked = join(repo.outside, "linked");
      repo.git("worktree", "add", "-q", linked);
      return linked;
    },
  },
  {
    what: "a repository whose .git is a file that names another folder",
    async prepare(repo) {
      await rename(join(repo.root, ".git"), join(repo.outside, "elsewhere"));
      await writeFile(join(repo.root, ".git"), `gitdir: ${join(repo.outside, "elsewhere")}\n`);
      return repo.root;
    },
  },
  {
    what: "a repository with core.autocrlf",
    async prepare(repo) {
      repo.git("config", "core.autocrlf", "true");
      await repo.write("a.txt", "one\r\ntwo\r\nthree\r\n");
      repo.git("add", "a.txt");
      return repo.root;
    },
  },
  {
    what: "a repository of another user",
    async prepare(repo) {
      for (const path of [repo.root, join(repo.root, ".git")]) lchownSync(path, 65534, 65534);
      return repo.root;
    },
  },
  {
    what: "a repository with a split index",
    async prepare(repo) {
      repo.git("update-index", "--split-index");
      return repo.root;
    },
  },
  {
    what: "a repository with sha256 objects",
    async prepare(repo) {
      await rm(join(repo.root, ".git"), { recursive: true });
      repo.git("init", "-q", "--object-format=sha256");
      repo.git("add", "-A");
      repo.git("commit", "-qm", "first");
      return repo.root;
    },
  },
  {
    what: "a repository in the middle of a merge",
    async prepare(repo) {
      await withConflictingSide(repo);
      assert.throws(() => repo.git("merge", "side"));
      assert.match(repo.git("status", "--porcelain"), /^UU b\/c\.txt$/m);
      return repo.root;
    },
  },
  {
    what: "a repository in the middle of a rebase",
    async prepare(repo) {
      await withConflictingSide(repo);
      assert.throws(() => repo.git("rebase", "side"));
      return repo.root;
    },
  },
];

describe("A snapshot works in every kind of repository", () => {
  for (const { what, prepare } of shapes) {
    test(`${what} shows exactly what changed`, async t => {
      const repo = await testRepository(t);
      const folder = await prepare(repo, t);
      const ending = what.includes("autocrlf") ? "\r\n" : "\n";
      const change = await changeOf(
        repo,
        () => writeFile(join(folder, "a.txt"), ["one", "2", "three", ""].join(ending)),
        folder,
      );
      assert.deepEqual(change.files, [{ path: "a.txt", kind: "changed", added: 1, deleted: 1 }]);
    });
  }

  test("a repository without a commit shows exactly what changed", async t => {
    const repo = await testRepository(t, false);
    await repo.write("a.txt", "one\n");
    const change = await changeOf(repo, () => repo.write("a.txt", "one\ntwo\n"));
    assert.deepEqual(change.files, [{ path: "a.txt", kind: "changed", added: 1, deleted: 0 }]);
  });
});
