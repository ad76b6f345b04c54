import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isInside } from "../base/inside.js";
import type { Log } from "../base/log.js";

/** The folders that every node sees under the same path: what works inside one can move to another node. */
export class SharedFolders {
  readonly folders: readonly string[];
  /** One sentence for each that cannot be used. */
  readonly problems: readonly string[];

  private constructor(folders: readonly string[], problems: readonly string[]) {
    this.folders = folders;
    this.problems = problems;
  }

  /** Leaves out what cannot be written and read: a folder that is not mounted looks like an empty one. */
  static async open(folders: readonly string[], log: Pick<Log, "error">): Promise<SharedFolders> {
    const usable: string[] = [];
    const problems: string[] = [];
    for (const folder of folders) {
      const problem = await problemWith(folder);
      if (problem === undefined) usable.push(folder);
      else {
        log.error({ folder, reason: problem }, "a shared folder cannot be used: nothing moves to this node");
        problems.push(`It cannot use the shared folder ${folder}: ${problem}.`);
      }
    }
    return new SharedFolders(usable, problems);
  }

  /** A link that leads out of a shared folder is not shared. */
  readonly has = async (folder: string): Promise<boolean> => {
    for (const shared of this.folders) if (await isInside(shared, folder)) return true;
    return false;
  };
}

/** Why a folder cannot be used; undefined when a file can be written to it and read from it. */
async function problemWith(folder: string): Promise<string | undefined> {
  const content = randomUUID();
  const file = join(folder, `.portal-probe-${content}`);
  try {
    await writeFile(file, content, { flag: "wx", mode: 0o600 });
    const found = await readFile(file, "utf8");
    return found === content ? undefined : "a file that was written to it has another content";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
}
