import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelCatalog } from "../../backends/catalog.js";
import { tryItModelId } from "../../backends/demo/tryItStory.js";
import type { Runtime } from "../../backends/runtime.js";
import { isRuntimeGone, runtimeGone } from "../../backends/runtimeGone.js";
import { isInside } from "../../base/inside.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { startSession } from "../../copilotSession.js";
import type { Sandboxes } from "../../sandbox/sandboxes.js";
import { SessionCrashedError } from "../sessionCrashedError.js";
import type { Conversed, OpenSession, SessionHost } from "../sessionHost.js";
import type { AgentMemory, Conversation } from "./agentMemory.js";

/** The source of Copilot runtimes, each in a folder's sandbox or in none. */
export interface RuntimeSource {
  use(sandboxed?: string, workingDirectory?: string): Promise<Pick<Runtime, "client" | "attach" | "retire">>;
  /** Starts no runtime. */
  running(sandboxed: string): Promise<Pick<Runtime, "client"> | undefined>;
}

export interface CopilotHostParts {
  catalog: Pick<ModelCatalog, "find">;
  runtimes: RuntimeSource;
  /** Absent when no session ever runs in a sandbox. */
  sandboxes?: Pick<Sandboxes, "homeOf">;
  /** What agents remember, for other nodes; absent where there are none. */
  memory?: Pick<AgentMemory, "recall" | "keep" | "keepSoon">;
  /** Secrets that no error may quote. */
  secrets: readonly string[];
  /** Where the runtime puts tool output that is too long for the conversation. */
  toolOutputDirectory?: string;
  log: Log;
}

/** The caller of a role limits its time more tightly than the silence limit would. */
const roleQuietMs = 24 * 3_600_000;

/** Sessions on the Copilot runtime, which keeps their conversations on disk. */
export function copilotHost(parts: CopilotHostParts): SessionHost {
  const { catalog, runtimes, sandboxes, memory, secrets, toolOutputDirectory, log } = parts;

  function conversationOf({ id, owner, settings, workingDirectory }: Conversed): Conversation {
    const sandbox = settings.sandbox ? sandboxes?.homeOf(workingDirectory) : undefined;
    return { sessionId: id, owner, home: sandbox?.copilot.folder };
  }

  /** The agent knows of nothing before its first request, so an opening that its runtime did not outlive is repeated. */
  async function open(request: OpenSession) {
    try {
      return await openOnce(request);
    } catch (error) {
      if (!isRuntimeGone(error)) throw error;
    }
    try {
      return await openOnce(request);
    } catch (error) {
      throw isRuntimeGone(error) ? new SessionCrashedError("runtime-died", runtimeGone) : error;
    }
  }

  async function openOnce(request: OpenSession) {
    const { sessionId, modelId, workingDirectory, callbacks, permissions, owner, role, startup } = request;
    const { question } = permissions;
    const target = request.target ?? (await catalog.find(modelId))?.target;
    if (!target)
      throw PortalError.unavailable("ModelNotAvailable", `The model ${modelId} is not available now.`);
    const { sandbox = false } = request.settings;
    const runtime = await runtimes.use(sandbox ? workingDirectory : undefined, workingDirectory);
    const start = async (resume: boolean) => {
      const agent = await startSession(runtime.client, modelId, callbacks, workingDirectory, {
        ...target,
        sessionId,
        resume,
        ...(startup && { startup }),
        // The runtime's default, /tmp, disappears with the sandbox, and the portal's folder is hidden inside it.
        ...(!sandbox && toolOutputDirectory !== undefined && { toolOutputDirectory }),
        ...(role && { role, noProgressTimeoutMs: roleQuietMs }),
        log,
        secrets,
        onPermission: action => permissions.permission(action),
        // A task has no user to answer questions, so its agent would wait in vain.
        ...(owner === null && question && { onQuestion: question }),
        waitsForUser: () => permissions.waitsForUser(),
        broken: reason => runtime.retire(reason),
      });
      runtime.attach(agent);
      return agent;
    };
    if (request.conversation === "new") return start(false);
    if (!role) await memory?.recall(conversationOf({ ...request, id: sessionId }));
    try {
      return await start(true);
    } catch (error) {
      // The runtime has no conversation before the first request, or when its files are gone.
      if (!/session not found|session file not found/i.test(String(error))) throw error;
      if (request.wasUsed())
        callbacks.onNotice?.(
          "warning",
          "The agent's memory of this conversation is gone. It continues without it.",
        );
      return start(false);
    }
  }

  return {
    open,
    toolEnded: record => memory?.keepSoon(conversationOf(record)),
    async turnEnded(record) {
      const conversation = conversationOf(record);
      await memory?.keep(conversation);
      memory?.keepSoon(conversation);
    },
    // Its one card is what *Try it* shows; reads and edits are allowed by rules of its folder.
    policyFor: modelId => (modelId === tryItModelId ? "ask" : undefined),
    async delete({ id: sessionId, settings, workingDirectory }) {
      const { sandbox = false } = settings;
      // No sandboxed runtime is started for this, since its folder may be gone.
      const runtime = await (sandbox ? runtimes.running(workingDirectory) : runtimes.use());
      // The runtime has stored nothing for a session without requests.
      await runtime?.client
        .deleteSession(sessionId)
        .catch(error => log.debug({ sessionId, err: error }, "nothing to delete"));
      if (sandbox && sandboxes)
        await deleteKept(sandboxes.homeOf(workingDirectory).copilot.folder, sessionId);
    },
  };
}

/** Agents can write here, so they may have placed a link. */
async function deleteKept(copilotHome: string, sessionId: string): Promise<void> {
  const kept = join(copilotHome, "session-state", sessionId);
  if (await isInside(copilotHome, kept)) await rm(kept, { recursive: true, force: true });
}
