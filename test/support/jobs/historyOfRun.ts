import assert from "node:assert/strict";
import { packageVersion } from "../../../src/base/paths.js";
import { JobRecords } from "../../../src/jobs/jobRecords.js";
import type { Entry } from "../../../src/jobsDef.js";
import type { LogKind } from "../../../src/live/liveResponse.js";
import type { LiveLogs } from "../../../src/sharedApi.js";
import { flowVersion } from "../../../src/store/durableJobs.js";
import type { Store } from "../../../src/store/store.js";
import { TaskRecords } from "../../../src/tasks/taskRecords.js";
import { type Call, comparable, type History, type RecordedFlow, withoutStacks } from "./history.js";

/** Replaces the job's working directory, which no longer exists when its history is read. */
const anyFolder = "/work";

interface OperationRow {
  flow: string;
  name: string;
  output: string | null;
  error: string | null;
  child: string | null;
  at: string;
}

/** A value as DBOS stores it. */
function parsed(text: string | null): unknown {
  if (text === null) return undefined;
  const { json, meta } = JSON.parse(text) as { json: unknown; meta?: unknown };
  assert.equal(meta, undefined, `${text} is not plain JSON`);
  return withoutStacks(json);
}

function callOf({ name, output, error, child, at }: OperationRow): Call {
  assert.equal(error, null, `${name} ended in an error`);
  if (child === null) return { step: name, at: Number(at), result: parsed(output) };
  return name === "DBOS.getResult" ? { resultOf: child, result: parsed(output) } : { start: child };
}

async function flowsBelow(store: Store, rootId: string): Promise<Record<string, RecordedFlow>> {
  const inputs = await store.query<{ id: string; inputs: string; output: string | null }>(
    `select i.workflow_uuid as id, i.inputs, o.output from dbos.workflow_input i
     join dbos.workflow_output o using (workflow_uuid) join dbos.workflow_status s using (workflow_uuid)
     where i.workflow_uuid = $1 or starts_with(i.workflow_uuid, $1 || '/') order by s.created_at, i.workflow_uuid`,
    [rootId],
  );
  const operations = await store.query<OperationRow>(
    `select workflow_uuid as flow, function_name as name, output, error, child_workflow_id as child,
       completed_at_epoch_ms as at
     from dbos.operation_outputs where workflow_uuid = $1 or starts_with(workflow_uuid, $1 || '/')
     order by workflow_uuid, function_id`,
    [rootId],
  );
  const flows: Record<string, RecordedFlow> = {};
  for (const { id, inputs: input, output } of inputs) {
    const [kind, value] = parsed(input) as [string, unknown];
    const calls = operations.filter(({ flow }) => flow === id).map(callOf);
    flows[id] = { kind, input: value, calls, result: parsed(output) };
  }
  numberSteps(Object.values(flows).flatMap(flow => flow.calls));
  return flows;
}

/** Replaces times with 1, 2, 3 …, which are easier to read. */
function numberSteps(calls: readonly Call[]): void {
  const steps = calls.filter(call => "step" in call).sort((a, b) => a.at - b.at);
  for (const [i, step] of steps.entries()) step.at = i + 1;
}

async function diary(logs: LiveLogs, kind: LogKind, id: string) {
  const log = await logs.open(kind, id);
  assert.ok(log?.closed, `the log of ${kind} ${id} has not ended`);
  const responses = [];
  for await (const response of log.responses()) responses.push(comparable(response));
  return responses;
}

/** Only the part of the entry that the job uses. */
function trimmed(entry: Entry, jobName: string | undefined, taskName: string | undefined): Entry {
  const jobs = jobName === undefined ? {} : { [jobName]: entry.jobs[jobName] };
  const used = ([name]: [string, unknown]) =>
    name === taskName || JSON.stringify(jobs).includes(`"taskId":${JSON.stringify(name)}`);
  const tasks = Object.fromEntries(Object.entries(entry.tasks).filter(used));
  return { ...entry, jobs, tasks, grid: [] } as Entry;
}

/** The history of an ended job, from the store that it ran on. */
export async function historyOfJob(
  store: Store,
  logs: LiveLogs,
  jobId: string,
  about: string,
): Promise<History> {
  const records = new JobRecords(store, logs.ownership);
  const record = await records.find(jobId);
  assert.ok(record, `no job ${jobId}`);
  const { id, name, userInput } = record;
  const diaries: History["diaries"] = { [`job/${id}`]: await diary(logs, "job", id) };
  for (const taskId of (await logs.idsBelow("task", `${id}.`)).sort())
    diaries[`task/${taskId}`] = await diary(logs, "task", taskId);
  return {
    release: packageVersion,
    flowVersion,
    about,
    job: { id, name, userInput, workingDirectory: anyFolder },
    entry: trimmed(await records.entry(record.entryHash), name, undefined),
    flows: await flowsBelow(store, id),
    diaries,
  };
}

/** The same for a task alone. */
export async function historyOfTask(
  store: Store,
  logs: LiveLogs,
  taskId: string,
  about: string,
): Promise<History> {
  const record = await new TaskRecords(store, logs.ownership).find(taskId);
  assert.ok(record, `no task ${taskId}`);
  const { status: _, entryHash, ...task } = record;
  return {
    release: packageVersion,
    flowVersion,
    about,
    task: { ...task, workingDirectory: anyFolder },
    entry: trimmed(await new JobRecords(store, logs.ownership).entry(entryHash), undefined, task.name),
    flows: await flowsBelow(store, `t:${taskId}`),
    diaries: { [`task/${taskId}`]: await diary(logs, "task", taskId) },
  };
}
