import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const timeoutMs = 5000;
const maxOutputBytes = 16 * 1024 * 1024;

async function describe(root: string, name: string): Promise<string> {
  try {
    const { size, mtimeMs } = await lstat(join(root, name));
    return `${name}:${size}:${mtimeMs}`;
  } catch {
    return `${name}:gone`;
  }
}

/** Changes with every change in a git work tree; undefined where that cannot be told, "" outside of git. */
export async function workspaceFingerprint(repoRoot: string): Promise<string | undefined> {
  const git = (...args: string[]) =>
    run("git", ["-C", repoRoot, "--no-optional-locks", ...args], {
      timeout: timeoutMs,
      maxBuffer: maxOutputBytes,
    });
  let top: string;
  try {
    top = (await git("rev-parse", "--show-toplevel")).stdout.trim();
  } catch {
    return "";
  }
  try {
    const head = await git("rev-parse", "--verify", "--quiet", "HEAD").catch(() => ({ stdout: "none" }));
    const status = await git("status", "--porcelain", "-z", "--untracked-files=all");
    // A renamed file has its old name as an entry of its own; "R  new\0old\0" is read as two names.
    const names = status.stdout
      .split("\0")
      .filter(Boolean)
      .map(entry => entry.replace(/^[ MTADRCU?!]{2} /, ""));
    const files = await Promise.all(names.map(name => describe(top, name)));
    return createHash("sha256")
      .update(JSON.stringify([head.stdout, status.stdout, files]))
      .digest("hex");
  } catch {
    return undefined;
  }
}
