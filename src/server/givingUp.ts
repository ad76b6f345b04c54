import type { JobEngine } from "../jobs/engine/engine.js";
import type { GiveUp } from "../nodes/proxyRouting.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import type { LiveLogs } from "../sharedApi.js";
import { takenOver } from "../store/ownership.js";
import type { Root } from "../store/root.js";

export interface GivingUpParts {
  logs: LiveLogs;
  engine: Pick<JobEngine, "stopElsewhere">;
  sessions: Pick<SessionRegistry, "wake" | "stop">;
}

/**
 * Stopping what waits for a node that is not running. This portal ends it, because nobody else can, and gives it back:
 * its folder is still there. By the path of the route.
 */
export function givingUp({ logs, engine, sessions }: GivingUpParts): Readonly<Record<string, GiveUp>> {
  const { ownership, adoption } = logs;

  async function endHere({ id, kind }: Root, end: () => Promise<void>): Promise<object> {
    await adoption.adoptAll(() => ownership.takeAbandoned(id));
    // Its node has just come back, and answers for itself.
    if (!ownership.owns(id)) throw takenOver(kind, id);
    try {
      await end();
    } finally {
      await ownership.giveBack(id);
    }
    return { result: "Closed" };
  }

  const stopSession: GiveUp = async root => {
    // The session of a task ends with its job.
    if (root.kind !== "session") return false;
    return endHere(root, async () => {
      const session = await sessions.wake(root.id);
      if (session) await sessions.stop(session);
    });
  };

  const stopJob: GiveUp = async root => {
    // Decided first: whoever wins a job that runs goes on with it.
    await engine.stopElsewhere(root.id);
    return endHere(root, async () => {});
  };

  return {
    "copilot/session/{id}/stop": stopSession,
    "copilot/session/stop/{id}": stopSession,
    "copilot/job/{jobId}/stop": stopJob,
  };
}
