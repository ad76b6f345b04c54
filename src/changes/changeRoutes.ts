import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import type { StoredResponse } from "../live/storedResponse.js";
import { commitChange, undoChange } from "./actions.js";
import type { ChangeRecord } from "./changeRecords.js";
import type { Changes } from "./changes.js";
import { type Comments, commentsPrompt } from "./comments.js";
import { reportedEdits } from "./reportedEdits.js";

/** What the routes have to know of sessions. Each rejects for one that does not exist. */
export interface SessionOwners {
  find(id: string): Promise<{ workingDirectory: string; turns: number; busy: boolean }>;
  responses(id: string): AsyncIterable<StoredResponse>;
  query(id: string, prompt: string): Promise<string>;
}

/** And of jobs. */
export interface JobOwners {
  find(id: string): Promise<{ workingDirectory: string; modelId: string }>;
  /** The tasks of one of its works, or of all of them. */
  taskIds(id: string, workId?: number): Promise<string[]>;
  sessionIds(taskId: string): Promise<string[]>;
  startSession(modelId: string, workingDirectory: string): Promise<string>;
}

export interface ChangeRouteParts {
  changes: Changes;
  comments: Comments;
  sessions: SessionOwners;
  jobs: JobOwners;
}

const maxPathLength = 4096;
const pathText = { type: "string", minLength: 1, maxLength: maxPathLength } as const;
const turnQuery = { type: "integer", minimum: 1, description: "One turn; without it, all turns." } as const;
const file = object({
  path: text,
  "oldPath?": text,
  kind: oneOfTexts("added", "changed", "deleted", "renamed"),
  added: number,
  deleted: number,
  "binary?": flag,
  "oldMode?": text,
  "newMode?": text,
});
const totals = { files: number, added: number, deleted: number };
const changeAnswer = object({
  "repository?": flag,
  "base?": { type: ["string", "null"] },
  "head?": { type: ["string", "null"] },
  "shared?": list(object({ id: text, name: text })),
  "late?": flag,
  "problem?": text,
  "left?": list(object({ path: text, why: text })),
  files: list(file),
  "outside?": number,
  "turns?": list(
    object({ turn: number, "requestId?": text, ...totals, "late?": flag, "shared?": flag, "commit?": text }),
  ),
  "undos?": list(object({ undo: number, restored: list(text) })),
});
const fileAnswer = object({
  path: text,
  diff: text,
  "cut?": flag,
  "before?": text,
  "after?": text,
  "binary?": flag,
});
const undoAnswer = object({
  undo: number,
  restored: list(text),
  kept: list(object({ path: text, why: text })),
});
const problem = object({ error: text, message: text });
const comment = object({
  id: number,
  path: text,
  line: number,
  side: oneOfTexts("before", "after"),
  quoted: text,
  comment: text,
});
const commentBody = {
  type: "object",
  properties: {
    path: pathText,
    line: { type: "integer", minimum: 1 },
    side: { type: "string", enum: ["before", "after"] },
    quoted: { type: "string", maxLength: 2000 },
    comment: { type: "string", minLength: 1, maxLength: 10_000 },
  },
  required: ["path", "line", "comment"],
  additionalProperties: false,
} as const;

const noSession = domainError(
  "SessionNotFound",
  "TurnNotFound",
  "UndoNotFound",
  "FileNotChanged",
  "SessionBusy",
);
const noJob = domainError("JobNotFound", "FileNotChanged");

/** What agents changed in folders. */
export function changeRoutes(parts: ChangeRouteParts): Route[] {
  return [...sessionRoutes(parts), ...jobRoutes(parts), ...commentRoutes(parts)];
}

/** The record of a turn, the records of all turns and undos, and whether the folder is a repository. */
async function selected({ changes, sessions }: ChangeRouteParts, id: string, turn: number | undefined) {
  const session = await sessions.find(id);
  await changes.settled(id);
  const all = await changes.records.of(id);
  if (turn === undefined) return { session, records: all };
  if (turn > session.turns)
    throw PortalError.domain("TurnNotFound", `The session has ${session.turns} turns, not ${turn}.`);
  return { session, records: all.filter(record => record.kind === "turn" && record.number === turn) };
}

const outsideGit = (records: readonly ChangeRecord[]) =>
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

function sessionRoutes(parts: ChangeRouteParts): Route[] {
  const { changes, sessions } = parts;
  return [
    defineRoute({
      path: "copilot/session/{id}/changes",
      reads: true,
      methods: ["GET"],
      summary: "The files that a session, or one of its turns, changed",
      query: { turn: turnQuery },
      answers: { json: either(changeAnswer, noSession) },
      handler: async ({ params, query: { turn } }) => {
        const { session, records } = await selected(parts, params.id, turn);
        if (session.turns > 0 && outsideGit(records))
          return {
            repository: false,
            files: await reportedEdits(sessions.responses(params.id), session.workingDirectory, turn),
          };
        const answer = await changes.answer(records);
        if (turn !== undefined) return answer;
        const undos = records.filter(({ kind }) => kind === "undo");
        return {
          ...answer,
          turns: turnsOf(records),
          undos: undos.map(record => ({ undo: record.number, restored: record.restored ?? [] })),
        };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/changes/file",
      reads: true,
      methods: ["GET"],
      summary: "What a session, or one of its turns, changed in a file",
      query: { path: pathText, turn: turnQuery },
      answers: { json: either(fileAnswer, noSession) },
      handler: async ({ params, query: { turn, path = "" } }) => {
        const { records } = await selected(parts, params.id, turn);
        return fileOf(changes, records, path);
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/changes/undo",
      methods: ["POST"],
      summary: "Put the files of a turn back to what they were before it, or undo an undo",
      bodySchema: {
        type: "object",
        properties: {
          turn: { type: "integer", minimum: 1 },
          undo: { type: "integer", minimum: 1 },
          overwrite: { type: "array", maxItems: 10_000, items: pathText },
        },
        additionalProperties: false,
      },
      answers: { json: either(undoAnswer, noSession, problem) },
      handler: async ({ params, json: { turn, undo, overwrite = [] } }) => {
        if ((turn === undefined) === (undo === undefined))
          throw PortalError.malformed("UndoMalformed", "Name either a turn or an undo.");
        const { session, records } = await selected(parts, params.id, turn);
        if (session.busy)
          throw PortalError.domain("SessionBusy", "The agent is working: end its turn first.");
        if (turn !== undefined) needRepository(session, records);
        const record = turn === undefined ? undoNumbered(records, undo) : records[0];
        if (!record) throw PortalError.domain("TurnNotFound", `Turn ${turn} changed nothing.`);
        return undoChange(changes, record, overwrite);
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/changes/commit",
      methods: ["POST"],
      summary: "Commit exactly what a session, or one of its turns, changed",
      bodySchema: {
        type: "object",
        properties: {
          message: { type: "string", minLength: 1, maxLength: 20_000, pattern: "\\S" },
          turn: { type: "integer", minimum: 1 },
          paths: { type: "array", minItems: 1, maxItems: 10_000, items: pathText },
        },
        required: ["message"],
        additionalProperties: false,
      },
      answers: { json: either(object({ commit: text }), noSession, problem) },
      handler: async ({ params, json: { message, turn, paths } }) => {
        const { session, records } = await selected(parts, params.id, turn);
        if (session.busy)
          throw PortalError.domain("SessionBusy", "The agent is working: end its turn first.");
        needRepository(session, records);
        return commitChange(changes, records, message, paths);
      },
    }),
  ];
}

function needRepository(
  { workingDirectory, turns }: { workingDirectory: string; turns: number },
  records: readonly ChangeRecord[],
): void {
  if (turns > 0 && outsideGit(records))
    throw PortalError.explained(
      "NoRepository",
      `There is no git repository that can be used in ${workingDirectory}.`,
    );
}

function undoNumbered(records: readonly ChangeRecord[], undo: number | undefined): ChangeRecord {
  const record = records.find(found => found.kind === "undo" && found.number === undo);
  if (!record) throw PortalError.domain("UndoNotFound", `The session has no undo ${undo}.`);
  return record;
}

async function fileOf(changes: Changes, records: readonly ChangeRecord[], path: string) {
  const range = await changes.range(records);
  const diff = range && (await changes.file(range, path));
  if (!diff) throw PortalError.domain("FileNotChanged", `There is no change of ${JSON.stringify(path)}.`);
  return diff;
}

const ofJob = {
  workId: { type: "integer", minimum: 0, description: "One work; without it, all works." },
  attempt: { type: "integer", minimum: 1, description: "One attempt; without it, all attempts." },
} as const;

function jobRoutes({ changes, sessions, jobs }: ChangeRouteParts): Route[] {
  async function records(id: string, { workId, attempt }: { workId?: number; attempt?: number }) {
    await jobs.find(id);
    await changes.settled(id, true);
    const tasks = new Set(await jobs.taskIds(id, workId));
    return (await changes.records.of(id, true)).filter(
      record => tasks.has(record.owner) && (attempt === undefined || record.number === attempt),
    );
  }
  return [
    defineRoute({
      path: "copilot/job/{jobId}/changes",
      reads: true,
      methods: ["GET"],
      summary: "The files that a job, one of its works or an attempt changed",
      query: ofJob,
      answers: { json: either(changeAnswer, noJob) },
      handler: async ({ params, query }) => {
        const found = await records(params.jobId, query);
        if (found.length === 0 || !outsideGit(found)) return changes.answer(found);
        const { workingDirectory } = await jobs.find(params.jobId);
        const files = [];
        for (const owner of new Set(found.map(record => record.owner)))
          for (const sessionId of await jobs.sessionIds(owner))
            files.push(...(await reportedEdits(sessions.responses(sessionId), workingDirectory)));
        return { repository: false, files };
      },
    }),
    defineRoute({
      path: "copilot/job/{jobId}/changes/file",
      reads: true,
      methods: ["GET"],
      summary: "What a job, one of its works or an attempt changed in a file",
      query: { path: pathText, ...ofJob },
      answers: { json: either(fileAnswer, noJob) },
      handler: async ({ params, query }) =>
        fileOf(changes, await records(params.jobId, query), query.path ?? ""),
    }),
  ];
}

function commentRoutes({ comments, sessions, jobs }: ChangeRouteParts): Route[] {
  const owned = (
    base: "copilot/session/{id}" | "copilot/job/{id}",
    check: (id: string) => Promise<unknown>,
    send: (id: string, prompt: string) => Promise<object>,
    sent: ReturnType<typeof object>,
  ): Route[] => {
    const missing = domainError(base.includes("job") ? "JobNotFound" : "SessionNotFound", "CommentNotFound");
    return [
      defineRoute({
        path: `${base}/changes/comments`,
        reads: true,
        methods: ["GET"],
        summary: "The comments on changes that have not been sent yet",
        answers: { json: either(object({ comments: list(comment) }), missing) },
        handler: async ({ params }) => {
          await check(params.id);
          return { comments: await comments.of(params.id) };
        },
      }),
      defineRoute({
        path: `${base}/changes/comments`,
        methods: ["POST"],
        summary: "Write a comment on a line of a change",
        bodySchema: commentBody,
        answers: { json: either(object({ id: number }), missing, problem) },
        handler: async ({ params, json: { side = "after", quoted = "", ...rest } }) => {
          await check(params.id);
          return { id: await comments.add(params.id, { ...rest, side, quoted }) };
        },
      }),
      defineRoute({
        path: `${base}/changes/comments/{commentId}/delete`,
        methods: ["POST"],
        summary: "Delete a comment",
        answers: { json: either(object({ result: oneOfTexts("Deleted") }), missing) },
        handler: async ({ params }) => {
          const isNumber = /^\d{1,9}$/.test(params.commentId);
          if (!isNumber || (await comments.delete(params.id, [Number(params.commentId)])) === 0)
            throw PortalError.domain(
              "CommentNotFound",
              `There is no comment ${JSON.stringify(params.commentId)}.`,
            );
          return { result: "Deleted" };
        },
      }),
      defineRoute({
        path: `${base}/changes/comments/send`,
        methods: ["POST"],
        summary: "Send all comments as one request",
        answers: { json: either(sent, missing) },
        handler: async ({ params }) => {
          await check(params.id);
          const all = await comments.of(params.id);
          if (all.length === 0) throw PortalError.domain("CommentNotFound", "There is no comment to send.");
          const answer = await send(params.id, commentsPrompt(all));
          // After a kill in between they are still there, and none is lost.
          await comments.delete(
            params.id,
            all.map(({ id }) => id),
          );
          return answer;
        },
      }),
    ];
  };
  return [
    ...owned(
      "copilot/session/{id}",
      id => sessions.find(id),
      async (id, prompt) => ({ requestId: await sessions.query(id, prompt) }),
      object({ requestId: text }),
    ),
    ...owned(
      "copilot/job/{id}",
      id => jobs.find(id),
      async (id, prompt) => {
        const { modelId, workingDirectory } = await jobs.find(id);
        const sessionId = await jobs.startSession(modelId, workingDirectory);
        return { sessionId, requestId: await sessions.query(sessionId, prompt) };
      },
      object({ sessionId: text, requestId: text }),
    ),
  ];
}
