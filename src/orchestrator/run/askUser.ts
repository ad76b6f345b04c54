import type { Approvals, Asker, PermissionPolicy } from "../../permissions/approvals.js";
import { permissionHandler } from "../../sessions/copilot/permissionHandlers.js";
import type { AgentAsking, AgentPermissionHandler } from "./copilotInvoker.js";

export interface AskUserParts {
  approvals: Approvals;
  permissions: PermissionPolicy;
  repoRoot: string;
}

/** Under `allow-all` there is none: then AGENT_PERMISSIONS decides. */
export function askUser({
  approvals,
  permissions,
  repoRoot,
}: AskUserParts): AgentPermissionHandler | undefined {
  if (permissions === "allow-all") return undefined;
  const askers = new WeakMap<AbortSignal, Asker>();

  function askerOf({ agent, run, sessionId, signal }: AgentAsking): Asker {
    const known = askers.get(signal);
    if (known) return known;
    const id = run?.id ?? sessionId;
    const asker: Asker = {
      id,
      source: "run",
      permissions,
      record: { title: agent.name, workingDirectory: repoRoot },
      push: async response => run?.push(response),
    };
    askers.set(signal, asker);
    signal.addEventListener("abort", () => approvals.sessionEnded(id), { once: true });
    return asker;
  }

  return (request, asking) => {
    if (asking.signal.aborted) return { kind: "reject" };
    return permissionHandler(action => approvals.permission(askerOf(asking), action))(request, asking);
  };
}
