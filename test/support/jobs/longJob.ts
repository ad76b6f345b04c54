import { validateEntry } from "../../../src/jobsDef.js";
import type { LiveResponse } from "../../../src/live/callbacks.js";
import type { Store } from "../../../src/store/store.js";
import { conversation, writeLog, writeSession } from "../live/longLog.js";
import { entryOf, task } from "./jobs.js";

const model = { category: "driving" };

function* jobLog(taskIds: readonly string[], startMs: number): Generator<LiveResponse[]> {
  for (const [workId, taskId] of taskIds.entries()) {
    const time = startMs + workId * 1_000;
    yield [
      { callback: "workStarted", workId, taskId, time },
      { callback: "workStopped", workId, taskId, succeeded: true, time: time + 900 },
    ];
  }
  yield [{ callback: "jobSucceeded", time: startMs + taskIds.length * 1_000 }];
}

const taskLog = (sessionId: string, taskId: string): LiveResponse[] => [
  { callback: "taskSessionStarted", sessionId, taskId, isDriving: false, modelId: "model" },
  { callback: "taskDecision", reason: "[TASK SUCCEEDED] The work is done" },
  { callback: "taskSessionStopped", sessionId, taskId, succeeded: true },
  { callback: "taskSucceeded" },
];

/** A job that has run this many works one after the other, each with a task and a session of a few blocks. */
export async function writeJob(store: Pick<Store, "query">, jobId: string, works: number): Promise<void> {
  const entry = validateEntry(
    entryOf({
      tasks: { plain: { prompt: ["plain"], model } },
      jobs: { long: { work: { kind: "Seq", works: Array.from({ length: works }, () => task("plain")) } } },
    }),
    "",
  );
  const startMs = Date.now() - works * 1_000;
  await store.query("insert into entries (hash, entry) values ('long', $1)", [JSON.stringify(entry)]);
  await store.query(
    `insert into jobs (id, name, entry_hash, user_input, working_directory, status, created_at, ended_at)
     values ($1, 'long', 'long', '', '/work', 'Succeeded', $2, now())`,
    [jobId, new Date(startMs)],
  );
  const taskIds = Array.from({ length: works }, (_, work) => `${jobId}.w.${work}`);
  await writeLog(store, { kind: "job", key: jobId }, jobLog(taskIds, startMs));
  for (const [work, taskId] of taskIds.entries()) {
    const id = `${jobId}-session-${work}`;
    await writeLog(store, { kind: "task", key: taskId }, [taskLog(id, taskId)]);
    const stored = { id, title: "plain", closed: true, owner: taskId };
    await writeSession(store, stored, conversation(4));
  }
}
