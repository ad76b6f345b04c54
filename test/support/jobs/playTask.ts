import type { Task } from "../../../src/jobsDef.js";
import { decideTask } from "../../../src/tasks/taskMachine.js";
import {
  newestRules,
  type TaskAction,
  type TaskEvent,
  type TaskResult,
  type TaskSetup,
} from "../../../src/tasks/taskSteps.js";
import type { ToolCall } from "../../../src/tasks/toolCalls.js";

export const finished = (...calls: [name: string, argument: string][]): TaskEvent => ({
  kind: "finished",
  toolCalls: calls.map(([name, argument]): ToolCall => ({ name, argument })),
});
export const yes = finished(["job_boolean_true", "it is"]);
export const no = finished(["job_boolean_false", "it is not"]);
export const crashed: TaskEvent = { kind: "crashed", error: "boom" };
export const refused: TaskEvent = { kind: "refused", error: "no such model" };

/** A command ended with this exit code and this output. */
export const ran = (exitCode: number, tail = ""): TaskEvent => ({
  kind: "ran",
  end: { exitCode, durationMs: 1, tail },
});

export interface Played {
  result: Pick<TaskResult, "succeeded" | "crashError">;
  reason: string | undefined;
  reported: TaskResult["reported"];
  /** How each attempt ended. */
  attempts: Omit<Extract<TaskAction, { kind: "attemptEnded" }>, "kind">[];
  retryPrompts: (string | undefined)[];
  /** Everything except the reports, one line each: `open 1 model driving`, `send 1 text`, `command text`, `close 1 succeeded`. */
  actions: string[];
  sends: string[];
  reports: string[];
  /** The events that the task did not use. */
  unused: TaskEvent[];
}

/** Plays one task; `events` answer its sends and commands in order, `opens` its opens (which succeed when the list is over). */
export function playTask(
  task: Omit<Task, "requireUserInput">,
  setup: Partial<Omit<TaskSetup, "taskName">>,
  events: TaskEvent[],
  opens: TaskEvent[] = [],
): Played {
  const entry = {
    models: { driving: "driver", coding: "coder" },
    ...setup.entry,
    tasks: { it: { requireUserInput: false, ...task } },
  };
  const steps = decideTask({ userInput: "", rules: newestRules, ...setup, taskName: "it", entry });
  const played: Pick<Played, "actions" | "sends" | "reports" | "attempts" | "retryPrompts"> = {
    actions: [],
    sends: [],
    reports: [],
    attempts: [],
    retryPrompts: [],
  };
  const unused = [...events];
  const openings = [...opens];
  let next = steps.next();
  while (!next.done) {
    const action = next.value;
    let event: TaskEvent = { kind: "done" };
    switch (action.kind) {
      case "report":
        played.reports.push(action.reason);
        break;
      case "open":
        played.actions.push(`open ${action.session} ${action.modelId}${action.isDriving ? " driving" : ""}`);
        event = openings.shift() ?? event;
        break;
      case "close":
        played.actions.push(`close ${action.session} ${action.succeeded ? "succeeded" : "failed"}`);
        break;
      case "attemptStarted":
        played.retryPrompts.push(action.retryPrompt);
        break;
      case "attemptEnded":
        played.attempts.push({ verdict: action.verdict, criteria: action.criteria });
        break;
      case "command": {
        played.actions.push(`command ${action.command.run.join(" ")}`);
        event = unused.shift() ?? event;
        break;
      }
      case "send": {
        played.actions.push(`send ${action.session} ${action.prompt}`);
        played.sends.push(action.prompt);
        const answer = unused.shift();
        if (!answer) throw new Error(`No event left for: ${action.prompt}`);
        event = answer;
      }
    }
    next = steps.next(event);
  }
  const { reason, reported, ...result } = next.value;
  return { ...played, result, reason, reported, unused };
}
