import { StartError } from "../../base/startError.js";

/** How many portals there are above this program: each one that starts an ACP agent adds one. */
export const depthVariable = "COPILOT_PORTAL_ACP_DEPTH";
const maxDepth = 2;

export function nestingDepth(env: NodeJS.ProcessEnv): number {
  const depth = Number(env[depthVariable] ?? 0);
  return Number.isInteger(depth) && depth > 0 ? depth : 0;
}

/** The environment of a program that may in turn start this one. */
export function oneDeeper(env: NodeJS.ProcessEnv): Record<string, string> {
  return { [depthVariable]: String(nestingDepth(env) + 1) };
}

export function checkNesting(env: NodeJS.ProcessEnv): void {
  if (nestingDepth(env) < maxDepth) return;
  throw new StartError("This portal is the agent of a portal that is itself an agent: it goes no deeper.");
}

/** A portal that is its own agent would ask itself for ever: one that was started by a portal uses no agents. */
export function mayUseAgents(env: NodeJS.ProcessEnv): boolean {
  return nestingDepth(env) === 0;
}
