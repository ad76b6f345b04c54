import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { isolation, keeper, systemMounts } from "./systemView.js";

export interface SandboxAvailability {
  available: boolean;
  /** One line for people: what is missing. */
  why?: string;
}

const probeTimeoutMs = 5000;

/** How a sandbox starts here: a bwrap that works, and its arguments before those of the sandbox. */
export interface Bwrap {
  program: string;
  before: string[];
}

export type Probe = Bwrap | { why: string };

export function availabilityOf(probed: Probe): SandboxAvailability {
  return "why" in probed ? { available: false, why: probed.why } : { available: true };
}

/** Whether agents can run in a sandbox here. The portal tries it, for real. */
export async function probe(): Promise<Probe> {
  const program = await findBwrap(process.env.PATH ?? "");
  return program === undefined ? { why: missing() } : tryOut(program);
}

function missing(): string {
  return process.platform === "linux"
    ? "bwrap is not installed. On Debian and Ubuntu: apt-get install bubblewrap."
    : "A sandbox needs Linux with bwrap.";
}

async function findBwrap(path: string): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const file = join(folder, "bwrap");
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}

/** Some systems allow a sandbox but no sandbox inside it: one is better than none. */
async function tryOut(program: string): Promise<Probe> {
  const kept = [...keeper, program];
  if ((await failureOf(program, kept)) === undefined) return { program, before: kept };
  const line = await failureOf(program, []);
  if (line === undefined) return { program, before: [] };
  return {
    why: `bwrap is installed but does not work here (${line.slice(0, 200)}). The system, or the container around the portal, may forbid user namespaces.`,
  };
}

async function failureOf(program: string, before: readonly string[]): Promise<string | undefined> {
  const args = [...before, ...isolation, ...(await systemMounts()), "--", "true"];
  try {
    await promisify(execFile)(program, args, { timeout: probeTimeoutMs });
    return undefined;
  } catch (error) {
    const { stderr = "", code } = error as { stderr?: string; code?: string | number };
    return stderr.trim().split("\n", 1)[0] || `it ended with ${code}`;
  }
}
