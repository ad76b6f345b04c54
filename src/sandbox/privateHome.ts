import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { lstat, mkdir, writeFile } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { promisify } from "node:util";
import { isInside } from "../base/inside.js";
import { foldersBetween } from "./readOnlyPaths.js";

/** Where the agents of one working directory keep their data, instead of the user's home. */
export interface PrivateHome {
  /** Its path on disk. */
  readonly folder: string;
  /** The home folder's path inside: the same as outside, because the settings of programs name it. */
  readonly home: string;
  /** Where the Copilot runtime keeps its conversations, on disk and inside. */
  readonly copilot: { folder: string; inside: string };
}

type Env = Readonly<Record<string, string | undefined>>;

export function homeIn(env: Env): string {
  const { HOME: home = "" } = env;
  return isAbsolute(home) && home !== "/" ? home : "/home/agent";
}

export function privateHome(dataDir: string, workingDirectory: string, env: Env): PrivateHome {
  const name = createHash("sha256").update(workingDirectory).digest("hex").slice(0, 32);
  const folder = join(dataDir, "sandbox", name, "home");
  const home = homeIn(env);
  const { COPILOT_HOME: own = "" } = env;
  const copilot = isAbsolute(own)
    ? { folder: join(dataDir, "sandbox", name, "copilot"), inside: own }
    : { folder: join(folder, ".copilot"), inside: join(home, ".copilot") };
  return { folder, home, copilot };
}

/** Creates it with the user's name for commits, and nothing else from the user's settings, which may hold secrets. */
export async function makePrivateHome({ folder, copilot }: PrivateHome): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await mkdir(copilot.folder, { recursive: true, mode: 0o700 });
  const [name, email] = await Promise.all([gitSetting("user.name"), gitSetting("user.email")]);
  const lines = [name && `\tname = ${quoted(name)}`, email && `\temail = ${quoted(email)}`].filter(Boolean);
  if (lines.length === 0) return;
  // Never overwrites a file or follows a link: agents write here.
  await writeFile(join(folder, ".gitconfig"), `[user]\n${lines.join("\n")}\n`, { flag: "wx" }).catch(
    () => undefined,
  );
}

/**
 * The folders above a mount inside the home, each bound to itself, so that agents cannot replace one with a link: the
 * next sandbox would follow it.
 */
export async function pinsInHome(
  { folder, home, copilot }: PrivateHome,
  mounts: readonly string[],
): Promise<string[]> {
  const inside = [];
  for (const path of [copilot.inside, ...mounts]) if (await isInside(home, path)) inside.push(path);
  const pins = [...new Set(inside.flatMap(path => foldersBetween(home, path)))].sort();
  const args: string[] = [];
  for (const pin of pins) {
    const own = join(folder, relative(home, pin));
    await mkdir(own, { mode: 0o700 }).catch(() => undefined);
    const found = await lstat(own);
    if (!found.isDirectory())
      throw new Error(`${own} is in the way of a folder that the sandbox needs; delete it`);
    args.push("--bind", own, pin);
  }
  return args;
}

async function gitSetting(name: string): Promise<string> {
  const asked = promisify(execFile)("git", ["config", "--global", "--get", name], {
    timeout: 3000,
    cwd: "/",
  });
  return asked.then(({ stdout }) => stdout.trim()).catch(() => "");
}

function quoted(value: string): string {
  return `"${value.replaceAll(/[\\"]/g, "\\$&").replaceAll("\n", " ")}"`;
}
