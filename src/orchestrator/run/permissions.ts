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
  /** The expanded tools of the agent's file; undefined means all tools. */
  tools: readonly string[] | undefined;
}

/** Why an action is refused; undefined when it is allowed. */
type Refusal = string | undefined;

/** Whether everything that an action touches is known and inside the repository. */
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

/** Whether this is a tool of an MCP server that the agent's file lists. */
function isListedTool({ tool, unclear, outside }: Action, tools: readonly string[] | undefined): boolean {
  if (tool === undefined || unclear !== undefined || outside) return false;
  return grantsOf(tools).has("mcp") && tools?.includes(tool.replace("/", "-")) === true;
}

/** Reading inside the repository is allowed; anything else depends on the mode, and under `declared` on the tools. */
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

/** AGENT_PERMISSIONS decides without asking anyone. */
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
