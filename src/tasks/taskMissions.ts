import type { Entry } from "../jobsDef.js";
import { CrashBudget, drivingBudgets, type ModelBudget, maxCrashes } from "./crashBudget.js";
import { SESSION_CRASH_PREFIX } from "./taskPrompts.js";
import { report } from "./taskReport.js";
import { borrowedSession, type Role, type TaskEvent, type TaskSteps } from "./taskSteps.js";
import type { ToolCall } from "./toolCalls.js";

export type TaskMode = "borrowing" | "single" | "multiple";

/** The outcome of a prompt after all its tries. */
export type MissionOutcome =
  | { kind: "finished"; toolCalls: readonly ToolCall[]; jobToolsMissing?: true }
  | { kind: "crashed"; error: string };

export interface TaskMissionsOptions {
  entry: Pick<Entry, "models" | "drivingSessionRetries">;
  modelId: string;
  mode: TaskMode;
}

/** Gets prompts answered: opens the right session for each, and resends in a fresh one after a crash. */
export class TaskMissions {
  readonly #options: TaskMissionsOptions;
  /** The number of the open session; a task never has two. */
  #open: number | undefined;
  #lastSession = borrowedSession;

  constructor(options: TaskMissionsOptions) {
    this.#options = options;
    if (options.mode === "borrowing") this.#open = borrowedSession;
  }

  /** `prompt` is called at every send, because its values change. */
  *run(role: Role, prompt: () => string): TaskSteps<MissionOutcome> {
    const budget = new CrashBudget(this.#budgets(role));
    let sent = false;
    let error = "";
    for (let modelId = budget.modelId; modelId !== undefined; modelId = budget.modelId) {
      let event: TaskEvent = this.#open === undefined ? yield* this.#start(role, modelId) : { kind: "done" };
      if (this.#open !== undefined) {
        event = yield {
          kind: "send",
          session: this.#open,
          role,
          prompt: (sent ? SESSION_CRASH_PREFIX : "") + prompt(),
        };
        sent = true;
      }
      if (event.kind === "finished") {
        if (this.#options.mode === "multiple") yield* this.end(true);
        return event;
      }
      error = "error" in event ? event.error : "";
      const spent = budget.spend(event.kind === "refused");
      yield* report("SESSION CRASHED", `${this.#name(role)} on ${modelId} crashed (${spent}): ${error}`);
      yield* this.end(false);
      if (budget.modelId) yield* report("OPERATION", `Sending the request again on ${budget.modelId}`);
    }
    yield* report("DECISION", `The crash budget is spent: ${budget}`);
    return { kind: "crashed", error };
  }

  /** Closes the session that is open; a borrowed one stays. */
  *end(succeeded: boolean): TaskSteps<void> {
    if (this.#open === undefined || this.#open === borrowedSession) return;
    yield { kind: "close", session: this.#open, succeeded };
    this.#open = undefined;
  }

  *#start(role: Role, modelId: string): TaskSteps<TaskEvent> {
    this.#lastSession++;
    const session = this.#lastSession;
    const isDriving = role === "driving" || this.#options.mode === "single";
    const event = yield { kind: "open", session, modelId, isDriving };
    if (event.kind === "done") {
      this.#open = session;
      yield* report("SESSION STARTED", `${this.#name(role)} on ${modelId}`);
    }
    return event;
  }

  #budgets(role: Role): ModelBudget[] {
    const { entry, mode, modelId } = this.#options;
    if (mode === "multiple" && role === "driving") return drivingBudgets(entry);
    return [{ modelId, crashes: mode === "borrowing" ? 1 : maxCrashes }];
  }

  #name(role: Role): string {
    const { mode } = this.#options;
    if (mode === "borrowing") return "The borrowed session";
    const kind = mode === "single" ? "Driving and task" : role === "driving" ? "Driving" : "Task";
    return `${kind} session #${this.#lastSession}`;
  }
}
