import type { PortalSession } from "../sessions/portalSession.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import { checkWorkingDirectory } from "../sessions/workingDirectory.js";
import { roundIn, roundPrompt } from "./taskRound.js";
import type { TaskSession, TaskSessions } from "./taskSessions.js";

/** Tasks run in the same sessions as people do: they can be watched, and talked to when they have ended. */
export function portalTaskSessions(registry: SessionRegistry): TaskSessions {
  return {
    async open(owned, modelId, workingDirectory) {
      await checkWorkingDirectory(workingDirectory);
      const isKnown = (await registry.find(owned.id)) !== undefined;
      return taskSession(
        isKnown ? await registry.reopen(owned.id) : await registry.start(modelId, workingDirectory, owned),
      );
    },
    async find(sessionId) {
      const session = await registry.wake(sessionId);
      return session && taskSession(session);
    },
    async close(sessionId) {
      const session = await registry.wake(sessionId);
      if (session) await registry.stop(session);
    },
    async delete(sessionId) {
      if (await registry.find(sessionId)) await registry.delete(sessionId);
    },
  };
}

function taskSession(session: PortalSession): TaskSession {
  const { record, log } = session;
  return {
    id: record.id,
    modelId: record.modelId,
    async send(round, prompt) {
      await session.push(roundPrompt(round, prompt));
      await session.sendRequest(prompt);
    },
    round: round => roundIn(log.responses(), round, record.backend === "acp" ? "arrivals" : "blocks"),
  };
}
