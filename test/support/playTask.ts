import type { Task } from "../../src/jobsDef.js";
import { decideTask } from "../../src/tasks/taskMachine.js";
import { newestRules, type TaskEvent, type TaskResult, type TaskSetup } from "../../src/tasks/taskSteps.js";
import type { ToolCall } from "../../src/tasks/toolCalls.js";

export const finished = (...calls: [name: string, argument: string][]): TaskEvent => ({
  kind: "finished",
  toolCalls: calls.map(([name, argument]): ToolCall => ({ name, argument })),
});
export const yes = finished(["job_boolean_true", "it is"]);
export const no = finished(["job_boolean_false", "it is not"]);
export const crashed: TaskEvent = { kind: "crashed", error: "boom" };
export const refused: TaskEvent = { kind: "refused", error: "no such model" };

export interface Played {
  result: TaskResult;
  /** Everything except the reports, one line each: `open 1 model driving`, `send 1 text`, `close 1 succeeded`. */
  actions: string[];
  sends: string[];
  reports: string[];
  /** The events that the task did not use. */
  unused: TaskEvent[];
}

/** Plays one task; `events` answer its sends in order, `opens` its opens (which succeed when the list is over). */
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
  const played = { actions: [] as string[], sends: [] as string[], reports: [] as string[] };
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
  return { ...played, result: next.value, unused };
}
