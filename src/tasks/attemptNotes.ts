import type { AttemptEvidence, AttemptVerdict, Criterion, Deeds } from "../live/callbacks.js";
import { addDeeds } from "./roundDeeds.js";
import type { StepTimes, TaskAction, TaskEvent } from "./taskSteps.js";

type Started = Extract<TaskAction, { kind: "attemptStarted" }>;

/** Collects what is known about one attempt while it runs. */
export class AttemptNotes {
  readonly #started: Started;
  readonly #sessions = new Set<number>();
  #deeds: Deeds | undefined;
  #crashes = 0;
  #from: number | undefined;
  #to: number | undefined;

  constructor(started: Started) {
    this.#started = started;
  }

  /** The numbers of the sessions that were asked. */
  get sessions(): readonly number[] {
    return [...this.#sessions];
  }

  note(action: TaskAction, event: TaskEvent): void {
    this.noteTimes(event);
    if (action.kind === "open" || action.kind === "send") {
      if (action.kind === "send") this.#sessions.add(action.session);
      if (event.kind === "crashed" || event.kind === "refused") this.#crashes++;
    }
    if (action.kind !== "send" || !("did" in event) || !event.did) return;
    // Whoever checks a condition may run commands too, but those are not the work of the task.
    const { usage } = event.did;
    const did = action.role === "task" ? event.did : { toolCalls: [], commands: [], ...(usage && { usage }) };
    this.#deeds = addDeeds(this.#deeds, did);
  }

  noteTimes({ from, to }: StepTimes): void {
    this.#from ??= from;
    this.#to = to ?? this.#to;
  }

  evidence(verdict: AttemptVerdict, criteria: readonly Criterion[], sessionIds: string[]): AttemptEvidence {
    const { attempt, modelId, retryPrompt } = this.#started;
    return {
      attempt,
      modelId,
      sessionIds,
      ...(this.#from !== undefined && { startedAt: new Date(this.#from).toISOString() }),
      ...(this.#to !== undefined && { endedAt: new Date(this.#to).toISOString() }),
      verdict,
      criteria: [...criteria],
      crashes: this.#crashes,
      ...this.#deeds,
      ...(retryPrompt !== undefined && { retryPrompt }),
    };
  }
}
