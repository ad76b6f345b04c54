import type { ToolKind } from "@agentclientprotocol/sdk";

/** The kinds of tools that the protocol knows. */
export const toolKinds: readonly string[] = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
] satisfies ToolKind[];
