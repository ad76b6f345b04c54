import { join } from "node:path";
import {
  approveAll,
  CopilotClient,
  type CopilotSession,
  type SessionConfig,
  type SessionEvent,
} from "@github/copilot-sdk";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import type { ScriptedModel } from "../model/scriptedModel.js";

/** A separate Copilot runtime with an empty home folder, without the portal. */
export async function startRuntime(t: Scope, env: NodeJS.ProcessEnv = {}): Promise<CopilotClient> {
  const home = await tempFolder(t, "copilot-home");
  const client = new CopilotClient({ env: { ...process.env, COPILOT_HOME: join(home, "copilot"), ...env } });
  // stop() can wait forever for a runtime that hangs, so the end of the test does not depend on it.
  defer(t, () => client.forceStop());
  return client;
}

export async function startBareSession(
  client: CopilotClient,
  model: Pick<ScriptedModel, "baseUrl" | "apiKey">,
  config: Partial<SessionConfig> & { workingDirectory: string },
): Promise<CopilotSession> {
  return client.createSession({
    model: "scripted",
    streaming: true,
    onPermissionRequest: approveAll,
    provider: { type: "openai", baseUrl: model.baseUrl, apiKey: model.apiKey },
    ...config,
  });
}

/**
 * Sends a request and collects the events until the session is idle.
 * Each event counts once: in a burst the runtime sends some of them twice, late and with the same id.
 */
export async function runTurn(session: CopilotSession, prompt: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  const seen = new Set<string>();
  const idle = new Promise<void>(resolve => {
    const unsubscribe = session.on(event => {
      if (seen.has(event.id)) return;
      seen.add(event.id);
      events.push(event);
      if (event.type !== "session.idle") return;
      unsubscribe();
      resolve();
    });
  });
  await session.send({ prompt });
  await idle;
  return events;
}

export function eventsOf<T extends SessionEvent["type"]>(
  events: readonly SessionEvent[],
  type: T,
): Extract<SessionEvent, { type: T }>[] {
  return events.filter(event => event.type === type) as Extract<SessionEvent, { type: T }>[];
}

/** The main agent's messages and the tools' results of one turn. */
export function messageOf(events: readonly SessionEvent[]): string {
  return eventsOf(events, "assistant.message")
    .filter(event => !event.agentId)
    .map(event => event.data.content)
    .join("");
}
