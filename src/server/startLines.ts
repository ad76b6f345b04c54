import type { PermissionPolicy } from "../permissions/approvals.js";

export interface Started {
  url: string;
  permissions: PermissionPolicy;
  sandbox: boolean;
}

const policies: Readonly<Record<PermissionPolicy, string>> = {
  "allow-all": "everything is allowed",
  ask: "agents ask first",
  deny: "nothing is allowed",
};

/** What a person at the terminal should know: where the portal is, what agents may do, and how to stop it. */
export function startLines({ url, permissions, sandbox }: Started): string[] {
  const where = sandbox ? ", in a sandbox" : "";
  return [
    `Copilot Portal is at ${url}`,
    `Permissions: ${policies[permissions]}${where} (--permissions ${permissions}), unless a session says otherwise`,
    "Stop it with Ctrl+C",
  ];
}
