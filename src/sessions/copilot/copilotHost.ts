import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelCatalog } from "../../backends/catalog.js";
import type { RuntimePool } from "../../backends/runtime.js";
import { isInside } from "../../base/inside.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { startSession } from "../../copilotSession.js";
import type { Approvals } from "../../permissions/approvals.js";
import type { Sandboxes } from "../../sandbox/sandboxes.js";
import type { OpenSession, SessionHost } from "../sessionHost.js";

export interface CopilotHostParts {
  catalog: ModelCatalog;
  runtimes: RuntimePool;
  sandboxes: Pick<Sandboxes, "homeOf">;
  approvals: Approvals;
  /** What no error may quote. */
  secrets: readonly string[];
  /** Where the runtime puts tool output that is too long for the conversation. */
  toolOutputDirectory: string;
  log: Log;
}

/** Sessions on the Copilot runtime, which keeps their conversations on disk. */
export function copilotHost(parts: CopilotHostParts): SessionHost {
  const { catalog, runtimes, sandboxes, approvals, secrets, toolOutputDirectory, log } = parts;

  async function open(request: OpenSession) {
    const { sessionId, modelId, workingDirectory, callbacks, asker, owner, startup } = request;
    const target = (await catalog.find(modelId))?.target;
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
        ...(!sandbox && { toolOutputDirectory }),
        log,
        secrets,
        onPermission: action => approvals.permission(asker, action),
        // A task's agent has nobody to ask: it would wait in vain.
        ...(owner === null && { onQuestion: question => approvals.question(asker, question) }),
        waitsForUser: () => approvals.waits(sessionId),
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
      if (asker.record.title !== "")
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
      if (sandbox) await deleteKept(sandboxes.homeOf(workingDirectory).copilot.folder, sessionId);
    },
  };
}

/** The agents write here, so a link may stand in the way. */
async function deleteKept(copilotHome: string, sessionId: string): Promise<void> {
  const kept = join(copilotHome, "session-state", sessionId);
  if (await isInside(copilotHome, kept)) await rm(kept, { recursive: true, force: true });
}
