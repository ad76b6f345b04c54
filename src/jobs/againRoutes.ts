import { defineRoute, type Route } from "../api/route.js";
import { anything, domainError, either, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import { currentPortal } from "../currentPortal.js";
import { startCheckedJob, startErrors } from "../jobsApi.js";
import type { LogKind } from "../live/liveResponse.js";
import type { LiveLogs } from "../sharedApi.js";
import { type Isolation, isolationOf, isolationQuery } from "../worktrees/isolation.js";
import { compareWorks, type NamedWork } from "./compareJobs.js";
import { workAt } from "./engine/interpreter.js";
import { jobSummary, summaryOf } from "./jobAnswers.js";
import { type ChangesOf, evidenceOfTask, evidenceOfWorks, type ReadLog } from "./jobEvidence.js";
import type { JobOrigin, JobRecord } from "./jobRecords.js";
import { knownJob } from "./knownJob.js";
import { checkRetry, hasReached, reachedWorks, worksToTake } from "./takeover.js";

const evidence = object({
  taskId: text,
  "workId?": number,
  "path?": text,
  attempt: number,
  modelId: text,
  sessionIds: list(text),
  "startedAt?": text,
  "endedAt?": text,
  verdict: oneOfTexts("succeeded", "failed", "crashed", "interrupted", "canceled"),
  criteria: list(anything),
  crashes: number,
  "toolCalls?": list(anything),
  "commands?": list(anything),
  "changes?": anything,
  "usage?": anything,
  "retryPrompt?": text,
});

/** Starts a job again that is in no installed entry; undefined where it is none of these. */
export type StartElsewhere = (job: JobRecord, origin: JobOrigin) => Promise<{ jobId: string } | undefined>;

/** What an agent did, and doing it again. */
export function againRoutes(
  logs: LiveLogs,
  changesOf?: ChangesOf,
  startElsewhere: StartElsewhere = async () => undefined,
): Route[] {
  const read: ReadLog = async function* (kind: LogKind, id: string) {
    const log = await logs.open(kind, id);
    if (log) yield* log.responses();
  };

  async function evidenceOfJob(jobId: string) {
    const { id } = await knownJob(jobId);
    const taken = await currentPortal().engine.jobs.taken(id);
    const works = await evidenceOfWorks(id, taken, read, changesOf);
    return { evidence: works.flatMap(({ attempts }) => attempts) };
  }

  async function evidenceById(taskId: string) {
    await currentPortal().engine.ready;
    if (!(await logs.open("task", taskId)))
      throw PortalError.domain("TaskNotFound", `There is no task ${JSON.stringify(taskId)}.`);
    return { evidence: await evidenceOfTask(taskId, read, changesOf) };
  }

  async function retry(jobId: string, from: string | undefined) {
    const { engine, worktrees } = currentPortal();
    const job = await knownJob(jobId);
    checkRetry(job.status, from);
    const worktree = await worktrees.in(job.workingDirectory);
    if (worktree && worktree.state !== "waiting")
      throw PortalError.explained(
        "WorktreeDecided",
        `Its worktree is ${worktree.state}: run the job again instead.`,
      );
    const entry = await engine.jobs.entry(job.entryHash);
    const work = entry.jobs[job.name]?.work;
    if (!work) throw PortalError.explained("JobNotFound", `The definition of ${job.name} is gone.`);
    const reached = await reachedWorks(job.id, read("job", job.id), await engine.jobs.taken(job.id));
    if (from !== undefined && !hasReached(reached, from))
      throw PortalError.explained("PathNotFound", `The job did not come to ${JSON.stringify(from)}.`);
    const { name: jobName, userInput, workingDirectory } = job;
    const taken = worksToTake(work, reached, from);
    const origin = { retryOf: job.id, taken };
    // It ends before its successor begins, so that it can never go on as well; unless somebody has just continued it.
    if (job.status === "Paused" && !(await engine.stopJob(job.id, ["Paused"])))
      checkRetry((await knownJob(jobId)).status, from);
    return { jobId: await engine.startJob({ entry, jobName, userInput, workingDirectory, origin }) };
  }

  async function again(jobId: string, body: string, wanted: Isolation | undefined) {
    const job = await knownJob(jobId);
    const elsewhere = await startElsewhere(job, { againOf: job.id });
    if (elsewhere) return elsewhere;
    // A job that was isolated is so again, from the user's folder and not from its old worktree.
    const worktree = await currentPortal().worktrees.in(job.workingDirectory);
    const folder = worktree?.target ?? job.workingDirectory;
    const { userInput = job.userInput, workingDirectory = folder } = changesIn(body);
    const isolation = wanted ?? (worktree && { fromChanges: worktree.fromChanges });
    return startCheckedJob(job.name, workingDirectory, userInput, { againOf: job.id }, isolation);
  }

  /** The works of a job with the names that its definition gives them. */
  async function namedWorks({ id, name, entryHash }: JobRecord): Promise<NamedWork[]> {
    const { engine } = currentPortal();
    const root = (await engine.jobs.entry(entryHash)).jobs[name]?.work;
    const works = await evidenceOfWorks(id, await engine.jobs.taken(id), read, changesOf);
    const named: NamedWork[] = [];
    for (const run of works) {
      const work = root && workAt(root, run.path);
      // Only of several attempts nobody knows it yet.
      const changing = run.attempts.filter(attempt => attempt.changes);
      const changes = changing.length > 1 ? await changesOf?.(run.taskId) : undefined;
      named.push({
        ...run,
        taskName: work?.kind === "Ref" ? work.taskId : "",
        ...(changes && { changes }),
      });
    }
    return named;
  }

  async function compare(...ids: string[]) {
    // Another portal may write the second one.
    for (const id of ids) await logs.refresh(id);
    const jobs = await Promise.all(ids.map(knownJob));
    const usage = await currentPortal().engine.jobs.usage(ids);
    const works = compareWorks(...(await Promise.all(jobs.map(namedWorks))));
    return { jobs: jobs.map(job => summaryOf(job, { used: usage.get(job.id) })), works };
  }

  return [
    defineRoute({
      path: "copilot/job/{jobId}/evidence",
      reads: true,
      methods: ["GET"],
      summary: "What is known about each attempt of a job's tasks: what was checked, done and used",
      answers: { json: either(object({ evidence: list(evidence) }), domainError("JobNotFound")) },
      handler: ({ params }) => evidenceOfJob(params.jobId),
    }),
    defineRoute({
      path: "copilot/task/{taskId}/evidence",
      reads: true,
      methods: ["GET"],
      summary: "The same for one task",
      answers: { json: either(object({ evidence: list(evidence) }), domainError("TaskNotFound")) },
      handler: ({ params }) => evidenceById(params.taskId),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/retry",
      methods: ["POST"],
      summary: "Start a new job that takes over what succeeded and runs the rest again",
      description:
        "The new job has the definition of the old one. With `from`, that work and everything after it run again. A job that is paused ends as canceled.",
      query: {
        from: { type: "string", maxLength: 10_000, description: "The path of a work, such as `w.1`." },
      },
      answers: {
        json: either(
          object({ jobId: text }),
          domainError("JobNotFound", "JobRunning", "NothingToRetry", "PathNotFound", "WorktreeDecided"),
        ),
      },
      handler: ({ params, query }) => retry(params.jobId, query.from),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/again",
      methods: ["POST"],
      summary: "Start the same job again, as it is defined today",
      body: "text",
      bodyDescription:
        "Empty, or a JSON object with `userInput` or `workingDirectory`, which replace the old.",
      query: isolationQuery,
      answers: { json: either(object({ jobId: text }), startErrors) },
      handler: ({ params, query, body }) => again(params.jobId, body, isolationOf(query)),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/compare/{otherId}",
      reads: true,
      methods: ["GET"],
      summary: "Two jobs side by side, work by work",
      answers: {
        json: either(
          object({
            jobs: list(jobSummary),
            works: list(
              object({
                path: text,
                taskName: text,
                runs: list({ type: ["object", "null"] }),
                differs: list(text),
              }),
            ),
          }),
          domainError("JobNotFound"),
        ),
      },
      handler: ({ params }) => compare(params.jobId, params.otherId),
    }),
  ];
}

/** The optional body of `again`. */
function changesIn(body: string): { userInput?: string; workingDirectory?: string } {
  if (body.trim() === "") return {};
  const malformed = (message: string) => PortalError.malformed("BodyMalformed", message);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw malformed("The body is neither empty nor JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw malformed("The body must be an object.");
  for (const [name, text] of Object.entries(value)) {
    if (name !== "userInput" && name !== "workingDirectory")
      throw malformed(`${JSON.stringify(name.slice(0, 100))} is not known here.`);
    if (typeof text !== "string") throw malformed(`${name} must be a text.`);
  }
  return value;
}
