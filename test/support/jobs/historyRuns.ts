import { scriptedModelId } from "../model/scriptedModel.js";
import { seen } from "../seen.js";
import type { EntryOfTest, JobsPortal, TaskOfTest } from "./jobs.js";
import { task } from "./jobs.js";

const model = { category: "driving" };
const yes = "@call job_boolean_true yes";
const no = "@call job_boolean_false no";

const plain = (name: string, ...orders: string[]): TaskOfTest => ({ prompt: [name, ...orders], model });
/** A task that succeeds or fails with its condition. */
const judged = (name: string, ...orders: string[]): TaskOfTest => ({
  ...plain(name),
  criteria: { condition: [`${name}? job_boolean_true`, ...orders], failureAction: { retryTimes: 0 } },
});

const tasks: Record<string, TaskOfTest> = {
  first: plain("first"),
  second: plain("second"),
  asked: plain("do $user-input with $task-model"),
  fails: judged("fails", no),
  left: plain("left", "@wait left"),
  "right-first": plain("right-first", "@wait right-first"),
  "right-second": plain("right-second", "@wait right-second"),
  "until-second": judged("until-second", "@false-until 2"),
  "true-once": judged("true-once", "@false-until 1"),
  "never-true": judged("never-true", no),
  "calls-late": {
    ...plain("calls-late", "@call-from 2 job_prepare_document report.md"),
    criteria: {
      toolExecuted: ["job_prepare_document"],
      failureAction: { retryTimes: 2, additionalPrompt: ["Go on with $reported-document."] },
    },
  },
  "checked-apart": {
    ...plain("checked-apart"),
    criteria: {
      condition: ["apart? job_boolean_true", "@false-until 3"],
      runConditionInSameSession: false,
      failureAction: { retryTimes: 3, additionalPrompt: ["It was not: $reported-false-reason."] },
    },
  },
  spent: {
    ...plain("spent"),
    criteria: { condition: ["spent? job_boolean_true", no], failureAction: { retryTimes: 1 } },
  },
  "after-first": {
    ...plain("after-first"),
    availability: { previousTasks: ["first"], condition: ["available? job_boolean_true", yes] },
  },
  unavailable: { ...plain("unavailable"), availability: { previousTasks: ["second"] } },
  commanded: {
    ...plain("commanded"),
    availability: { commands: [{ run: ["true"] }] },
    criteria: { commands: [{ run: ["echo no; exit 1"], shell: true }], failureAction: { retryTimes: 1 } },
  },
  "crashes-twice": plain("crashes-twice", "@crash-first 2"),
  crashes: plain("crashes", "@crash"),
  held: plain("held", "@wait held"),
  killed: plain("killed", "@wait killed"),
};

const seq = (...names: string[]) => ({ kind: "Seq" as const, works: names.map(task) });

export const historyEntry: EntryOfTest = {
  tasks,
  jobs: {
    ref: { work: { ...task("asked"), modelOverride: { id: scriptedModelId } } },
    seq: { work: seq("first", "second") },
    seqFails: { work: seq("first", "fails", "second") },
    par: {
      work: { kind: "Par", works: [task("left"), seq("right-first", "right-second"), task("fails")] },
    },
    loop: {
      work: {
        kind: "Loop",
        preCondition: [true, task("true-once")],
        body: task("first"),
        postCondition: [false, task("until-second")],
      },
    },
    alt: {
      work: {
        kind: "Seq",
        works: [
          { kind: "Alt", condition: task("never-true"), trueWork: task("first"), falseWork: task("second") },
          { kind: "Alt", condition: task("true-once"), falseWork: task("first") },
        ],
      },
    },
    retries: { work: seq("calls-late", "spent") },
    criteria: { work: task("checked-apart") },
    availability: { work: seq("first", "after-first", "unavailable") },
    commands: { work: seq("first", "commanded") },
    crash: { work: seq("first", "crashes-twice") },
    crashEnds: { work: { kind: "Par", works: [task("held"), task("crashes")] } },
    death: { work: seq("first", "killed", "second") },
  },
};

export interface HistoryRun {
  about: string;
  isTask?: true;
  /** Runs it to its end and returns its id. */
  run(portal: JobsPortal): Promise<string>;
}

const toItsEnd = (jobName: string, userInput?: string) => async (portal: JobsPortal) =>
  (await portal.runJob(jobName, userInput)).jobId;

/** The branches take turns, so that their logs have a fixed order. */
async function runPar({ startJob, jobLog, puppet, portal }: JobsPortal): Promise<string> {
  const jobId = await startJob("par");
  await Promise.all([puppet.arrived("left"), puppet.arrived("right-first")]);
  await ended(portal, jobId, 1);
  puppet.release("right-first");
  await puppet.arrived("right-second");
  puppet.release("left");
  await ended(portal, jobId, 3);
  puppet.release("right-second");
  await jobLog(jobId);
  return jobId;
}

/** Resolves when this many works of the job have stopped. */
async function ended(portal: JobsPortal["portal"], jobId: string, works: number): Promise<void> {
  await seen(async () => {
    const { body } = await portal.api<{ tasks: { status: string }[] }>(`copilot/job/${jobId}/status`);
    const over = body.tasks.filter(({ status }) => status === "Succeeded" || status === "Failed");
    return over.length >= works;
  });
}

async function runDeath({ startJob, jobLog, puppet, portal, model: scripted }: JobsPortal): Promise<string> {
  const jobId = await startJob("death");
  await puppet.arrived("killed");
  await portal.kill("SIGKILL");
  await portal.restart();
  await scripted.waitForRequest(({ userText }) => userText.startsWith("The session crashed"));
  puppet.release("killed");
  await jobLog(jobId);
  return jobId;
}

async function runCrashEnds({ startJob, jobLog, puppet }: JobsPortal): Promise<string> {
  const jobId = await startJob("crashEnds");
  await puppet.arrived("held");
  await jobLog(jobId);
  puppet.release("held");
  return jobId;
}

async function runBorrowed({ startSession, portal, taskLog }: JobsPortal): Promise<string> {
  const sessionId = await startSession();
  const { body } = await portal.api<{ taskId: string }>(
    `copilot/task/start/calls-late/session/${sessionId}`,
    { body: "" },
  );
  await taskLog(body.taskId);
  return body.taskId;
}

/** One job for each kind of work and for each path of a task. */
export const historyRuns: Record<string, HistoryRun> = {
  ref: { about: "One task with a model of its own and the user's input", run: toItsEnd("ref", "it") },
  seq: { about: "One task after the other", run: toItsEnd("seq") },
  "seq-fails": { about: "A Seq ends with the first task that fails", run: toItsEnd("seqFails") },
  par: { about: "Three branches, one of them a Seq, one fails", run: runPar },
  loop: { about: "A Loop with both conditions goes round twice", run: toItsEnd("loop") },
  alt: { about: "An Alt by its condition, and one whose branch is missing", run: toItsEnd("alt") },
  retries: { about: "A retry that helps, and a budget that is spent", run: toItsEnd("retries") },
  criteria: {
    about: "A condition in a session of its own, met at the third time",
    run: toItsEnd("criteria"),
  },
  availability: { about: "A task that is available and one that is not", run: toItsEnd("availability") },
  commands: { about: "A task that commands check, and that fails after a retry", run: toItsEnd("commands") },
  crash: { about: "A session that crashes twice and then does its work", run: toItsEnd("crash") },
  "crash-ends": { about: "A task that only crashes ends the job and what runs beside it", run: runCrashEnds },
  death: { about: "The server died in the second of three tasks", run: runDeath },
  borrowed: { about: "A task by itself in a session of its user", isTask: true, run: runBorrowed },
};
