import { setTimeout as pause } from "node:timers/promises";
import { helperSessionStart, helperSessionStop } from "../src/copilotApi.js";
import { startJob } from "../src/jobsApi.js";
import { validateEntry } from "../src/jobsDef.js";
import { installJobsEntry } from "../src/taskApi.js";
import { entryOf, type JobsPortal, portalWithEntry, task } from "../test/support/jobs/jobs.js";
import { killLoop } from "../test/support/kills/killLoop.js";
import { scriptedModelId } from "../test/support/model/scriptedModel.js";
import { portalHere } from "../test/support/portal/portalHere.js";
import { cpuMs } from "./support/process.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { timed } from "./support/turns.js";

const rounds = 7;
const tasksPerRound = 10;
const waitingJobs = 30;
const idleMs = 10_000;
/** The warm-up: a new server still compiles and polls faster. */
const settleMs = 10_000;
const kills = 100;

const model = { category: "driving" };
const tasks = { plain: { prompt: ["plain"], model }, held: { prompt: ["held", "@wait for ever"], model } };

/** Compares, in turns, a job of ten tasks with ten sessions that a plain loop opens, asks and closes. */
async function overheadRows(): Promise<Row[]> {
  return inScope(async scope => {
    const { workingDirectory } = await portalHere(scope);
    const works = Array.from({ length: tasksPerRound }, () => task("plain"));
    await installJobsEntry(
      validateEntry(entryOf({ tasks, jobs: { ten: { work: { kind: "Seq", works } } } }), ""),
    );
    const loop = async () => {
      for (let i = 0; i < tasksPerRound; i++) {
        const [session] = await helperSessionStart(scriptedModelId, workingDirectory);
        await session.sendRequest("plain");
        await helperSessionStop(session);
      }
    };
    const job = () =>
      new Promise<void>((resolve, reject) => {
        const jobFailed = () => reject(new Error("The job failed"));
        const callback = { jobSucceeded: resolve, jobFailed, workStarted: () => {}, workStopped: () => {} };
        startJob("ten", "", workingDirectory, callback).catch(reject);
      });
    const perTask = (work: () => Promise<void>) => async () => (await timed(work)) / tasksPerRound;
    return compare({
      rounds,
      warmUp: true,
      unit: "ms",
      reference: { name: "a task as a session in a plain loop", take: perTask(loop) },
      subjects: { "a task in a job": { take: perTask(job), goal: { of: "difference", atMost: 50 } } },
    });
  });
}

async function idlePercent({ portal }: JobsPortal): Promise<number> {
  const before = await cpuMs(portal.pid);
  await pause(idleMs);
  return ((await cpuMs(portal.pid)) - before) / (idleMs / 100);
}

/** Fills the queue with waiting jobs; then the server dies and finds them again. */
async function idleRows(): Promise<Row[]> {
  return inScope(async scope => {
    const jobs = { plain: { work: task("plain") }, held: { work: task("held") } };
    const jobsPortal = await portalWithEntry(scope, { tasks, jobs }, { config: { maxTasks: 1 } });
    const goal = { atMost: 3 };
    await jobsPortal.portal.api("copilot/job/running");
    await pause(settleMs);
    const empty = await idlePercent(jobsPortal);
    await jobsPortal.startJob("held");
    await jobsPortal.puppet.arrived("for ever");
    for (let i = 0; i < waitingJobs; i++) await jobsPortal.startJob("plain");
    await pause(settleMs);
    const waiting = await idlePercent(jobsPortal);
    await jobsPortal.portal.kill("SIGKILL");
    await jobsPortal.portal.restart();
    await jobsPortal.model.waitForRequest(({ userText }) => userText.startsWith("The session crashed"));
    await pause(settleMs);
    const again = await idlePercent(jobsPortal);
    jobsPortal.puppet.release("for ever");
    return [
      absoluteRow("idle CPU of the server", empty, "%", goal),
      absoluteRow(`idle CPU with ${waitingJobs} waiting jobs`, waiting, "%", goal),
      absoluteRow("the same after a kill and a restart", again, "%", goal),
    ];
  });
}

async function killRow(): Promise<Row> {
  const result = await inScope(scope => killLoop(scope, kills));
  const { jobs, tasksEnded, prompts, repeated, seed } = result;
  const counts = `${jobs} jobs, ${tasksEnded} tasks ended once, ${prompts} prompts, ${repeated} again after a death that hit them, seed ${seed}`;
  return absoluteRow(`kills without a loss: ${counts}`, result.kills, "kills", { atLeast: kills });
}

export async function jobRows(): Promise<Row[]> {
  return [...(await overheadRows()), ...(await idleRows())];
}

/** Separate from the others, because it takes ten minutes. */
export async function killRows(): Promise<Row[]> {
  return [await killRow()];
}
