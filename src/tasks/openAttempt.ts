import type { AttemptVerdict, Callback } from "../live/callbacks.js";
import type { DiaryLog } from "./taskDiary.js";

/**
 * Writes the evidence of an attempt that its own task can no longer end, from what the task's log knows. Does nothing
 * when no attempt is open, so that an interrupted end can be repeated.
 */
export async function endOpenAttempt(log: DiaryLog, verdict: AttemptVerdict): Promise<void> {
  let open: Callback<"taskAttemptStarted"> | undefined;
  let crashes = 0;
  const sessions = new Set<string>();
  const stopped = new Set<string>();
  for await (const response of log.responses()) {
    switch (response.callback) {
      case "taskAttemptStarted":
        open = response;
        crashes = 0;
        for (const sessionId of stopped) sessions.delete(sessionId);
        break;
      case "taskAttemptEnded":
        open = undefined;
        break;
      case "taskSessionStarted":
        sessions.add(response.sessionId);
        break;
      case "taskSessionStopped":
        stopped.add(response.sessionId);
        if (!response.succeeded) crashes++;
    }
  }
  if (!open) return;
  const { attempt, modelId, time } = open;
  await log.append({
    callback: "taskAttemptEnded",
    attempt,
    modelId,
    sessionIds: [...sessions],
    ...(time !== undefined && { startedAt: new Date(time).toISOString() }),
    endedAt: new Date().toISOString(),
    verdict,
    criteria: [],
    crashes,
    time: Date.now(),
  });
}
