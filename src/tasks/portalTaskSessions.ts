import type { PortalSession } from "../sessions/portalSession.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import { checkWorkingDirectory } from "../sessions/workingDirectory.js";
import { roundIn, roundPrompt } from "./taskRound.js";
import type { TaskSession, TaskSessions } from "./taskSessions.js";

/** Tasks run in the same sessions as people do: they can be watched, and talked to when they have ended. */
export function portalTaskSessions(registry: SessionRegistry): TaskSessions {
  return {
    async open(sessionId, modelId, workingDirectory) {
      await checkWorkingDirectory(workingDirectory);
      const isKnown = (await registry.find(sessionId)) !== undefined;
      return taskSession(
        isKnown
          ? await registry.reopen(sessionId)
          : await registry.start(modelId, workingDirectory, sessionId),
      );
    },
    find(sessionId) {
      const session = registry.get(sessionId);
      return session && taskSession(session);
    },
    async close(sessionId) {
      const session = registry.get(sessionId);
      if (session) await registry.stop(session);
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
    round: round => roundIn(log.responses(), round),
  };
}
