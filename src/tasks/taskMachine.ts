import { cut, firstLine } from "../base/cut.js";
import { PortalError } from "../base/portalError.js";
import { expandPromptDynamic, type Model, type Prompt, type Task } from "../jobsDef.js";
import type { Criterion, Reported } from "../live/callbacks.js";
import { type Check, checkCommands, criterion, passed } from "./taskChecks.js";
import { type MissionOutcome, TaskMissions } from "./taskMissions.js";
import { retryPrompt, shortcomingsText } from "./taskPrompts.js";
import { report } from "./taskReport.js";
import type { Role, TaskResult, TaskSetup, TaskSteps } from "./taskSteps.js";
import { missingTools, type ReportedValues, saidInstead, valuesAfter, verdictOf } from "./toolCalls.js";

type Finished = Extract<MissionOutcome, { kind: "finished" }>;
type Failed = Extract<Check, { kind: "failed" }>;

const maxReasonChars = 200;
const maxRetryChars = 4000;
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
  /** What the check of the current attempt has found so far. */
  let criterionList: Criterion[] = [];
  let attempts = 0;
  let values: ReportedValues = { "user-input": setup.userInput, "task-model": modelId };

  const textOf = (prompt: Prompt, defaults: ReportedValues = {}, overrides: ReportedValues = {}) =>
    expandPromptDynamic(setup.entry, prompt, { ...defaults, ...values, ...overrides })[0] ?? "";

  /** Runs one round and remembers what it reported. */
  function* round(role: Role, prompt: () => string) {
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
    const { passed: isMet } = verdict;
    const isLost = !isMet && outcome.jobToolsMissing;
    const reason = isLost ? notConnected : verdict.reason;
    const said = isLost ? notConnected : verdict.said;
    yield* report(prefix, `${isMet ? "Passed" : "Failed"}: condition: ${reason}\n\n${textOf(prompt)}`);
    criterionList.push(criterion("condition", textOf(prompt), isMet, said));
    return isMet ? passed : { kind: "failed", missing: [], reason, said };
  }

  function* checkAvailability(): TaskSteps<Check> {
    if (borrowing || setup.ignoreAvailability) return passed;
    if (availability?.previousTasks) {
      const before = setup.previousTasks ?? [];
      const isMet = before.some(name => availability.previousTasks?.includes(name));
      const reason = before.length > 0 ? `just before finished ${quoted(before)}` : "no task finished before";
      yield* report(
        "AVAILABILITY",
        `${isMet ? "Passed" : "Failed"}: previousTasks ${quoted(availability.previousTasks)}: ${reason}`,
      );
      if (!isMet) return { kind: "failed", missing: [], reason, said: reason };
    }
    const commands = yield* checkCommands("AVAILABILITY", availability?.commands ?? [], setup.reports);
    if (commands.kind !== "passed" || !availability?.condition) return commands;
    return yield* ask("AVAILABILITY", availability.condition);
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
    const isMet = missing.length === 0;
    const said = isMet
      ? reason
      : round.jobToolsMissing
        ? notConnected
        : saidInstead(missing, round.toolCalls);
    criterionList.push(criterion("toolExecuted", required.join(", "), isMet, said));
    return isMet ? passed : { kind: "failed", missing, reason, said };
  }

  /** The condition is asked even when a tool is missing, because a retry needs its reason. */
  function* checkCriteria(round: Finished): TaskSteps<Check> {
    const tools: Check = criteria?.toolExecuted ? yield* checkTools(criteria.toolExecuted, round) : passed;
    const given = criteria?.commands ?? [];
    const commands = yield* checkCommands("CRITERIA", given, setup.reports, criterionList);
    if (commands.kind === "crashed") return commands;
    if (commands.kind === "failed")
      return tools.kind === "failed" ? { ...commands, missing: tools.missing } : commands;
    if (!criteria?.condition || (tools.kind === "failed" && rules === 1)) return tools;
    const answer = yield* ask("CRITERIA", criteria.condition);
    return answer.kind === "crashed" || tools.kind === "passed" ? answer : tools;
  }

  /** One run of the prompt and its check; `shortcomings` are those of the attempt before it. */
  function* attempt(shortcomings?: () => string): TaskSteps<Check> {
    criterionList = [];
    const told = shortcomings?.();
    const retry = told ? { retryPrompt: cut(told, maxRetryChars) } : {};
    yield { kind: "attemptStarted", attempt: ++attempts, modelId, ...retry };
    const outcome = yield* round("task", () => retryPrompt(textOf(task.prompt), shortcomings?.() ?? ""));
    const check: Check = outcome.kind === "crashed" ? outcome : yield* checkCriteria(outcome);
    const verdict = check.kind === "passed" ? "succeeded" : check.kind;
    yield { kind: "attemptEnded", verdict, criteria: criterionList };
    return check;
  }

  function* retries(first: Failed): TaskSteps<TaskResult> {
    const { retryTimes = 0, additionalPrompt } = criteria?.failureAction ?? {};
    let failed = first;
    const shortcomings = () => {
      const { missing, command, reason } = failed;
      const said = { "reported-false-reason": reason };
      const additional = additionalPrompt && textOf(additionalPrompt, said, command && said);
      return shortcomingsText({ missingTools: missing, command, additionalPrompt: additional });
    };
    for (let retry = 1; retry <= retryTimes; retry++) {
      yield* report("OPERATION", `Retry ${retry} of ${retryTimes}`);
      const check = yield* attempt(shortcomings);
      if (check.kind === "passed") return yield* succeed();
      if (check.kind === "failed") failed = check;
      else if (borrowing) return yield* fail("The borrowed session crashed", { crashError: check.error });
      else yield* report("DECISION", `The crash counts as the failure of retry ${retry} of ${retryTimes}`);
    }
    yield* report("DECISION", `The retry budget is spent: ${retryTimes} of ${retryTimes}`);
    return yield* fail("The criteria are not met", { said: failed.said });
  }

  function* succeed(): TaskSteps<TaskResult> {
    const reason = criteria ? "All criteria are met" : "There are no criteria to meet";
    yield* report("TASK SUCCEEDED", ending("succeeded", reason));
    yield* missions.end(true);
    return { succeeded: true, ...whatWasReported() };
  }

  function* fail(
    reason: string,
    { said, crashError }: { said?: string; crashError?: string } = {},
  ): TaskSteps<TaskResult> {
    yield* report("TASK FAILED", ending("failed", reason));
    yield* missions.end(false);
    const why = said ?? (crashError === undefined ? reason : `${reason}: ${messageIn(crashError)}`);
    return {
      succeeded: false,
      ...(crashError !== undefined && { crashError }),
      ...(rules >= 3 && { reason: firstLine(why, maxReasonChars) }),
      ...whatWasReported(),
    };
  }

  function whatWasReported(): { reported?: Reported } {
    const {
      "reported-document": document,
      "reported-true-reason": trueReason,
      "reported-false-reason": falseReason,
    } = values;
    const reported: Reported = {
      ...(document !== undefined && { document }),
      ...(trueReason !== undefined && { trueReason }),
      ...(falseReason !== undefined && { falseReason }),
    };
    return rules >= 3 && Object.keys(reported).length > 0 ? { reported } : {};
  }

  function ending(outcome: "succeeded" | "failed", reason: string): string {
    if (rules === 1) return reason;
    return `The task ${outcome}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
  }

  const available = yield* checkAvailability();
  if (available.kind === "crashed")
    return yield* fail("The availability could not be checked", { crashError: available.error });
  if (available.kind === "failed")
    return yield* fail("The task is not available", { said: `Not available: ${available.said}` });
  const first = yield* attempt();
  if (first.kind === "crashed") return yield* fail("The session crashed", { crashError: first.error });
  return first.kind === "passed" ? yield* succeed() : yield* retries(first);
}

/** The message in an error that `errorToDetailedString` wrote. */
function messageIn(detailed: string): string {
  try {
    const { message } = JSON.parse(detailed) as { message?: unknown };
    return typeof message === "string" ? message : detailed;
  } catch {
    return detailed;
  }
}

function quoted(names: readonly string[]): string {
  return names.map(name => JSON.stringify(name)).join(", ");
}
