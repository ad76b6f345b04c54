import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Request, Response } from "express";
import { exportedPage } from "./api/exportedPage.js";
import { namedNodeErrors, nodeQuery } from "./api/nodeQuery.js";
import { defineRoute, type Route } from "./api/route.js";
import { anything, domainError, either, list, number, object, oneOfTexts, text } from "./api/schemas.js";
import { exportFormat, sendExport } from "./api/sendExport.js";
import { packageRoot } from "./base/paths.js";
import { PortalError } from "./base/portalError.js";
import { checkWorkingDirectory } from "./base/workingDirectory.js";
import type { ExportedChanges } from "./changes/exportedChanges.js";
import { currentPortal } from "./currentPortal.js";
import { graphBody, layOut } from "./jobs/chartLayout.js";
import { installEntryFile } from "./jobs/definition/testEntry.js";
import { walkWork } from "./jobs/definition/workTree.js";
import { jobAsJson, jobAsMarkdown } from "./jobs/exportJob.js";
import { detailsOf, jobDetails, jobSummary, parseJobBody, summaryOf } from "./jobs/jobAnswers.js";
import type { JobOrigin, JobRecord } from "./jobs/jobRecords.js";
import { JobStream } from "./jobs/jobStream.js";
import { parseJobCursor } from "./jobs/jobStreamCursor.js";
import { jobNotFound, knownJob } from "./jobs/knownJob.js";
import { type DirectoryProblem, modelIdsOf, planJob } from "./jobs/plan/plan.js";
import { StartedJob } from "./jobs/startedJob.js";
import { type ChartGraph, generateChartNodes } from "./jobsChart.js";
import { type Entry, entrySchema, type Job } from "./jobsDef.js";
import { closedEvent, EventStream } from "./live/eventStream.js";
import type { LogKind } from "./live/liveResponse.js";
import { sendError } from "./live/longPoll.js";
import { modelIdNotFound } from "./sessions/sessionRegistry.js";
import { type LiveLogs, liveHandlers, liveRoutes } from "./sharedApi.js";
import { userInputRequired } from "./taskApi.js";
import { usableRepository } from "./worktrees/gitWorktree.js";
import { type Isolation, isolationOf, isolationQuery } from "./worktrees/isolation.js";
import { worktreesOf } from "./worktrees/worktreeAnswers.js";

export interface ICopilotJob {
  readonly jobId: string;
  get runningWorkIds(): number[];
  get status(): "Executing" | "Succeeded" | "Failed";
  /** Stops all running tasks; no callback follows. */
  stop(): void;
}

export interface ICopilotJobCallback {
  jobSucceeded(): void;
  jobFailed(): void;
  /** `taskId` is the task whose live log can be read. */
  workStarted(workId: number, taskId: string): void;
  workStopped(workId: number, succeeded: boolean): void;
}

export async function startJob(
  jobName: string,
  userInput: string,
  workingDirectory: string,
  callback: ICopilotJobCallback,
  origin?: JobOrigin,
  isolation?: Isolation,
): Promise<ICopilotJob> {
  const { engine, installed, worktrees } = currentPortal();
  const current = await installed.current();
  if (!current) throw new Error("installJobsEntry has not been called");
  const { isolate, work } = jobNamed(current.entry, jobName);
  const job = new StartedJob({ callback, stop: jobId => void engine.stopJob(jobId) });
  const start = (folder: string, id?: string) =>
    engine.startJob({
      entry: current.entry,
      jobName,
      userInput,
      workingDirectory: folder,
      id,
      origin,
      listener: response => job.receive(response),
    });
  // Branches are isolated later, but whoever starts the job should hear now that they cannot be.
  if ([...walkWork(work)].some(({ work: part }) => part.isolate)) await usableRepository(workingDirectory);
  const isolated = isolation ?? (isolate ? { fromChanges: false } : undefined);
  const id = randomUUID();
  const wanted = isolated && { owner: id, name: jobName, target: workingDirectory, ...isolated };
  job.jobId = await (wanted ? worktrees.use(wanted, folder => start(folder, id)) : start(workingDirectory));
  return job;
}

function jobNamed(entry: Entry | undefined, name: string): Job {
  const job = entry && Object.hasOwn(entry.jobs, name) ? entry.jobs[name] : undefined;
  if (!job) throw PortalError.domain("JobNotFound", `There is no job ${JSON.stringify(name)}.`);
  return job;
}

/** For a job that is only followed through its live log. */
const nobody: ICopilotJobCallback = {
  jobSucceeded: () => {},
  jobFailed: () => {},
  workStarted: () => {},
  workStopped: () => {},
};

/** For callers from outside, whose input is checked first. */
export async function startCheckedJob(
  jobName: string,
  workingDirectory: string,
  userInput: string,
  origin?: JobOrigin,
  isolation?: Isolation,
) {
  const { installed, catalog } = currentPortal();
  const current = await installed.current();
  const job = jobNamed(current?.entry, jobName);
  await checkWorkingDirectory(workingDirectory);
  if (job.requireUserInput && userInput.trim() === "") throw userInputRequired();
  for (const id of current ? modelIdsOf(current.entry, job) : [])
    if (!(await catalog.find(id))) throw modelIdNotFound(id);
  const { jobId } = await startJob(jobName, userInput, workingDirectory, nobody, origin, isolation);
  return { jobId };
}

async function planFromBody(jobName: string, body: string) {
  const { workingDirectory, userInput } = parseJobBody(body);
  const { catalog, installed } = currentPortal();
  const current = await installed.current();
  if (!current) throw jobNotFound(jobName);
  const problem = await checkWorkingDirectory(workingDirectory).then(
    () => undefined,
    (error: PortalError) => error.code as DirectoryProblem,
  );
  const { models } = await catalog.list();
  return planJob({
    entry: current.entry,
    jobName,
    models,
    directoryProblem: problem,
    hasUserInput: userInput.trim() !== "",
  });
}

async function statusOf(job: JobRecord) {
  const { engine, worktrees, whereabouts } = currentPortal();
  const where = { waitingFor: engine.waitingFor(job.id), ...(await whereabouts([job.id])).get(job.id) };
  const owned = (await worktreesOf(worktrees, [job])).get(job.id);
  const entry = await engine.jobs.entry(job.entryHash);
  const followers = await engine.jobs.followers(job.id);
  return detailsOf(job, entry, await engine.works(job.id), followers, { ...where, owned });
}

async function stopById(jobId: string) {
  // Stopping a job that has ended succeeds, because the caller has what it wants.
  if (!(await currentPortal().engine.stopJob(jobId))) await knownJob(jobId);
  return { result: "Closed" };
}

/** What this portal can do with a job of another one that is out of reach, by the path of the route. */
export const jobCallsWithoutOwner = {
  "copilot/job/{jobId}/stop": async ({ jobId = "" }: Readonly<Record<string, string>>) => {
    if (!(await currentPortal().engine.stopElsewhere(jobId))) await knownJob(jobId);
    return { result: "Closed" };
  },
};

async function summariesOf(jobs: readonly JobRecord[]) {
  const { engine, worktrees, whereabouts } = currentPortal();
  const ids = jobs.map(({ id }) => id);
  const where = await whereabouts(ids);
  const usage = await engine.jobs.usage(ids);
  const owned = await worktreesOf(worktrees, jobs);
  return jobs.map(job =>
    summaryOf(job, {
      used: usage.get(job.id),
      waitingFor: engine.waitingFor(job.id),
      ...where.get(job.id),
      owned: owned.get(job.id),
    }),
  );
}

async function deleteById(jobId: string) {
  const { status } = await knownJob(jobId);
  if (status === "Running") throw PortalError.domain("JobRunning", "The job is running: stop it first.");
  await currentPortal().engine.deleteJob(jobId);
  return { result: "Deleted" };
}

async function* storedResponses(logs: LiveLogs, kind: LogKind, id: string) {
  const log = await logs.open(kind, id);
  if (log) yield* log.responses();
}

async function continueById(jobId: string) {
  const { engine } = currentPortal();
  if (await engine.continueJob(jobId)) return { result: "Continued" };
  const { status } = await knownJob(jobId);
  throw PortalError.domain("JobNotPaused", `The job is not paused but ${status}.`);
}

/** The job and everything below it on one connection. */
async function sendEverything(logs: LiveLogs, jobId: string, after: string, req: Request, res: Response) {
  const cursor = parseJobCursor(req.get("last-event-id") || after);
  if (!cursor)
    throw PortalError.malformed("LastEventIdMalformed", "Where to go on is not a place of this stream.");
  const log = await logs.open("job", jobId);
  if (!log) {
    await sendError(res, "JobNotFound");
    return;
  }
  const stream = new EventStream(res);
  await new JobStream(logs, stream, cursor).send(log);
  stream.end(closedEvent("JobsClosed"));
}

const notFound = domainError("JobNotFound");
export const startErrors = domainError(
  "JobNotFound",
  "WorkingDirectoryNotAbsolutePath",
  "WorkingDirectoryNotExists",
  "UserInputRequired",
  "ModelIdNotFound",
  "GitNotFound",
  "NoRepository",
  "NoCommit",
  "WorktreeFailed",
  "NodeDraining",
);
const jobBody = "The first line is the working directory, an absolute path; the rest is the user input.";

export function jobRoutes(logs: LiveLogs, exported?: Pick<ExportedChanges, "job">): Route[] {
  async function changesIn(jobId: string) {
    const works = await currentPortal().engine.works(jobId);
    return exported?.job(
      jobId,
      works.map(({ workIdInJob }) => workIdInJob),
    );
  }

  return [
    defineRoute({
      path: "copilot/job",
      reads: true,
      summary: "The jobs of the installed entry, how they are laid out, and their flow charts",
      answers: {
        json: object({ grid: list(anything), jobs: anything, chart: anything, "notices?": list(anything) }),
      },
      handler: async () => {
        const current = await currentPortal().installed.current();
        const { grid = [], jobs = {} } = current?.entry ?? {};
        const charts = Object.entries(jobs).map(([name, { work }]) => [name, generateChartNodes(work)]);
        const notices = current?.notices ?? [];
        return { grid, jobs, chart: Object.fromEntries(charts), ...(notices.length > 0 && { notices }) };
      },
    }),
    defineRoute({
      path: "copilot/chart",
      methods: ["POST"],
      summary: "Where the nodes and arrows of a flow chart go",
      bodySchema: graphBody,
      answers: {
        json: object({ nodes: list(anything), arrows: list(anything), width: number, height: number }),
      },
      handler: async ({ json }) => layOut(json as ChartGraph),
    }),
    defineRoute({
      path: "copilot/job/start/{jobName}",
      summary: "Start a job",
      body: "text",
      bodyDescription: jobBody,
      query: { ...isolationQuery, ...nodeQuery },
      answers: { json: either(object({ jobId: text }), startErrors, domainError(...namedNodeErrors)) },
      handler: ({ params, query, body }) => {
        const { workingDirectory, userInput } = parseJobBody(body);
        return startCheckedJob(params.jobName, workingDirectory, userInput, undefined, isolationOf(query));
      },
    }),
    defineRoute({
      path: "copilot/job/{jobName}/plan",
      reads: true,
      summary: "What a job could do and cost at most, and what is missing; no agent is called",
      body: "text",
      bodyDescription: jobBody,
      query: nodeQuery,
      answers: { json: either(anything, notFound, domainError(...namedNodeErrors)) },
      handler: ({ params, body }) => planFromBody(params.jobName, body),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/stop",
      summary: "Stop a job and everything that it runs",
      answers: { json: either(object({ result: oneOfTexts("Closed") }), notFound) },
      handler: ({ params }) => stopById(params.jobId),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/continue",
      summary: "Go on with a job that is paused since the server was stopped",
      answers: {
        json: either(
          object({ result: oneOfTexts("Continued") }),
          domainError("JobNotFound", "JobNotPaused", "NodeDraining"),
        ),
      },
      handler: ({ params }) => continueById(params.jobId),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/delete",
      methods: ["POST"],
      summary: "Delete a job that does not run, its tasks, their sessions and all their logs, for good",
      answers: {
        json: either(object({ result: oneOfTexts("Deleted") }), domainError("JobNotFound", "JobRunning")),
      },
      handler: ({ params }) => deleteById(params.jobId),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/export",
      reads: true,
      methods: ["GET"],
      summary: "A job with everything below it as Markdown, JSON or a page that plays it",
      query: { format: exportFormat },
      answers: {
        json: either(object({ job: jobSummary, responses: list(anything) }), notFound),
        other: {
          "text/markdown": "The decisions and conversations, task by task.",
          "text/html": "One file that shows and replays the job without a server.",
        },
      },
      handler: async ({ params, query, res }) => {
        const record = await knownJob(params.jobId);
        const job = summaryOf(record);
        const changes = query.format === "html" ? await changesIn(record.id) : {};
        const source = { job, responses: (kind: LogKind, id: string) => storedResponses(logs, kind, id) };
        await sendExport(res, `job-${job.jobId}`, query.format, {
          markdown: () => jobAsMarkdown(source),
          json: () => jobAsJson(source),
          html: () => {
            const path = `copilot/job/${encodeURIComponent(job.jobId)}`;
            return exportedPage({
              page: "job",
              query: { jobName: job.jobName, jobId: job.jobId },
              answers: {
                [`${path}/status`]: statusOf(record),
                [`${path}/export?format=json`]: jobAsJson(source),
                ...changes,
              },
            });
          },
        });
      },
    }),
    defineRoute({
      path: "copilot/job/{jobId}/status",
      reads: true,
      summary: "How far a job is, with each of its tasks",
      answers: { json: either(jobDetails, notFound) },
      handler: async ({ params }) => statusOf(await knownJob(params.jobId)),
    }),
    defineRoute({
      path: "copilot/job/running",
      reads: true,
      summary: "Jobs that run, wait to be continued, or ended within the hour",
      answers: { json: object({ jobs: list(jobSummary) }) },
      handler: async () => ({ jobs: await summariesOf(await currentPortal().engine.jobs.recent()) }),
    }),
    defineRoute({
      path: "copilot/job/history",
      reads: true,
      methods: ["GET"],
      summary: "Jobs of this and earlier days, newest first",
      query: {
        limit: { type: "integer", minimum: 1, maximum: 200, default: 50 },
        before: { type: "string", description: "The jobId of the last job of the page before." },
        search: { type: "string", description: "Part of a name, a working directory or a user input." },
        jobName: { type: "string", description: "The whole name: only the runs of this job." },
      },
      answers: { json: object({ jobs: list(jobSummary), "next?": text }) },
      handler: async ({ query }) => {
        const limit = query.limit ?? 50;
        const jobs = await currentPortal().engine.jobs.history({ ...query, limit });
        const last = jobs.length === limit ? jobs.at(-1) : undefined;
        const { records } = currentPortal().changes;
        const sums = await records.sums(
          jobs.map(({ id }) => id),
          true,
        );
        const summaries = (await summariesOf(jobs)).map(one => ({ ...one, changes: sums.get(one.jobId) }));
        return { jobs: summaries, ...(last && { next: last.id }) };
      },
    }),
    defineRoute({
      path: "schema/entry.json",
      reads: true,
      methods: ["GET"],
      summary: "The shape of a jobs entry as a JSON Schema",
      answers: { json: anything },
      handler: () => entrySchema,
    }),
    ...liveRoutes("job", logs).filter(({ path }) => !path.endsWith("/events")),
    eventsRoute(logs),
  ];
}

/** Only in test mode: an entry can be installed while the portal runs. */
export function jobTestRoutes(folder = join(packageRoot, "test")): Route[] {
  return [
    defineRoute({
      path: "copilot/test/installJobsEntry",
      summary: "Install a jobs entry from a file in the folder `test`",
      body: "text",
      bodyDescription: "The absolute path of the file.",
      answers: {
        json: object({
          result: oneOfTexts("OK", "InvalidatePath", "InvalidateEntry", "Rejected"),
          "error?": text,
        }),
      },
      handler: ({ body }) =>
        installEntryFile(body.trim(), folder, ({ entry, notices }) =>
          currentPortal().installed.install(entry, notices),
        ),
    }),
  ];
}

function eventsRoute(logs: LiveLogs): Route {
  const { events } = liveHandlers("job", logs);
  return defineRoute({
    path: "copilot/job/{jobId}/events",
    reads: true,
    methods: ["GET"],
    summary: "The responses of a job as Server-Sent Events, or of everything below it",
    description:
      "Resumes after Last-Event-ID, or after the id in `after`. With `all=1` the tasks of the job and all their sessions come too, each response with its `source`, `id` and number `n`. The last event is `closed`.",
    query: {
      all: { type: "integer", enum: [0, 1] },
      after: { type: "string", maxLength: 10_000, pattern: "^[\\d.:;-]*$" },
    },
    answers: { json: notFound, eventStream: "One response each; `id` says where to go on." },
    handler: ({ req, res, params: { jobId }, query: { all, after = "" } }) => {
      if (all) return sendEverything(logs, jobId, after, req, res);
      if (!/^\d{0,15}$/.test(after))
        throw PortalError.malformed("AfterMalformed", "`after` is not a number.");
      return events(req, res, jobId, Number(after));
    },
  });
}
