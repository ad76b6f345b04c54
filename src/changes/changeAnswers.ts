import { PortalError } from "../base/portalError.js";
import type { StoredResponse } from "../live/storedResponse.js";
import type { ChangeRecord } from "./changeRecords.js";
import type { Changes } from "./changes.js";
import type { Comments } from "./comments.js";
import { reportedEdits } from "./reportedEdits.js";

/** What the routes have to know of sessions. Each rejects for one that does not exist. */
export interface SessionOwners {
  find(id: string): Promise<{ workingDirectory: string; turns: number; busy: boolean }>;
  responses(id: string): AsyncIterable<StoredResponse>;
  query(id: string, prompt: string): Promise<string>;
}

/** And of jobs. */
export interface JobOwners {
  find(id: string): Promise<{ workingDirectory: string; modelId: string; ended: boolean }>;
  /** Its runs of tasks so far; a loop runs the same work several times. */
  runs(id: string): Promise<{ workId: number; taskId: string }[]>;
  sessionIds(taskId: string): Promise<string[]>;
  startSession(modelId: string, workingDirectory: string): Promise<string>;
}

export interface ChangeRouteParts {
  changes: Changes;
  comments: Comments;
  sessions: SessionOwners;
  jobs: JobOwners;
}

/** The record of a turn, the records of all turns and undos, and whether the folder is a repository. */
export async function selected(
  { changes, sessions }: ChangeRouteParts,
  id: string,
  turn: number | undefined,
) {
  const session = await sessions.find(id);
  await changes.settled(id);
  const all = await changes.records.of(id);
  if (turn === undefined) return { session, records: all };
  if (turn > session.turns)
    throw PortalError.domain("TurnNotFound", `The session has ${session.turns} turns, not ${turn}.`);
  return { session, records: all.filter(record => record.kind === "turn" && record.number === turn) };
}

export const outsideGit = (records: readonly ChangeRecord[]) =>
  records.every(({ repository, problem }) => repository === null && problem === null);

function turnsOf(records: readonly ChangeRecord[]) {
  return records
    .filter(({ kind }) => kind === "turn")
    .map(({ number: turn, requestId, totals: counted, late, shared, commitId }) => ({
      turn,
      ...(requestId !== null && { requestId }),
      ...(counted ?? { files: 0, added: 0, deleted: 0 }),
      ...(late && { late }),
      ...(shared.length > 0 && { shared: true }),
      ...(commitId !== null && { commit: commitId }),
    }));
}

export async function changesOfSession(parts: ChangeRouteParts, id: string, turn?: number) {
  const { changes, sessions } = parts;
  const { session, records } = await selected(parts, id, turn);
  if (session.turns > 0 && outsideGit(records))
    return {
      repository: false,
      files: await reportedEdits(sessions.responses(id), session.workingDirectory, turn),
    };
  const answer = await changes.answer(records);
  if (turn !== undefined) return answer;
  const undos = records.filter(({ kind }) => kind === "undo");
  return {
    ...answer,
    turns: turnsOf(records),
    undos: undos.map(record => ({ undo: record.number, restored: record.restored ?? [] })),
  };
}

/** One work of a job, or one attempt; without them, all. */
interface OfJob {
  workId?: number;
  attempt?: number;
}

export async function recordsOfJob(
  { changes, jobs }: ChangeRouteParts,
  id: string,
  { workId, attempt }: OfJob,
): Promise<ChangeRecord[]> {
  await jobs.find(id);
  await changes.settled(id, true);
  const runs = (await jobs.runs(id)).filter(run => workId === undefined || run.workId === workId);
  const tasks = new Set(runs.map(({ taskId }) => taskId));
  return (await changes.records.of(id, true)).filter(
    record => tasks.has(record.owner) && (attempt === undefined || record.number === attempt),
  );
}

/** How much each work changed, of those that changed something. */
async function worksOf({ changes, jobs }: ChangeRouteParts, id: string, records: readonly ChangeRecord[]) {
  const works = new Map<number, Set<string>>();
  for (const { workId, taskId } of await jobs.runs(id))
    works.set(workId, (works.get(workId) ?? new Set()).add(taskId));
  const answers = [];
  for (const [workId, tasks] of works) {
    const totals = await changes.totals(records.filter(({ owner }) => tasks.has(owner)));
    if (totals && totals.files > 0) answers.push({ workId, ...totals });
  }
  return answers;
}

export async function changesOfJob(parts: ChangeRouteParts, id: string, which: OfJob) {
  const { changes, sessions, jobs } = parts;
  const found = await recordsOfJob(parts, id, which);
  if (found.length === 0 || !outsideGit(found)) {
    const answer = await changes.answer(found);
    const isWhole = which.workId === undefined && which.attempt === undefined;
    return isWhole ? { ...answer, works: await worksOf(parts, id, found) } : answer;
  }
  const { workingDirectory } = await jobs.find(id);
  const files = [];
  for (const owner of new Set(found.map(record => record.owner)))
    for (const sessionId of await jobs.sessionIds(owner))
      files.push(...(await reportedEdits(sessions.responses(sessionId), workingDirectory)));
  return { repository: false, files };
}
