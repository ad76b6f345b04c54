import { isInside } from "../../base/inside.js";
import type { Grant } from "../agents/agentTools.js";
import type { PermissionMode } from "../orchestratorConfig.js";

/** What the runtime asks, as far as we look at it. */
export interface PermissionQuestion {
  kind: string;
  path?: unknown;
  fileName?: unknown;
}

export interface PermissionRules {
  mode: PermissionMode;
  /** A real path. */
  repoRoot: string;
  grants: ReadonlySet<Grant>;
}

export type Decision = { allowed: true } | { allowed: false; reason: string };

const yes: Decision = { allowed: true };
const no = (reason: string): Decision => ({ allowed: false, reason });

function isInRepository(repoRoot: string, path: unknown): Promise<boolean> {
  return typeof path === "string" && path !== "" ? isInside(repoRoot, path) : Promise.resolve(false);
}

const grantKinds: readonly string[] = ["write", "shell", "url", "mcp"] satisfies Grant[];

/** Reading inside the repository is free; anything else needs the mode, and the agent's word where it says so. */
export async function decide(
  question: PermissionQuestion,
  { mode, repoRoot, grants }: PermissionRules,
): Promise<Decision> {
  const { kind } = question;
  if (mode === "all") return yes;
  if (kind === "read")
    return (await isInRepository(repoRoot, question.path))
      ? yes
      : no("Only files of the repository may be read.");
  if (mode === "read-only") return no("Agents may only read here.");
  if (!grantKinds.includes(kind) || !grants.has(kind as Grant))
    return no(`The agent's file does not list a tool that needs ${kind}.`);
  if (kind !== "write") return yes;
  return (await isInRepository(repoRoot, question.fileName))
    ? yes
    : no("Only files of the repository may be changed.");
}
