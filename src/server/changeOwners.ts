import { PortalError } from "../base/portalError.js";
import type { JobOwners, SessionOwners } from "../changes/changeAnswers.js";
import { helperSessionStart, openSession } from "../copilotApi.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import { type SessionRegistry, sessionNotFound } from "../sessions/sessionRegistry.js";
import type { LiveLogs } from "../sharedApi.js";

/** Sessions and jobs as the routes of their changes see them. */
export function changeOwners(parts: {
  sessions: SessionRegistry;
  engine: Pick<JobEngine, "ready" | "jobs" | "works">;
  logs: LiveLogs;
}): { sessions: SessionOwners; jobs: JobOwners } {
  const { sessions, engine, logs } = parts;
  return {
    sessions: {
      async find(id) {
        await sessions.ready;
        const record = await sessions.find(id);
        if (!record) throw sessionNotFound(id);
        const { workingDirectory, turns } = record;
        // A session of an older portal has not been counted: none of its turns has a snapshot.
        return { workingDirectory, turns: turns ?? 0, busy: sessions.get(id)?.busy ?? false };
      },
      async *responses(id) {
        const log = await logs.open("session", id);
        if (log) yield* log.responses();
      },
      query: async (id, prompt) => (await openSession(id)).query(prompt),
    },
    jobs: {
      async find(id) {
        await engine.ready;
        const job = await engine.jobs.find(id);
        if (!job) throw PortalError.domain("JobNotFound", `There is no job ${JSON.stringify(id)}.`);
        const entry = await engine.jobs.entry(job.entryHash);
        const { workingDirectory, endedAt } = job;
        return { workingDirectory, modelId: entry?.models.driving ?? "", ended: endedAt !== null };
      },
      runs: async id =>
        (await engine.works(id)).map(({ workIdInJob: workId, taskId }) => ({ workId, taskId })),
      sessionIds: taskId => sessions.sessionsOf(taskId),
      startSession: async (modelId, workingDirectory) =>
        (await helperSessionStart(modelId, workingDirectory))[1],
    },
  };
}
