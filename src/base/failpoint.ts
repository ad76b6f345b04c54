/**
 * The moments between two writes that belong together. `test/store/killPoints.test.ts` crashes the portal at each of
 * them.
 */
export const failpoints = [
  // A start.
  "store-folder-drafted",
  "schema-step-done",
  "store-opened",
  "boot-begun",
  "roots-claimed",
  "open-blocks-ended",
  "interruption-reported",
  "engine-launched",
  "paused-flows-cancelled-again",
  "half-canceled-job-ended",
  "half-deleted-job-deleted",
  "job-submitted-again",
  "task-settled",
  // A log.
  "log-flush-begins",
  "log-flushed",
  // A session.
  "session-inserted",
  "session-attached",
  "request-accepted",
  "turn-ended",
  "after-idle",
  "settings-saved",
  "session-stopped",
  "session-closed",
  "readers-told-forgotten",
  "session-reopened",
  "agent-memory-deleted",
  "session-deleted",
  // Undoing and committing a change.
  "undo-recorded",
  "undo-carried-out",
  "commit-made",
  // A task.
  "task-inserted",
  "task-submitted",
  "task-session-opened",
  "session-opening-remembered",
  "round-finished",
  "round-remembered",
  "command-ended",
  "command-remembered",
  "task-session-closed",
  "task-diary-closed",
  "task-ended",
  // A job.
  "entry-saved",
  "job-inserted",
  "job-submitted",
  "work-ended",
  "job-error-set",
  "job-status-changed",
  "job-ended",
  "job-end-written",
  "job-diary-closed",
  // Stopping a job.
  "cancel-decided",
  "canceled-flow-ended",
  "canceled-sessions-closed",
  "cancel-written",
  "canceled-diary-closed",
  // Pausing and continuing.
  "jobs-paused",
  "paused-flows-cancelled",
  "paused-task-flow-cancelled",
  "paused-task-ended",
  "pause-written",
  "continue-decided",
  "continue-written",
  "flow-resumed",
  // Deleting a job.
  "job-deletion-decided",
  "job-session-deleted",
  "job-task-logs-deleted",
  "job-flow-deleted",
  "job-deleted",
  // A worktree.
  "worktree-recorded",
  "worktree-added",
  "worktree-apply-decided",
  "worktree-writing-begins",
  "worktree-written",
  "worktree-applied",
  "worktree-branch-moved",
  "worktree-kept",
  "worktree-discard-decided",
] as const;

export type Failpoint = (typeof failpoints)[number];

/** `PORTAL_FAILPOINT=held,held,fatal[:nth]`: a name before the last one holds, and the last one kills. */
const held = new Set((process.env.PORTAL_FAILPOINT ?? "").split(","));
const last = [...held].at(-1) ?? "";
held.delete(last);
const [fatal = "", nth = "1"] = last.split(":");
let passesLeft = Number(nth);

/**
 * Does nothing, except in the tests that crash here. Whoever comes first to a point that holds stays there for ever, as
 * if it had died; when each of them has somebody, the next to come to the last point kills the portal. Only a point
 * that is awaited can hold.
 */
export function failpoint(name: Failpoint): Promise<never> | undefined {
  if (held.delete(name)) {
    process.stderr.write(`held at ${name}\n`);
    return new Promise(() => {});
  }
  if (name === fatal && held.size === 0 && --passesLeft === 0) process.kill(process.pid, "SIGKILL");
  return undefined;
}
