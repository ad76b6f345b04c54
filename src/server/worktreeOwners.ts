import { PortalError } from "../base/portalError.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import { knownJob } from "../jobs/knownJob.js";
import { type SessionRegistry, sessionNotFound } from "../sessions/sessionRegistry.js";
import type { WorktreeRouteParts } from "../worktrees/worktreeRoutes.js";

/** Sessions and jobs as the routes of their worktrees see them. */
export function worktreeOwners(parts: {
  sessions: SessionRegistry;
  engine: Pick<JobEngine, "ready" | "jobs">;
}): Pick<WorktreeRouteParts, "settle" | "folderOf"> {
  const { sessions, engine } = parts;
  return {
    folderOf: {
      async session(id) {
        await sessions.ready;
        const record = await sessions.find(id);
        if (!record) throw sessionNotFound(id);
        return record.workingDirectory;
      },
      job: async id => (await knownJob(id)).workingDirectory,
    },
    async settle({ owner, workingDirectory }) {
      await sessions.ready;
      await engine.ready;
      const [ownerId = ""] = owner.split(".");
      const unended = await engine.jobs.withStatus("Running", "Paused");
      if (unended.some(job => job.id === ownerId || job.workingDirectory === workingDirectory))
        throw PortalError.explained("JobRunning", "The job is not at its end yet: stop it first.");
      await sessions.wake(ownerId);
      const inside = sessions.open.filter(({ record }) => record.workingDirectory === workingDirectory);
      if (inside.some(({ busy }) => busy))
        throw PortalError.explained(
          "SessionBusy",
          "The agent is working in the worktree: end its turn first.",
        );
      for (const session of inside) await sessions.stop(session);
    },
  };
}
