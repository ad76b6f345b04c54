import { StartError } from "../../base/startError.js";

/** How many portals are above this program; each portal that starts an ACP agent adds one. */
export const depthVariable = "COPILOT_PORTAL_ACP_DEPTH";
const maxDepth = 2;

export function nestingDepth(env: NodeJS.ProcessEnv): number {
  const depth = Number(env[depthVariable] ?? 0);
  return Number.isInteger(depth) && depth > 0 ? depth : 0;
}

/** The environment for a program that may start this one again. */
export function oneDeeper(env: NodeJS.ProcessEnv): Record<string, string> {
  return { [depthVariable]: String(nestingDepth(env) + 1) };
}

export function checkNesting(env: NodeJS.ProcessEnv): void {
  if (nestingDepth(env) < maxDepth) return;
  throw new StartError("This portal is the agent of a portal that is itself an agent: it goes no deeper.");
}

/** A portal started by a portal uses no agents, since a portal that is its own agent would call itself endlessly. */
export function mayUseAgents(env: NodeJS.ProcessEnv): boolean {
  return nestingDepth(env) === 0;
}
