import type { Approvals, Asker, PermissionPolicy } from "../../permissions/approvals.js";
import type { AgentPermissionHandler } from "./sessionInvoker.js";

export interface AskUserParts {
  approvals: Approvals;
  permissions: PermissionPolicy;
  repoRoot: string;
}

/** Under `allow-all` nobody is asked, and AGENT_PERMISSIONS decides. */
export function askUser({ approvals, permissions, repoRoot }: AskUserParts): AgentPermissionHandler {
  return ({ agent, run, sessionId, signal, policy = permissions }) => {
    if (policy === "allow-all") return undefined;
    const asker: Asker = {
      id: run?.id ?? sessionId,
      source: "run",
      permissions: policy,
      record: { title: agent.name, workingDirectory: repoRoot },
      push: async (response, item) => run?.push(response, item),
    };
    signal.addEventListener("abort", () => approvals.sessionEnded(asker), { once: true });
    const { permission, waitsForUser, turnEnded } = approvals.of(asker);
    return {
      permission: async (action, offer) =>
        signal.aborted ? { allowed: false, by: "turn" } : permission(action, offer),
      waitsForUser,
      turnEnded,
    };
  };
}
