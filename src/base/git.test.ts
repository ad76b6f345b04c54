import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, chmod, mkdir, mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { quietGit, workTreeRoot } from "./git.js";

interface Repository {
  root: string;
  canary: string;
  /** Runs plain git, as a user types it. */
  git(...args: string[]): void;
}

/** A repository with one file that has changed since its commit, and a program that leaves a trace. */
async function repository(t: TestContext): Promise<Repository> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portal-git-")));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const root = join(folder, "repo");
  const git = (...args: string[]) =>
    void execFileSync("git", ["-C", root, "-c", "user.name=x", "-c", "user.email=x@x", ...args], {
      stdio: ["ignore", "ignore", "ignore"],
    });
  await mkdir(root);
  git("init", "-q");
  await writeFile(join(root, "a.txt"), "one\n");
  git("add", "a.txt");
  git("commit", "-qm", "one");
  const program = join(folder, "program.sh");
  await writeFile(program, `#!/bin/sh\ntouch '${join(folder, "ran")}'\ncat\n`);
  await chmod(program, 0o755);
  return { root, canary: join(folder, "ran"), git };
}

/** Keeps the size, so that git has to read the file. */
async function change({ root }: Repository): Promise<void> {
  await writeFile(join(root, "a.txt"), "two\n");
  await utimes(join(root, "a.txt"), 1, 1);
}

const status = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty"];

interface Hostile {
  what: string;
  why: string;
  prepare(repository: Repository, program: string): Promise<void>;
}

const hostile: readonly Hostile[] = [
  {
    what: "core.fsmonitor",
    why: "git status asks it which files have changed",
    prepare: async ({ git }, program) => git("config", "core.fsmonitor", program),
  },
  {
    what: "a clean filter",
    why: "git status passes a changed file through it",
    async prepare(repository, program) {
      repository.git("config", "filter.a.b=c.clean", program);
      await writeFile(join(repository.root, ".git", "info", "attributes"), "*.txt filter=a.b=c\n");
      await change(repository);
    },
  },
  {
    what: "a clean filter with an empty name",
    why: "an attribute with an empty value chooses it",
    async prepare(repository, program) {
      await appendFile(join(repository.root, ".git", "config"), `[filter ""]\n\tclean = ${program}\n`);
      await writeFile(join(repository.root, ".git", "info", "attributes"), "*.txt filter=\n");
      await change(repository);
    },
  },
  {
    what: "a filter process that is required",
    why: "git status starts it once for all files",
    async prepare(repository, program) {
      repository.git("config", "filter.evil.process", program);
      repository.git("config", "filter.evil.required", "true");
      await writeFile(join(repository.root, ".git", "info", "attributes"), "*.txt filter=evil\n");
      await change(repository);
    },
  },
  {
    what: "a hook in a folder of its choice",
    why: "git status writes the index and calls post-index-change",
    async prepare(repository, program) {
      const hooks = join(repository.root, "hooks");
      await mkdir(hooks);
      await writeFile(join(hooks, "post-index-change"), `#!/bin/sh\nexec '${program}' </dev/null\n`, {
        mode: 0o755,
      });
      repository.git("config", "core.hooksPath", hooks);
      await utimes(join(repository.root, "a.txt"), 1, 1);
    },
  },
];

describe("git in a folder that anyone may have created", () => {
  for (const { what, why, prepare } of hostile) {
    test(`the portal's git does not run ${what}: ${why}`, async t => {
      const repo = await repository(t);
      const program = join(repo.root, "..", "program.sh");
      await prepare(repo, program);
      await quietGit(repo.root, status);
      assert.ok(!existsSync(repo.canary), "the program ran");
      try {
        repo.git(...status);
      } catch {
        // Some of the programs break git; what counts is that they ran.
      }
      assert.ok(existsSync(repo.canary), "plain git does not run it either, so this row proves nothing");
    });
  }

  test("the portal's git still shows what has changed", async t => {
    const repo = await repository(t);
    await change(repo);
    await writeFile(join(repo.root, "new.txt"), "");
    assert.equal(await quietGit(repo.root, status), " M a.txt\n?? new.txt\n");
  });

  test("the portal's git finds the root of a work tree, and nothing outside git", async t => {
    const { root } = await repository(t);
    await mkdir(join(root, "deep", "er"), { recursive: true });
    assert.equal(await workTreeRoot(join(root, "deep", "er")), root);
    assert.equal(await workTreeRoot(join(root, "..")), undefined);
    assert.equal(await workTreeRoot(join(root, "missing")), undefined);
  });
});
