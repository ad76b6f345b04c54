import { PortalError } from "../base/portalError.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import { type SessionRegistry, sessionNotFound } from "../sessions/sessionRegistry.js";
import type { WorktreeRouteParts } from "../worktrees/worktreeRoutes.js";

/** Sessions and jobs as the routes of their worktrees see them. */
export function worktreeOwners(parts: {
  sessions: SessionRegistry;
  engine: Pick<JobEngine, "ready" | "jobs">;
}): Pick<WorktreeRouteParts, "settle" | "find"> {
  const { sessions, engine } = parts;
  return {
    find: {
      async session(id) {
        await sessions.ready;
        if (!(await sessions.find(id))) throw sessionNotFound(id);
      },
      async job(id) {
        await engine.ready;
        if (!(await engine.jobs.find(id)))
          throw PortalError.domain("JobNotFound", `There is no job ${JSON.stringify(id)}.`);
      },
    },
    async settle(owner) {
      await sessions.ready;
      const session = await sessions.wake(owner);
      if (session?.busy)
        throw PortalError.explained(
          "SessionBusy",
          "The agent is working in the worktree: end its turn first.",
        );
      if (session) await sessions.stop(session);
      const status = (await engine.jobs.find(owner))?.status;
      if (status === "Running" || status === "Paused")
        throw PortalError.explained("JobRunning", "The job is not at its end yet: stop it first.");
    },
  };
}
