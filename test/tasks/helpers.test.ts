import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { helperGetSession, helperSessionStart, helperSessionStop } from "../../src/copilotApi.js";
import { type ICopilotJobCallback, startJob } from "../../src/jobsApi.js";
import { validateEntry } from "../../src/jobsDef.js";
import { type ICopilotTaskCallback, installJobsEntry, startTask } from "../../src/taskApi.js";
import { tempFolder } from "../support/cleanup.js";
import { entryOf, task } from "../support/jobs/jobs.js";
import { scriptedModelId, startScriptedModel } from "../support/model/scriptedModel.js";
import { runPortal } from "../support/portal/portal.js";
import { portalHere } from "../support/portal/portalHere.js";

const model = { category: "driving" };
const condition = ["fine? job_boolean_true", "@call job_boolean_true yes"];
const tasks = {
  plain: { prompt: ["plain"], model },
  crashing: { prompt: ["crashing", "@crash"], model },
  held: { prompt: ["held", "@wait held"], model },
  checked: {
    prompt: ["checked"],
    model,
    criteria: { condition, runConditionInSameSession: false, failureAction: { retryTimes: 0 } },
  },
};
const jobs = {
  both: { work: { kind: "Seq" as const, works: [task("plain"), task("checked")] } },
  crashing: { work: task("crashing") },
};

/** Records the callbacks of a task. */
function taskRecorder() {
  const calls: string[] = [];
  let end = () => {};
  const ended = new Promise<void>(resolve => {
    end = resolve;
  });
  const callback: ICopilotTaskCallback = {
    taskSucceeded: () => {
      calls.push("succeeded");
      end();
    },
    taskFailed: () => {
      calls.push("failed");
      end();
    },
    taskDecision: () => {},
    taskSessionStarted: (session, _taskId, isDriving) =>
      calls.push(`started${isDriving ? " driving" : ""} ${session === undefined ? "nothing" : "a session"}`),
    taskSessionStopped: (_session, _taskId, succeeded) => calls.push(`stopped ${succeeded}`),
  };
  return { calls, callback, ended };
}

test("Programs start tasks and jobs through the exported functions", async t => {
  const { workingDirectory, arrived, release } = await portalHere(t);
  const start = (name: string, callback: ICopilotTaskCallback, errors: unknown[] = []) =>
    startTask(name, "", undefined, false, callback, undefined, workingDirectory, error => errors.push(error));

  await t.test("startTask throws before installJobsEntry has been called", async () => {
    await assert.rejects(start("plain", taskRecorder().callback), /installJobsEntry has not been called/);
  });

  await t.test("installJobsEntry takes a validated entry", async () => {
    await installJobsEntry(validateEntry(entryOf({ tasks, jobs }), ""));
    await assert.rejects(start("nothing", taskRecorder().callback), /There is no task "nothing"/);
  });

  await t.test("startTask opens the sessions that a task needs and reports them", async () => {
    const { calls, callback, ended } = taskRecorder();
    const started = await start("checked", callback);
    assert.equal(started.status, "Executing");
    await ended;
    assert.deepEqual(calls, [
      ...["started a session", "stopped true"],
      ...["started driving a session", "stopped true"],
      "succeeded",
    ]);
    assert.equal(started.status, "Succeeded");
    assert.ok(started.drivingSession);
  });

  await t.test("startTask opens no session when it is given one, and leaves that one open", async () => {
    const [session, sessionId] = await helperSessionStart(scriptedModelId, workingDirectory);
    const { calls, callback, ended } = taskRecorder();
    const started = await startTask("checked", "", session, true, callback, undefined, undefined, () => {});
    assert.equal(started.drivingSession, session);
    await ended;
    assert.deepEqual(calls, ["succeeded"]);
    assert.equal(helperGetSession(sessionId), session);
    await helperSessionStop(session);
  });

  await t.test("startTask passes a crash to the handler and keeps it", async () => {
    const { calls, callback, ended } = taskRecorder();
    const errors: unknown[] = [];
    const started = await start("crashing", callback, errors);
    await ended;
    assert.equal(calls.at(-1), "failed");
    assert.equal(started.status, "Failed");
    assert.match(started.crashError ?? "", /SessionCrashedError/);
    assert.deepEqual(errors, [started.crashError]);
  });

  await t.test("stop ends a task in the middle of a prompt, and no callback follows", async () => {
    const { calls, callback } = taskRecorder();
    const started = await start("held", callback);
    await arrived("held");
    const session = started.drivingSession;
    const stopped = session.sendRequest("behind the other").catch((error: Error) => error.message);
    started.stop();
    assert.match(String(await stopped), /stopped/);
    release("held");
    assert.deepEqual(calls, ["started driving a session"]);
  });

  await t.test("startJob reports every work and the end of the job", async () => {
    const calls: string[] = [];
    let end = () => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const callback: ICopilotJobCallback = {
      jobSucceeded: () => end(),
      jobFailed: () => end(),
      workStarted: workId => calls.push(`started ${workId}`),
      workStopped: (workId, succeeded) => calls.push(`stopped ${workId} ${succeeded}`),
    };
    const job = await startJob("both", "", workingDirectory, callback);
    assert.equal(job.status, "Executing");
    await ended;
    assert.deepEqual(calls, ["started 0", "stopped 0 true", "started 1", "stopped 1 true"]);
    assert.equal(job.status, "Succeeded");
    assert.deepEqual(job.runningWorkIds, []);
    await assert.rejects(startJob("nothing", "", workingDirectory, callback), /There is no job "nothing"/);
  });
});

test("--entry with a model that no backend has stops the start and names its place and the available models", async t => {
  const file = join(await tempFolder(t), "entry.json");
  await writeFile(file, JSON.stringify(entryOf({ tasks, jobs, models: { coding: "gone" } })));
  const scripted = await startScriptedModel(t, {});
  const { code, stderr } = await runPortal(t, {
    model: scripted,
    args: ["--entry", file, "--log-level", "warn"],
  });
  const reason = `entry.models["coding"]: No backend has the model "gone"; available: ${scriptedModelId}.`;
  const words = stderr.split("\n").filter(line => line !== "" && !line.startsWith("{"));
  assert.deepEqual([code, words], [1, [`--entry ${file}: ${reason}`]]);
});

test("--entry with a file that is not an entry stops the start with one line", async t => {
  const folder = await tempFolder(t);
  const file = join(folder, "entry.json");
  const startWith = async (content: string) => {
    await writeFile(file, content);
    const { code, stderr } = await runPortal(t, { args: ["--entry", file] });
    assert.equal(code, 1);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    return stderr;
  };
  assert.match(await startWith("{"), /--entry .*entry\.json: .*JSON/);
  assert.match(await startWith(JSON.stringify(entryOf({ tasks: { a: { prompt: [] } } }))), /entry\.tasks/);
  const { code, stderr } = await runPortal(t, { args: ["--entry", join(folder, "none.json")] });
  assert.equal(code, 1);
  assert.match(stderr, /none\.json: there is no such file/);
});
