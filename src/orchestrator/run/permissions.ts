import { isInside } from "../../base/inside.js";
import type { Action } from "../../permissions/action.js";
import type { SessionPermissions } from "../../permissions/approvals.js";
import { decisionOf } from "../../permissions/settlement.js";
import { type Grant, grantsOf } from "../agents/agentTools.js";
import type { PermissionMode } from "../orchestratorConfig.js";

export interface PermissionRules {
  mode: PermissionMode;
  /** A real path. */
  repoRoot: string;
  /** What the agent's file lists, written out; all tools without. */
  tools: readonly string[] | undefined;
}

/** Undefined where it is allowed, else why it is not. */
type Refusal = string | undefined;

/** Whether all that an action is about is certain, and inside the repository. */
async function staysInside({ paths = [], unclear, outside }: Action, repoRoot: string): Promise<boolean> {
  if (unclear !== undefined || outside) return false;
  return (await Promise.all(paths.map(path => path !== "" && isInside(repoRoot, path)))).every(Boolean);
}

const grantOfKind: Readonly<Partial<Record<Action["kind"], Grant>>> = {
  edit: "write",
  delete: "write",
  move: "write",
  execute: "shell",
  fetch: "url",
};

/** A tool of an MCP server: named as the agent's file names it, and of no other kind. */
function isListedTool({ tool, unclear, outside }: Action, tools: readonly string[] | undefined): boolean {
  if (tool === undefined || unclear !== undefined || outside) return false;
  return grantsOf(tools).has("mcp") && tools?.includes(tool.replace("/", "-")) === true;
}

/** Reading inside the repository is free; anything else needs the mode, and the agent's word where it says so. */
export async function refusalOf(
  action: Action,
  { mode, repoRoot, tools }: PermissionRules,
): Promise<Refusal> {
  const { kind, paths = [] } = action;
  if (mode === "all") return undefined;
  if (kind === "read" || kind === "search") {
    const isNamed = paths.length > 0 || kind === "search";
    return isNamed && (await staysInside(action, repoRoot))
      ? undefined
      : "Only files of the repository may be read.";
  }
  if (mode === "read-only") return "Agents may only read here.";
  const grant = grantOfKind[kind];
  if (grant === undefined)
    return isListedTool(action, tools) ? undefined : "The agent's file does not list this tool.";
  if (!grantsOf(tools).has(grant)) return `The agent's file does not list a tool that needs ${grant}.`;
  if (grant !== "write") return undefined;
  return paths.length > 0 && (await staysInside(action, repoRoot))
    ? undefined
    : "Only files of the repository may be changed.";
}

/** AGENT_PERMISSIONS decides, and nobody is asked. */
export function ruledPermissions(rules: PermissionRules): SessionPermissions {
  return {
    async permission(action, offer) {
      const reason = await refusalOf(action, rules);
      const effect = reason === undefined ? "allow" : "reject";
      return decisionOf({ by: "policy", effect, reason }, offer?.options);
    },
    waitsForUser: () => false,
    turnEnded: () => {},
  };
}
