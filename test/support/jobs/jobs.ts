import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EntryInput, Task } from "../../../src/jobsDef.js";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { type AnyResponse, liveAll } from "../live/sse.js";
import { type Puppet, puppet } from "../model/puppet.js";
import {
  type Script,
  type ScriptedModel,
  scriptedModelId,
  startScriptedModel,
} from "../model/scriptedModel.js";
import { type Portal, startPortal } from "../portal/portal.js";
import { shared } from "../sharing.js";

export type TaskOfTest = Omit<Task, "requireUserInput">;

export interface EntryOfTest {
  tasks: Record<string, TaskOfTest>;
  jobs?: EntryInput["jobs"];
  grid?: EntryInput["grid"];
  models?: Record<string, string>;
  drivingSessionRetries?: EntryInput["drivingSessionRetries"];
  setup?: EntryInput["setup"];
}

/** An entry in which every model is the scripted one. */
export function entryOf({
  tasks,
  jobs = {},
  grid = [],
  models,
  drivingSessionRetries,
  setup,
}: EntryOfTest): object {
  const named = Object.entries(tasks).map(([name, task]) => [name, { ...task, requireUserInput: false }]);
  return {
    models: { driving: scriptedModelId, ...models },
    ...(drivingSessionRetries && { drivingSessionRetries }),
    promptVariables: {},
    ...(setup && { setup }),
    tasks: Object.fromEntries(named.map(([name, task]) => [name, withInput(task as Task)])),
    jobs,
    grid,
  };
}

function withInput(task: Task): Task {
  return { ...task, requireUserInput: task.prompt.join("\n").includes("$user-input") };
}

export interface JobsPortal {
  portal: Portal;
  model: ScriptedModel;
  puppet: Puppet;
  workingDirectory: string;
  startJob(name: string, userInput?: string): Promise<string>;
  /** All responses of the job until its log is closed. */
  jobLog(jobId: string): Promise<AnyResponse[]>;
  taskLog(taskId: string): Promise<AnyResponse[]>;
  /** Starts the job and follows it to its end. */
  runJob(name: string, userInput?: string): Promise<RanJob>;
  startSession(modelId?: string): Promise<string>;
  /** Starts the task in a session and follows it to its end. */
  runTask(name: string, sessionId: string, userInput?: string): Promise<AnyResponse[]>;
}

export interface RanJob {
  jobId: string;
  responses: AnyResponse[];
  /** `name`, or `name!` when it failed, in the order in which they ended. */
  tasks: string[];
  outcome: string;
}

interface EntryPortalOptions {
  models?: string[];
  args?: string[];
  config?: object;
  env?: NodeJS.ProcessEnv;
  dataDir?: string;
  ownGroup?: boolean;
  store?: "embedded";
}

/** A portal with this entry; its only model does what the prompts say. */
export async function portalWithEntry(
  t: Scope,
  entry: EntryOfTest,
  options: EntryPortalOptions = {},
): Promise<JobsPortal> {
  const own = puppet();
  return jobsPortal(t, await start(t, entry, own.script, options), own);
}

/**
 * One such portal for all tests that leave it running, of all files of the process with the same entry and options; each
 * has its own folder, puppet and jobs. Call it at the top of the file.
 */
export function sharedPortalWithEntry(entry: EntryOfTest, options: EntryPortalOptions = {}) {
  return shared(`entry ${JSON.stringify({ entry, options })}`, scope => {
    let current = puppet();
    let parts: ReturnType<typeof start> | undefined;
    return async (t: Scope): Promise<JobsPortal> => {
      current = puppet();
      parts ??= start(scope, entry, request => current.script(request), options);
      const { portal, model } = await parts;
      defer(t, () => deleteJobs(portal));
      return jobsPortal(t, { portal, model: model.fromHere() }, current);
    };
  });
}

async function deleteJobs(portal: Portal): Promise<void> {
  const { jobs } = (await portal.api<{ jobs: { jobId: string }[] }>("copilot/job/history")).body;
  for (const { jobId } of jobs) {
    await portal.api(`copilot/job/${jobId}/stop`);
    await portal.api(`copilot/job/${jobId}/delete`, { method: "POST" });
  }
}

async function start(t: Scope, entry: EntryOfTest, script: Script, options: EntryPortalOptions = {}) {
  const model = await startScriptedModel(t, { script, ...(options.models && { models: options.models }) });
  const folder = await tempFolder(t, "portal-entry");
  const entryFile = join(folder, "entry.json");
  await writeFile(entryFile, JSON.stringify(entryOf(entry)));
  const args = ["--entry", entryFile, ...(options.args ?? [])];
  if (options.config) {
    const file = join(folder, "portal.config.json");
    await writeFile(file, JSON.stringify(options.config));
    args.push("--config", file);
  }
  const { models: _, config: __, ...portalOptions } = options;
  return { model, portal: await startPortal(t, { ...portalOptions, model, args }) };
}

async function jobsPortal(
  t: Scope,
  { portal, model }: { portal: Portal; model: ScriptedModel },
  own: Puppet,
): Promise<JobsPortal> {
  const workingDirectory = await tempFolder(t, "portal-work");
  const call = async <T>(path: string, body = "") => (await portal.api<T>(path, { body })).body;
  const log = async (path: string) => {
    const { token } = await call<{ token: string }>("token");
    return liveAll(`${portal.url}/api/copilot/${path}/live/${token}`);
  };

  async function startJob(name: string, userInput = ""): Promise<string> {
    const answer = await call<{ jobId?: string }>(
      `copilot/job/start/${name}`,
      `${workingDirectory}\n${userInput}`,
    );
    assert.ok(answer.jobId, `no job: ${JSON.stringify(answer)}`);
    return answer.jobId;
  }
  const jobLog = (jobId: string) => log(`job/${jobId}`);
  const taskLog = (taskId: string) => log(`task/${taskId}`);

  return {
    portal,
    model,
    puppet: own,
    workingDirectory,
    startJob,
    jobLog,
    taskLog,
    async runJob(name, userInput) {
      const jobId = await startJob(name, userInput);
      const responses = await jobLog(jobId);
      const names = new Map(
        (
          (
            await portal.api<{ tasks: { workIdInJob: number; taskName: string }[] }>(
              `copilot/job/${jobId}/status`,
            )
          ).body.tasks ?? []
        ).map(task => [task.workIdInJob, task.taskName]),
      );
      const tasks = responses
        .filter(({ callback }) => callback === "workStopped")
        .map(({ workId, succeeded }) => `${names.get(Number(workId))}${succeeded ? "" : "!"}`);
      return { jobId, responses, tasks, outcome: String(responses.at(-1)?.callback) };
    },
    async startSession(modelId = model.modelId) {
      const answer = await call<{ sessionId?: string }>(`copilot/session/start/${modelId}`, workingDirectory);
      assert.ok(answer.sessionId, `no session: ${JSON.stringify(answer)}`);
      return answer.sessionId;
    },
    async runTask(name, sessionId, userInput = "") {
      const answer = await call<{ taskId?: string }>(
        `copilot/task/start/${name}/session/${sessionId}`,
        userInput,
      );
      assert.ok(answer.taskId, `no task: ${JSON.stringify(answer)}`);
      return taskLog(answer.taskId);
    },
  };
}

/** The reasons of a task's decisions. */
export function decisionsOf(responses: readonly AnyResponse[]): string[] {
  return responses.filter(({ callback }) => callback === "taskDecision").map(({ reason }) => String(reason));
}

export const task = (taskId: string) => ({ kind: "Ref" as const, taskId });
