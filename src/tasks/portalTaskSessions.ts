import { checkWorkingDirectory } from "../base/workingDirectory.js";
import type { PortalSession } from "../sessions/portalSession.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import type { Store } from "../store/store.js";
import { roundIn, roundPrompt } from "./taskRound.js";
import type { TaskSession, TaskSessions } from "./taskSessions.js";

/**
 * Tasks use the same sessions as people: anyone can watch them, and send requests after the task has ended. While the
 * store is not available they wait; that is not a crash.
 */
export function portalTaskSessions(
  registry: SessionRegistry,
  { patiently }: Pick<Store, "patiently">,
): TaskSessions {
  async function close(sessionId: string): Promise<void> {
    const session = await patiently(() => registry.wake(sessionId));
    if (session) await registry.stop(session);
  }

  function taskSession(session: PortalSession): TaskSession {
    const { record, log } = session;
    return {
      id: record.id,
      modelId: record.modelId,
      send: (round, prompt) => session.sendRequest(prompt, undefined, id => roundPrompt(round, prompt, id)),
      round: round =>
        patiently(() => roundIn(log.responses(), round, record.backend === "acp" ? "arrivals" : "blocks")),
    };
  }

  return {
    async open(owned, modelId, workingDirectory) {
      await checkWorkingDirectory(workingDirectory);
      const session = await patiently(async () =>
        (await registry.find(owned.id))
          ? registry.reopen(owned.id)
          : registry.start({ modelId, workingDirectory, owned }),
      );
      return taskSession(session);
    },
    async find(sessionId) {
      const session = await patiently(() => registry.wake(sessionId));
      return session && taskSession(session);
    },
    settings: async sessionId => (await patiently(() => registry.find(sessionId)))?.settings,
    close,
    async closeAll(taskId) {
      for (const id of await patiently(() => registry.openSessionsOf(taskId))) await close(id);
    },
    of: owner => registry.sessionsOf(owner),
    async delete(sessionId) {
      if (await registry.find(sessionId)) await registry.delete(sessionId);
    },
  };
}
