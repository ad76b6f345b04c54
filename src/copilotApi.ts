import { randomUUID } from "node:crypto";
import type { Response } from "express";
import { exportedPage } from "./api/exportedPage.js";
import { namedNodeErrors, nodeQuery } from "./api/nodeQuery.js";
import { defineRoute, type Route } from "./api/route.js";
import {
  changeSum,
  domainError,
  either,
  flag,
  list,
  number,
  object,
  oneOfTexts,
  text,
} from "./api/schemas.js";
import { exportFormat, sendExport } from "./api/sendExport.js";
import type { PortalModel } from "./backends/catalog.js";
import { repoRoot } from "./base/paths.js";
import { PortalError } from "./base/portalError.js";
import { checkWorkingDirectory } from "./base/workingDirectory.js";
import type { ExportedChanges } from "./changes/exportedChanges.js";
import type { ICopilotSession } from "./copilotSession.js";
import { currentPortal } from "./currentPortal.js";
import type { LiveResponse } from "./live/liveResponse.js";
import { type Whereabouts, whereaboutsFields } from "./nodes/whereabouts.js";
import { type PermissionPolicy, permissionPolicies } from "./permissions/approvals.js";
import { sessionAsJson, sessionAsMarkdown } from "./sessions/exportSession.js";
import { maxPicturesInRequest } from "./sessions/pictures.js";
import { PortalSession } from "./sessions/portalSession.js";
import type { SessionRecord } from "./sessions/sessionRecord.js";
import { type KnownConversation, sessionNotFound } from "./sessions/sessionRegistry.js";
import { startAnswer } from "./sessions/startAnswer.js";
import { type LiveLogs, liveHandlers, liveRoutes } from "./sharedApi.js";
import { rootOf } from "./store/root.js";
import { type Isolation, isolationOf, isolationQuery } from "./worktrees/isolation.js";
import { type OwnedWorktrees, worktreeAnswer, worktreesOf } from "./worktrees/worktreeAnswers.js";

export async function helperGetModels(): Promise<PortalModel[]> {
  return (await currentPortal().catalog.list()).models;
}

export async function helperSessionStart(
  modelId: string,
  workingDirectory: string = repoRoot,
  permissions?: PermissionPolicy,
  sandbox?: boolean,
  isolation?: Isolation,
): Promise<[ICopilotSession, string]> {
  await checkWorkingDirectory(workingDirectory);
  const { sessions, worktrees } = currentPortal();
  await sessions.ready;
  const choices = { modelId, permissions, sandbox };
  if (!isolation) {
    const session = await sessions.start({ ...choices, workingDirectory });
    return [session, session.id];
  }
  const id = randomUUID();
  const wanted = { owner: id, name: "session", target: workingDirectory, ...isolation };
  const session = await worktrees.use(wanted, folder =>
    sessions.start({ ...choices, id, workingDirectory: folder }),
  );
  return [session, id];
}

export async function helperSessionStop(session: ICopilotSession): Promise<void> {
  await currentPortal().sessions.stop(portalSession(session));
}

/** A session that sleeps since a restart must first be woken by `openSession`. */
export function helperGetSession(sessionId: string): ICopilotSession | undefined {
  return currentPortal().sessions.get(sessionId);
}

export function helperPushSessionResponse(session: ICopilotSession, response: LiveResponse): void {
  void portalSession(session).push(response);
}

/** A session that sleeps since a restart is not running. */
export function hasRunningSessions(): boolean {
  return currentPortal().sessions.open.some(session => session.awake);
}

function portalSession(session: ICopilotSession): PortalSession {
  if (session instanceof PortalSession) return session;
  throw new Error("This session was not started by helperSessionStart");
}

/** An open session, by its id. */
export async function openSession(id: string): Promise<PortalSession> {
  await currentPortal().sessions.ready;
  const session = await currentPortal().sessions.wake(id);
  if (!session) throw sessionNotFound(id);
  return session;
}

/** Starts a session that continues a conversation the agent knows. */
export async function loadSession(
  modelId: string,
  workingDirectory: string,
  known: KnownConversation,
): Promise<PortalSession> {
  await checkWorkingDirectory(workingDirectory);
  await currentPortal().sessions.ready;
  return currentPortal().sessions.start({ modelId, workingDirectory, known });
}

/** Starts a session with an editor's MCP servers. */
export async function startWithServers(
  modelId: string,
  workingDirectory: string,
  permissions: PermissionPolicy | undefined,
  mcpServers: readonly object[],
): Promise<PortalSession> {
  await checkWorkingDirectory(workingDirectory);
  await currentPortal().sessions.ready;
  return currentPortal().sessions.start({ modelId, workingDirectory, permissions, mcpServers });
}

/** The answer to who started a session. A caller that has hung up never learns its id, so nobody would ever end it. */
export async function startedFor(res: Response, session: PortalSession): Promise<{ sessionId: string }> {
  if (res.destroyed) await currentPortal().sessions.stop(session);
  return { sessionId: session.id };
}

async function knownSession(id: string): Promise<SessionRecord> {
  await currentPortal().sessions.ready;
  const record = await currentPortal().sessions.find(id);
  if (!record) throw sessionNotFound(id);
  return record;
}

/** What another portal has is busy as long as a request of it has not ended. */
function statusOf(record: SessionRecord, { waitingFor }: Whereabouts) {
  if (record.status === "closed") return "Closed";
  const isBusy =
    currentPortal().sessions.get(record.id)?.busy ??
    (record.pendingRequests.length > 0 && waitingFor === undefined);
  return isBusy ? "Busy" : "Idle";
}

function summaryOf(record: SessionRecord, owned: OwnedWorktrees = {}, where: Whereabouts = {}) {
  const { waitingFor, ...at } = where;
  return {
    sessionId: record.id,
    title: record.title,
    ...(record.lastWords !== null && { lastWords: record.lastWords }),
    modelId: record.modelId,
    modelName: record.modelName,
    workingDirectory: record.workingDirectory,
    status: statusOf(record, where),
    startTime: record.createdAt.toISOString(),
    lastTime: record.updatedAt.toISOString(),
    ...(record.owner !== null && { owner: record.owner }),
    ...(record.closedAt && { endTime: record.closedAt.toISOString() }),
    usage: record.usage,
    permissions: record.settings.permissions ?? currentPortal().permissions,
    sandbox: record.settings.sandbox ?? false,
    ...at,
    ...(waitingFor !== undefined && record.status === "open" && { waitingFor }),
    ...(owned.worktree && { worktree: owned.worktree }),
  };
}

const rootOfSession = ({ id, owner }: SessionRecord) => rootOf("session", id, owner).id;

async function summariesOf(records: readonly SessionRecord[]) {
  const { worktrees, whereabouts } = currentPortal();
  const owned = await worktreesOf(worktrees, records);
  const where = await whereabouts(records.map(rootOfSession));
  return records.map(record => summaryOf(record, owned.get(record.id), where.get(rootOfSession(record))));
}

const usage = object({ inputTokens: number, outputTokens: number, cost: number, premiumRequests: number });
const summaryFields = {
  sessionId: text,
  title: text,
  "lastWords?": text,
  "changes?": changeSum,
  modelId: text,
  modelName: text,
  workingDirectory: text,
  status: oneOfTexts("Idle", "Busy", "Closed"),
  startTime: text,
  lastTime: text,
  "endTime?": text,
  "owner?": text,
  ...whereaboutsFields,
  usage,
  "worktree?": worktreeAnswer,
};
const summary = object(summaryFields);
const details = object({ ...summaryFields, pendingRequests: list(text) });
const notFound = domainError("SessionNotFound");
const closed = object({ result: oneOfTexts("Closed") });
const maxTitleLength = 200;

async function startFromBody(
  modelId: string,
  body: string,
  query: { permissions?: string; sandbox?: boolean; isolate?: string; from?: string },
  res: Response,
) {
  const policy = permissionPolicies.find(known => known === query.permissions);
  const folder = body.trim() || repoRoot;
  const [session] = await helperSessionStart(modelId, folder, policy, query.sandbox, isolationOf(query));
  return startedFor(res, portalSession(session));
}

/** A user would rather get an error than wait. */
function refuseWhileFailing(): void {
  const { failure } = currentPortal().logs;
  if (failure) throw failure;
}

async function stopById(id: string) {
  refuseWhileFailing();
  await helperSessionStop(await openSession(id));
  return { result: "Closed" };
}

async function queryById(id: string, prompt: string, pictures?: string) {
  const session = await openSession(id);
  if (prompt.trim() === "")
    throw PortalError.malformed("EmptyRequest", "The body is the request, and it is empty.");
  const names = pictures?.split(",").filter(name => name !== "") ?? [];
  if (names.length > maxPicturesInRequest)
    throw PortalError.malformed("TooManyPictures", `A request has at most ${maxPicturesInRequest} pictures.`);
  return { requestId: await session.query(prompt, names) };
}

export function sessionRoutes(logs: LiveLogs, exported?: Pick<ExportedChanges, "session">): Route[] {
  return [
    defineRoute({
      path: "copilot/session/start/{modelId}",
      lastTakesSlashes: true,
      summary: "Start a session",
      body: "text",
      bodyDescription: "The working directory, an absolute path; empty means the repository root.",
      query: {
        permissions: {
          type: "string",
          enum: [...permissionPolicies],
          description: "Whether the agent may do everything or asks first; defaults to --permissions.",
        },
        sandbox: {
          type: "boolean",
          description: "Whether the agent runs in a sandbox; defaults to --sandbox.",
        },
        ...isolationQuery,
        ...nodeQuery,
      },
      answers: { json: either(startAnswer, domainError(...namedNodeErrors)) },
      handler: ({ params, query, body, res }) => startFromBody(params.modelId, body, query, res),
    }),
    defineRoute({
      path: "copilot/session/{id}/stop",
      summary: "End a session",
      answers: { json: either(closed, notFound) },
      handler: ({ params }) => stopById(params.id),
    }),
    defineRoute({
      path: "copilot/session/{id}/query",
      summary: "Send a request to a session",
      description:
        "It waits behind earlier requests. The live log shows its course: `onUserRequest`, `onIdle` and a `sessionError` of this request carry its `requestId`.",
      body: "text",
      bodyDescription: "The request.",
      query: {
        pictures: {
          type: "string",
          description: `The ids of at most ${maxPicturesInRequest} uploaded pictures, with commas between them.`,
        },
      },
      answers: {
        json: either(object({ requestId: text }), notFound, object({ error: text, message: text })),
      },
      handler: ({ params, query, body }) => queryById(params.id, body, query.pictures),
    }),
    defineRoute({
      path: "copilot/session/{id}/cancel",
      summary: "End the running turn and keep the session",
      answers: { json: either(object({ canceled: flag }), notFound) },
      handler: async ({ params }) => {
        const session = await openSession(params.id);
        return { canceled: await session.cancel() };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/request/{requestId}/drop",
      summary: "Drop a request that waits behind another one",
      answers: { json: either(object({ dropped: flag }), notFound) },
      handler: async ({ params }) => {
        const session = await openSession(params.id);
        return { dropped: await session.drop(params.requestId) };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}",
      reads: true,
      methods: ["GET"],
      summary: "The details of a session, open or closed",
      answers: { json: either(details, notFound) },
      handler: async ({ params }) => {
        const record = await knownSession(params.id);
        const [known] = await summariesOf([record]);
        return { ...known, pendingRequests: record.pendingRequests };
      },
    }),
    defineRoute({
      path: "copilot/session/history",
      reads: true,
      methods: ["GET"],
      summary: "All sessions, newest first",
      query: {
        limit: { type: "integer", minimum: 1, maximum: 200, default: 50 },
        before: { type: "string", description: "The sessionId of the last session on the previous page." },
        search: { type: "string", description: "Part of a title, a model or a working directory." },
        status: { type: "string", enum: ["open", "closed"] },
        owned: { type: "boolean", description: "Includes the sessions that tasks started." },
      },
      answers: { json: object({ sessions: list(summary), "next?": text }) },
      handler: async ({ query }) => {
        await currentPortal().sessions.ready;
        const limit = query.limit ?? 50;
        const records = await currentPortal().sessions.history({ ...query, limit });
        const last = records.length === limit ? records.at(-1) : undefined;
        const sums = await currentPortal().changes.records.sums(records.map(({ id }) => id));
        const sessions = (await summariesOf(records)).map(one => ({
          ...one,
          changes: sums.get(one.sessionId),
        }));
        return { sessions, ...(last && { next: last.id }) };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/rename",
      methods: ["POST"],
      summary: "Give a session another title",
      body: "text",
      bodyDescription: `The title, one line of at most ${maxTitleLength} characters.`,
      answers: { json: either(object({ title: text }), notFound) },
      handler: async ({ params, body }) => {
        await knownSession(params.id);
        const title = body.trim();
        if (title === "" || title.length > maxTitleLength || /[\r\n]/.test(title))
          throw PortalError.malformed(
            "TitleInvalid",
            `A title is one line of 1 to ${maxTitleLength} characters.`,
          );
        await currentPortal().sessions.rename(params.id, title);
        return { title };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/reopen",
      methods: ["POST"],
      summary: "Resume the conversation of a closed session",
      answers: {
        json: either(object({ sessionId: text }), notFound, object({ error: text, message: text })),
      },
      handler: async ({ params }) => {
        refuseWhileFailing();
        const { sessions, worktrees } = currentPortal();
        await sessions.ready;
        const { workingDirectory } = await knownSession(params.id);
        const worktree = await worktrees.in(workingDirectory);
        if (worktree && worktree.state !== "waiting")
          throw PortalError.explained(
            "WorktreeDecided",
            `Its worktree is ${worktree.state}: start a new session in ${worktree.target}.`,
          );
        return { sessionId: (await sessions.reopen(params.id)).id };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/delete",
      methods: ["POST"],
      summary: "Delete a session, its conversation and its log for good",
      answers: { json: either(object({ result: oneOfTexts("Deleted") }), notFound) },
      handler: async ({ params }) => {
        refuseWhileFailing();
        await currentPortal().sessions.ready;
        await currentPortal().sessions.delete(params.id);
        return { result: "Deleted" };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/export",
      reads: true,
      methods: ["GET"],
      summary: "The whole conversation as Markdown, JSON or a page that plays it",
      query: { format: exportFormat },
      answers: {
        json: either(object({ session: summary, responses: list({ type: "object" }) }), notFound),
        other: {
          "text/markdown": "The conversation.",
          "text/html": "One file that shows and replays the conversation without a server.",
        },
      },
      handler: async ({ params, query, res }) => {
        const record = await knownSession(params.id);
        const log = await currentPortal().logs.open("session", record.id);
        if (!log) throw sessionNotFound(record.id);
        const session = summaryOf(record);
        const changes = query.format === "html" ? await exported?.session(record.id) : {};
        await sendExport(res, `session-${record.id}`, query.format, {
          markdown: () => sessionAsMarkdown(session, log.responses()),
          json: () => sessionAsJson(session, log.responses()),
          html: () =>
            exportedPage({
              page: "session",
              query: { session: record.id },
              answers: {
                [`copilot/session/${encodeURIComponent(record.id)}/export?format=json`]: sessionAsJson(
                  session,
                  log.responses(),
                ),
                ...changes,
              },
            }),
        });
      },
    }),
    ...liveRoutes("session", logs),
    ...oldestShapes(logs),
  ];
}

/** The first version's routes, with the session id at the end, for existing scripts. */
function oldestShapes(logs: LiveLogs): Route[] {
  const { live } = liveHandlers("session", logs);
  return [
    defineRoute({
      path: "copilot/session/stop/{id}",
      deprecated: true,
      summary: "The original form of copilot/session/{id}/stop",
      answers: { json: either(closed, notFound) },
      handler: ({ params }) => stopById(params.id),
    }),
    defineRoute({
      path: "copilot/session/query/{id}",
      deprecated: true,
      summary: "The original form of copilot/session/{id}/query",
      body: "text",
      answers: { json: either(object({ requestId: text }), notFound) },
      handler: ({ params, body }) => queryById(params.id, body),
    }),
    defineRoute({
      path: "copilot/session/live/{id}",
      deprecated: true,
      summary: "The original form of copilot/session/{id}/live",
      answers: { json: either({ type: "object" }, notFound) },
      handler: ({ params, res }) => live(res, params.id),
    }),
  ];
}
