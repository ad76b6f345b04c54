import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import { commitChange, undoChange, undoChanges } from "./actions.js";
import {
  type ChangeRouteParts,
  changesOfJob,
  changesOfSession,
  outsideGit,
  recordsOfJob,
  selected,
} from "./changeAnswers.js";
import type { ChangeRecord } from "./changeRecords.js";
import type { Changes } from "./changes.js";
import { commentsPrompt } from "./comments.js";

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
  "works?": list(object({ workId: number, ...totals })),
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
const noJob = domainError("JobNotFound", "FileNotChanged", "UndoNotFound");

/** What agents changed in folders. */
export function changeRoutes(parts: ChangeRouteParts): Route[] {
  return [...sessionRoutes(parts), ...jobRoutes(parts), ...commentRoutes(parts)];
}

function sessionRoutes(parts: ChangeRouteParts): Route[] {
  const { changes } = parts;
  return [
    defineRoute({
      path: "copilot/session/{id}/changes",
      reads: true,
      methods: ["GET"],
      summary: "The files that a session, or one of its turns, changed",
      query: { turn: turnQuery },
      answers: { json: either(changeAnswer, noSession) },
      handler: ({ params, query: { turn } }) => changesOfSession(parts, params.id, turn),
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
  if (!record) throw PortalError.domain("UndoNotFound", `There is no undo ${undo}.`);
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

function jobRoutes(parts: ChangeRouteParts): Route[] {
  return [
    defineRoute({
      path: "copilot/job/{jobId}/changes",
      reads: true,
      methods: ["GET"],
      summary: "The files that a job, one of its works or an attempt changed",
      query: ofJob,
      answers: { json: either(changeAnswer, noJob) },
      handler: ({ params, query }) => changesOfJob(parts, params.jobId, query),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/changes/file",
      reads: true,
      methods: ["GET"],
      summary: "What a job, one of its works or an attempt changed in a file",
      query: { path: pathText, ...ofJob },
      answers: { json: either(fileAnswer, noJob) },
      handler: async ({ params, query }) =>
        fileOf(parts.changes, await recordsOfJob(parts, params.jobId, query), query.path ?? ""),
    }),
    defineRoute({
      path: "copilot/job/{jobId}/changes/undo",
      methods: ["POST"],
      summary:
        "Put the files of a job, a work or an attempt back to what they were before it, or undo an undo",
      query: ofJob,
      bodySchema: {
        type: "object",
        properties: {
          undo: { type: "integer", minimum: 1 },
          overwrite: { type: "array", maxItems: 10_000, items: pathText },
        },
        additionalProperties: false,
      },
      answers: { json: either(undoAnswer, noJob, problem) },
      handler: ({ params, query, json: { undo, overwrite = [] } }) =>
        undoJob(parts, params.jobId, query, undo, overwrite),
    }),
  ];
}

/** An isolated job is undone in its worktree; what was applied to the user's folder stays there. */
async function undoJob(
  parts: ChangeRouteParts,
  owner: string,
  which: { workId?: number; attempt?: number },
  undo: number | undefined,
  overwrite: readonly string[],
) {
  const { changes, jobs } = parts;
  const { workingDirectory: folder, ended } = await jobs.find(owner);
  if (!ended) throw PortalError.explained("JobRunning", "The job has not ended yet: stop it first.");
  const own = async () => [undoNumbered(await changes.records.of(owner), undo)];
  const records = undo === undefined ? await recordsOfJob(parts, owner, which) : await own();
  needRepository({ workingDirectory: folder, turns: records.length }, records);
  return undoChanges(changes, { owner, folder: records.at(-1)?.folder ?? folder, records }, overwrite);
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
