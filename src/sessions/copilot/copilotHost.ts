import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelCatalog } from "../../backends/catalog.js";
import type { Runtime } from "../../backends/runtime.js";
import { isInside } from "../../base/inside.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { startSession } from "../../copilotSession.js";
import type { Sandboxes } from "../../sandbox/sandboxes.js";
import type { OpenSession, SessionHost } from "../sessionHost.js";

/** Where the Copilot runtimes come from, each in the sandbox of a folder or in none. */
export interface RuntimeSource {
  use(sandboxed?: string): Promise<Pick<Runtime, "client" | "attach">>;
  /** Starts none. */
  running(sandboxed: string): Promise<Pick<Runtime, "client"> | undefined>;
}

export interface CopilotHostParts {
  catalog: Pick<ModelCatalog, "find">;
  runtimes: RuntimeSource;
  /** Absent where no session is ever in one. */
  sandboxes?: Pick<Sandboxes, "homeOf">;
  /** What no error may quote. */
  secrets: readonly string[];
  /** Where the runtime puts tool output that is too long for the conversation. */
  toolOutputDirectory?: string;
  log: Log;
}

/** Whoever has an agent play a role limits its time, more tightly than silence would. */
const roleQuietMs = 24 * 3_600_000;

/** Sessions on the Copilot runtime, which keeps their conversations on disk. */
export function copilotHost(parts: CopilotHostParts): SessionHost {
  const { catalog, runtimes, sandboxes, secrets, toolOutputDirectory, log } = parts;

  async function open(request: OpenSession) {
    const { sessionId, modelId, workingDirectory, callbacks, permissions, owner, role, startup } = request;
    const { question } = permissions;
    const target = request.target ?? (await catalog.find(modelId))?.target;
    if (!target)
      throw PortalError.unavailable("ModelNotAvailable", `The model ${modelId} is not available now.`);
    const { sandbox = false } = request.settings;
    const runtime = await runtimes.use(sandbox ? workingDirectory : undefined);
    const start = async (resume: boolean) => {
      const agent = await startSession(runtime.client, modelId, callbacks, workingDirectory, {
        ...target,
        sessionId,
        resume,
        ...(startup && { startup }),
        // In a sandbox the runtime's own choice, /tmp, is gone with it; the portal's folder is hidden there.
        ...(!sandbox && toolOutputDirectory !== undefined && { toolOutputDirectory }),
        ...(role && { role, noProgressTimeoutMs: roleQuietMs }),
        log,
        secrets,
        onPermission: action => permissions.permission(action),
        // A task's agent has nobody to ask: it would wait in vain.
        ...(owner === null && question && { onQuestion: question }),
        waitsForUser: () => permissions.waitsForUser(),
      });
      runtime.attach(agent);
      return agent;
    };
    if (request.conversation === "new") return start(false);
    try {
      return await start(true);
    } catch (error) {
      // The runtime keeps a conversation from its first request on; before that, and when its files are gone, it has none.
      if (!/session not found|session file not found/i.test(String(error))) throw error;
      if (request.wasUsed())
        callbacks.onNotice?.(
          "warning",
          "The agent's memory of this conversation is gone. It goes on without it.",
        );
      return start(false);
    }
  }

  return {
    open,
    async delete({ id: sessionId, settings, workingDirectory }) {
      const { sandbox = false } = settings;
      // None is started in a sandbox, whose folder may be gone.
      const runtime = await (sandbox ? runtimes.running(workingDirectory) : runtimes.use());
      // The runtime has nothing of a session that was never asked anything.
      await runtime?.client
        .deleteSession(sessionId)
        .catch(error => log.debug({ sessionId, err: error }, "nothing to delete"));
      if (sandbox && sandboxes)
        await deleteKept(sandboxes.homeOf(workingDirectory).copilot.folder, sessionId);
    },
  };
}

/** The agents write here, so a link may stand in the way. */
async function deleteKept(copilotHome: string, sessionId: string): Promise<void> {
  const kept = join(copilotHome, "session-state", sessionId);
  if (await isInside(copilotHome, kept)) await rm(kept, { recursive: true, force: true });
}
