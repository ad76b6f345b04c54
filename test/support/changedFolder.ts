import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { ChangeRecord } from "../../src/changes/changeRecords.js";
import type { Changes } from "../../src/changes/changes.js";
import { tempFolder } from "./cleanup.js";

/** A user's repository in which a session works. */
export interface ChangedFolder {
  root: string;
  git(...args: string[]): string;
  write(path: string, content: string): Promise<void>;
  /** One turn of the session: what `work` does in the folder. */
  turn(work: () => Promise<unknown>): Promise<ChangeRecord>;
}

let sessions = 0;

export async function changedFolder(t: TestContext, changes: Changes): Promise<ChangedFolder> {
  const root = await tempFolder(t, "repo");
  const owner = `session ${++sessions}`;
  let turns = 0;
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const write = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  git("init", "-q", "-b", "main");
  git("config", "user.name", "The User");
  git("config", "user.email", "user@example.com");
  await write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  await write("b.txt", "b\n");
  git("add", "-A");
  git("commit", "-qm", "first");
  return {
    root,
    git,
    write,
    async turn(work) {
      const number = ++turns;
      const begun = changes.begin({ kind: "turn", owner, number, folder: root, name: owner });
      await changes.settled(owner);
      await work();
      await begun.end();
      const record = await changes.records.find("turn", owner, number);
      if (!record) throw new Error("the turn was not recorded");
      return record;
    },
  };
}
