import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { quietGit, workTreeRoot } from "../../base/git.js";

const statusArguments = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];

async function describe(root: string, name: string): Promise<string> {
  try {
    const { size, mtimeMs } = await lstat(join(root, name));
    return `${name}:${size}:${mtimeMs}`;
  } catch {
    return `${name}:gone`;
  }
}

/** Changes with every change in a git work tree; undefined when git cannot say, "" outside git. */
export async function workspaceFingerprint(repoRoot: string): Promise<string | undefined> {
  const top = await workTreeRoot(repoRoot);
  if (top === undefined) return "";
  try {
    const head = await quietGit(repoRoot, ["rev-parse", "--verify", "--quiet", "HEAD"]).catch(() => "none");
    // Reading submodules would start a git process for each, with unchecked settings.
    const status = await quietGit(repoRoot, statusArguments);
    // The old name of a renamed file is a separate entry: "R  new\0old\0" gives two names.
    const names = status
      .split("\0")
      .filter(Boolean)
      .map(entry => entry.replace(/^[ MTADRCU?!]{2} /, ""));
    const files = await Promise.all(names.map(name => describe(top, name)));
    return createHash("sha256")
      .update(JSON.stringify([head, status, files]))
      .digest("hex");
  } catch {
    return undefined;
  }
}
