import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { isolation, systemMounts } from "./systemView.js";

export interface SandboxAvailability {
  available: boolean;
  /** One line for people: what is missing. */
  why?: string;
}

const probeTimeoutMs = 5000;

let probing: Promise<{ program: string } | { why: string }> | undefined;

/** Whether agents can run in a sandbox here. It is tried once, for real. */
export async function sandboxAvailability(): Promise<SandboxAvailability> {
  const found = await probe();
  return "why" in found ? { available: false, why: found.why } : { available: true };
}

/** The path of a bwrap that works. */
export function probe(): Promise<{ program: string } | { why: string }> {
  probing ??= findBwrap(process.env.PATH ?? "").then(program =>
    program === undefined ? { why: missing() } : tryOut(program),
  );
  return probing;
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

export async function tryOut(program: string): Promise<{ program: string } | { why: string }> {
  const args = [...isolation, ...(await systemMounts()), "--", "true"];
  try {
    await promisify(execFile)(program, args, { timeout: probeTimeoutMs });
    return { program };
  } catch (error) {
    const { stderr = "", code } = error as { stderr?: string; code?: string | number };
    const line = stderr.trim().split("\n", 1)[0] || `it ended with ${code}`;
    return {
      why: `bwrap is installed and does not work here (${line.slice(0, 200)}). The system, or the container around the portal, may forbid user namespaces.`,
    };
  }
}
