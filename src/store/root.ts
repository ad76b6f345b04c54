export type OwnedKind = "session" | "job" | "task" | "run";

/** What is owned as a whole: a person's session, a job with everything below it, a task by itself, a run of agents. */
export interface Root {
  readonly id: string;
  readonly kind: OwnedKind;
}

/** The root that something belongs to; `owner` is the task that started a session, if one did. */
export function rootOf(kind: OwnedKind, id: string, owner?: string | null): Root {
  if (kind === "session" && owner != null) return rootOf("task", owner);
  // A task of a job has the job's id before a dot.
  const dot = kind === "task" ? id.indexOf(".") : -1;
  return dot === -1 ? { id, kind } : { id: id.slice(0, dot), kind: "job" };
}
