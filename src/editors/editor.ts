import type { AgentContext, ClientCapabilities, SessionUpdate } from "@agentclientprotocol/sdk";

/** The part of the connection that a session needs. */
export interface Editor {
  readonly context: AgentContext;
  readonly capabilities: ClientCapabilities;
}

/** Resolves when it is written; an editor that is gone needs no updates. */
export async function sendUpdates(
  { context }: Editor,
  sessionId: string,
  updates: readonly SessionUpdate[],
): Promise<void> {
  for (const update of updates)
    await context.notify("session/update", { sessionId, update }).catch(() => undefined);
}
