import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** A repository of a user, and the portal's folder for its snapshots. */
export interface TestRepository {
  /** Contains the repository and nothing else of the user. */
  outside: string;
  root: string;
  /** The folder for `Snapshots`. */
  data: string;
  git(...args: string[]): string;
  write(path: string, content: string | Buffer): Promise<void>;
}

export async function testRepository(t: TestContext, commit = true): Promise<TestRepository> {
  const outside = await realpath(await mkdtemp(join(tmpdir(), "portal-changes-")));
  t.after(() => rm(outside, { recursive: true, force: true }));
  const root = join(outside, "repo");
  await mkdir(root);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, "-c", "user.name=x", "-c", "user.email=x@x", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  const write = async (path: string, content: string | Buffer) => {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  };
  git("init", "-q", "-b", "main");
  if (commit) {
    await write("a.txt", "one\ntwo\nthree\n");
    await write("b/c.txt", "c\n");
    await write(".gitignore", "ignored/\n");
    git("add", "-A");
    git("commit", "-qm", "first");
  }
  return { outside, root, data: join(outside, "data"), git, write };
}
