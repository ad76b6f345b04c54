import { PortalError } from "../base/portalError.js";
import { expandPromptDynamic, type Model, type Prompt, type Task } from "../jobsDef.js";
import { type MissionOutcome, TaskMissions } from "./taskMissions.js";
import { retryPrompt } from "./taskPrompts.js";
import { report } from "./taskReport.js";
import type { TaskResult, TaskSetup, TaskSteps } from "./taskSteps.js";
import { missingTools, type ReportedValues, valuesAfter, verdictOf } from "./toolCalls.js";

/** The result of the criteria check of one round. */
type Check =
  | { kind: "passed" }
  | { kind: "failed"; missing: readonly string[]; reason: string }
  | { kind: "crashed"; error: string };

type Finished = Extract<MissionOutcome, { kind: "finished" }>;
type Failed = Extract<Check, { kind: "failed" }>;

const notConnected = "The agent did not connect to the job tools";

/** The model that runs a task's prompt: the caller's, or the task's own, or the driving one. */
export function taskModelId(setup: Pick<TaskSetup, "entry" | "taskName" | "modelIdOverride">): string {
  const { entry, modelIdOverride } = setup;
  const { model } = taskOf(setup);
  return modelIdOverride ?? (model && modelIdOf(entry.models, model)) ?? entry.models.driving ?? "";
}

export function modelIdOf(models: TaskSetup["entry"]["models"], model: Model): string | undefined {
  return "id" in model ? model.id : models[model.category];
}

function taskOf({ entry, taskName }: Pick<TaskSetup, "entry" | "taskName">): Task {
  const task = Object.hasOwn(entry.tasks, taskName) ? entry.tasks[taskName] : undefined;
  if (!task) throw PortalError.domain("TaskNotFound", `There is no task ${JSON.stringify(taskName)}`);
  return task;
}

/** Everything that a task decides, from its availability to its result. */
export function* decideTask(setup: TaskSetup): TaskSteps<TaskResult> {
  const task = taskOf(setup);
  const { availability, criteria } = task;
  const { rules = 1 } = setup;
  const borrowing = setup.borrowedModelId !== undefined;
  const modelId = setup.borrowedModelId ?? taskModelId(setup);
  const missions = new TaskMissions({
    entry: setup.entry,
    modelId,
    mode: borrowing ? "borrowing" : criteria?.runConditionInSameSession === false ? "multiple" : "single",
  });
  let attempts = 0;
  let values: ReportedValues = { "user-input": setup.userInput, "task-model": modelId };

  const textOf = (prompt: Prompt, defaults: ReportedValues = {}) =>
    expandPromptDynamic(setup.entry, prompt, { ...defaults, ...values })[0] ?? "";

  /** Runs one round and remembers what it reported. */
  function* round(role: "task" | "driving", prompt: () => string) {
    const outcome = yield* missions.run(role, prompt);
    if (outcome.kind === "finished") {
      values = valuesAfter(values, outcome.toolCalls);
      for (const { name, argument } of outcome.toolCalls) {
        if (name === "job_prerequisite_failed") {
          yield* report("MISC", `The agent reported that a prerequisite failed: ${argument}`);
        }
      }
    }
    return outcome;
  }

  /** Asks the driving session and reports its answer with the name of the field. */
  function* ask(prefix: "AVAILABILITY" | "CRITERIA", prompt: Prompt): TaskSteps<Check> {
    const outcome = yield* round("driving", () => textOf(prompt));
    if (outcome.kind === "crashed") return outcome;
    const verdict = verdictOf(outcome.toolCalls);
    const { passed } = verdict;
    const reason = !passed && outcome.jobToolsMissing ? notConnected : verdict.reason;
    yield* report(prefix, `${passed ? "Passed" : "Failed"}: condition: ${reason}\n\n${textOf(prompt)}`);
    return passed ? { kind: "passed" } : { kind: "failed", missing: [], reason };
  }

  function* checkAvailability(): TaskSteps<Check> {
    if (borrowing || setup.ignoreAvailability) return { kind: "passed" };
    if (availability?.previousTasks) {
      const before = setup.previousTasks ?? [];
      const passed = before.some(name => availability.previousTasks?.includes(name));
      const reason = before.length > 0 ? `just before finished ${quoted(before)}` : "no task finished before";
      yield* report(
        "AVAILABILITY",
        `${passed ? "Passed" : "Failed"}: previousTasks ${quoted(availability.previousTasks)}: ${reason}`,
      );
      if (!passed) return { kind: "failed", missing: [], reason };
    }
    return availability?.condition ? yield* ask("AVAILABILITY", availability.condition) : { kind: "passed" };
  }

  function* checkTools(required: readonly string[], round: Finished): TaskSteps<Check> {
    const missing = missingTools(required, round.toolCalls);
    const notCalled = round.jobToolsMissing
      ? notConnected
      : `not called in the last round: ${missing.join(", ")}`;
    const reason = missing.length > 0 ? notCalled : "all were called";
    yield* report(
      "CRITERIA",
      `${missing.length > 0 ? "Failed" : "Passed"}: toolExecuted ${quoted(required)}: ${reason}`,
    );
    return missing.length > 0 ? { kind: "failed", missing, reason } : { kind: "passed" };
  }

  /** The condition is asked even when a tool is missing, because a retry needs its reason. */
  function* checkCriteria(round: Finished): TaskSteps<Check> {
    const tools: Check = criteria?.toolExecuted
      ? yield* checkTools(criteria.toolExecuted, round)
      : { kind: "passed" };
    if (!criteria?.condition || (tools.kind === "failed" && rules === 1)) return tools;
    const answer = yield* ask("CRITERIA", criteria.condition);
    return answer.kind === "crashed" || tools.kind === "passed" ? answer : tools;
  }

  /** One run of the prompt and its check. */
  function* attempt(prompt: () => string): TaskSteps<Check> {
    yield { kind: "attemptStarted", attempt: ++attempts };
    const outcome = yield* round("task", prompt);
    const check = outcome.kind === "crashed" ? outcome : yield* checkCriteria(outcome);
    yield { kind: "attemptEnded" };
    return check;
  }

  function* retries(first: Failed): TaskSteps<TaskResult> {
    const { retryTimes = 0, additionalPrompt } = criteria?.failureAction ?? {};
    let failed = first;
    const additionalText = () =>
      additionalPrompt && textOf(additionalPrompt, { "reported-false-reason": failed.reason });
    for (let retry = 1; retry <= retryTimes; retry++) {
      yield* report("OPERATION", `Retry ${retry} of ${retryTimes}`);
      const check = yield* attempt(() => retryPrompt(textOf(task.prompt), failed.missing, additionalText()));
      if (check.kind === "passed") return yield* succeed();
      if (check.kind === "failed") failed = check;
      else if (borrowing) return yield* fail("The borrowed session crashed", check.error);
      else yield* report("DECISION", `The crash counts as the failure of retry ${retry} of ${retryTimes}`);
    }
    yield* report("DECISION", `The retry budget is spent: ${retryTimes} of ${retryTimes}`);
    return yield* fail("The criteria are not met");
  }

  function* succeed(): TaskSteps<TaskResult> {
    const reason = criteria ? "All criteria are met" : "There are no criteria to meet";
    yield* report("TASK SUCCEEDED", ending("succeeded", reason));
    yield* missions.end(true);
    return { succeeded: true };
  }

  function* fail(reason: string, crashError?: string): TaskSteps<TaskResult> {
    yield* report("TASK FAILED", ending("failed", reason));
    yield* missions.end(false);
    return crashError === undefined ? { succeeded: false } : { succeeded: false, crashError };
  }

  function ending(outcome: "succeeded" | "failed", reason: string): string {
    if (rules === 1) return reason;
    return `The task ${outcome}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
  }

  const available = yield* checkAvailability();
  if (available.kind === "crashed")
    return yield* fail("The availability could not be checked", available.error);
  if (available.kind === "failed") return yield* fail("The task is not available");
  const first = yield* attempt(() => textOf(task.prompt));
  if (first.kind === "crashed") return yield* fail("The session crashed", first.error);
  return first.kind === "passed" ? yield* succeed() : yield* retries(first);
}

function quoted(names: readonly string[]): string {
  return names.map(name => JSON.stringify(name)).join(", ");
}
