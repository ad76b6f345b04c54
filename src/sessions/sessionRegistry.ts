import { randomUUID } from "node:crypto";
import { failpoint } from "../base/failpoint.js";
import { PortalError } from "../base/portalError.js";
import type { StoredResponse } from "../live/storedResponse.js";
import type { PermissionPolicy } from "../permissions/approvals.js";
import { sandboxFolder } from "../sandbox/sandboxes.js";
import type { LiveLogs } from "../sharedApi.js";
import { takenOver } from "../store/ownership.js";
import { PortalSession, type SessionParts } from "./portalSession.js";
import { type HistoryQuery, recordChange, rowOf, type SessionRecord } from "./sessionRecord.js";
import { noUsage } from "./turnUsage.js";

/** A session that a task starts; its id is known beforehand, so that it can be found after a crash. */
export interface OwnedSession {
  id: string;
  owner: string;
  title: string;
}

/** A conversation that the agent remembers, and whether to show its history. */
export interface KnownConversation {
  agentSessionId: string;
  replay: boolean;
}

export interface SessionStart {
  /** Known beforehand, because its worktree names it. */
  id?: string;
  modelId: string;
  workingDirectory: string;
  /** The user's choices; absent means the portal's defaults. */
  permissions?: PermissionPolicy | undefined;
  sandbox?: boolean | undefined;
  owned?: OwnedSession;
  known?: KnownConversation;
  /** The user's MCP servers for the agent. They may hold secrets, so they are never stored. */
  mcpServers?: readonly object[];
}

const interruption = "The portal stopped before this request was done. Send it again to go on.";

/** All open sessions, including those from before a restart of the server. */
export class SessionRegistry {
  readonly #parts: SessionParts;
  readonly #logs: LiveLogs;
  /** Sessions used since the server started; the others sleep in the store. */
  readonly #sessions = new Map<string, PortalSession>();
  /** Resolves when the sessions from before the restart are known, however long the store takes. */
  readonly recovered: Promise<void>;
  #isRecovered = false;
  readonly #waking = new Map<string, Promise<PortalSession | undefined>>();
  /** Sessions that are starting or stopping, whose state in the store is about to change. */
  readonly #changing = new Set<string>();

  constructor(parts: SessionParts, logs: LiveLogs) {
    this.#parts = parts;
    this.#logs = logs;
    logs.adoption.mendsWith(root => this.#mend(root));
    logs.ownership.onLost(root => this.#leave(root));
    this.recovered = logs.adoption
      .start()
      .then(() => this.#mend())
      .then(() => {
        this.#isRecovered = true;
      });
    this.recovered.catch(() => undefined);
  }

  /** The same for users, who get an error rather than wait for a store that does not open. */
  get ready(): Promise<void> {
    const { failure } = this.#logs;
    return failure && !this.#isRecovered ? Promise.reject(failure) : this.recovered;
  }

  /** Finds only sessions used since the server started. */
  get(id: string): PortalSession | undefined {
    return this.#sessions.get(id);
  }

  /** Sessions that may be in use; the others sleep. */
  get open(): PortalSession[] {
    return [...this.#sessions.values()];
  }

  /** An open session. One from before a restart wakes when it is first asked for. */
  async wake(id: string): Promise<PortalSession | undefined> {
    const known = this.#sessions.get(id) ?? this.#waking.get(id);
    if (known || this.#changing.has(id)) return known;
    const waking = this.#wake(id).finally(() => {
      if (this.#waking.get(id) === waking) this.#waking.delete(id);
    });
    this.#waking.set(id, waking);
    return waking;
  }

  async start(options: SessionStart): Promise<PortalSession> {
    const { modelId, workingDirectory, owned, known } = options;
    const id = owned?.id ?? options.id ?? randomUUID();
    const found = await this.#parts.catalog.find(modelId);
    if (!found) throw modelIdNotFound(modelId);
    if (known && found.model.backend !== "acp")
      throw PortalError.domain("NotSupported", "Only ACP agents load conversations.");
    const { policyFor } = this.#parts.hostOf(found.model.backend);
    const policy =
      options.permissions ?? policyFor?.(modelId, owned !== undefined) ?? this.#parts.permissions;
    const sandbox = options.sandbox ?? this.#parts.sandbox;
    const now = new Date();
    const record: SessionRecord = {
      id,
      modelId,
      modelName: found.model.name,
      backend: found.model.backend,
      workingDirectory: sandbox ? await sandboxFolder(workingDirectory) : workingDirectory,
      owner: owned?.owner ?? null,
      title: owned?.title ?? "",
      lastWords: null,
      status: "open",
      createdAt: now,
      updatedAt: now,
      closedAt: null,
      usage: noUsage(),
      pendingRequests: [],
      turns: 0,
      settings: {
        permissions: policy,
        ...(sandbox && { sandbox }),
        ...(known && { acp: { agentSessionId: known.agentSessionId } }),
      },
    };
    this.#changing.add(id);
    try {
      return await this.#begin(record, options);
    } finally {
      this.#changing.delete(id);
    }
  }

  async #begin(record: SessionRecord, { owned, known, mcpServers }: SessionStart): Promise<PortalSession> {
    // The same session of a task is begun again until it is there.
    const how = owned ? "openOrCreate" : "begin";
    const log = await this.#logs[how]("session", record.id, rowOf(record));
    await failpoint("session-inserted");
    const session = new PortalSession(record, log, this.#parts, mcpServers);
    try {
      // After the record exists, since the agent session may have settings to save.
      await (known ? session.attach("known", { load: { replay: known.replay } }) : session.attach("new"));
    } catch (error) {
      // The caller never gets its id, so it would never be closed.
      await this.#close(session);
      throw error;
    }
    await failpoint("session-attached");
    return this.#keep(session);
  }

  /** What was opened while its root was lost is of a life that is over, and must not be found in the next one. */
  #keep(session: PortalSession): PortalSession {
    if (session.log.isOwned) this.#sessions.set(session.id, session);
    else {
      this.#stopLeft(session);
      throw takenOver("session", session.id);
    }
    return session;
  }

  #stopLeft(session: PortalSession): void {
    const { log } = this.#parts;
    session.stop().catch((error: unknown) => log.warn({ err: error }, "a session could not be left"));
  }

  /** Ends a session: its log stays readable, and `reopen` resumes the conversation. */
  async stop(session: PortalSession): Promise<void> {
    if (!this.#sessions.delete(session.id)) return;
    this.#changing.add(session.id);
    try {
      await session.stop();
      await failpoint("session-stopped");
      await this.#close(session);
    } finally {
      this.#changing.delete(session.id);
    }
    await failpoint("session-closed");
  }

  /** A task's open sessions, including those from before a restart. */
  async openSessionsOf(taskId: string): Promise<string[]> {
    return this.#parts.records.ownedBy(taskId, "open");
  }

  /** All sessions of a job or a task. */
  async sessionsOf(owner: string): Promise<string[]> {
    return this.#parts.records.ownedBy(owner);
  }

  /** Closes the record and the log together, so that no reader waits on a closed session. */
  async #close({ record, log }: PortalSession): Promise<void> {
    const now = new Date();
    Object.assign(record, { status: "closed", updatedAt: now, closedAt: now });
    await log.close(recordChange(record, "status"));
  }

  async reopen(id: string): Promise<PortalSession> {
    const known = await this.wake(id);
    if (known) return known;
    const record = await this.#parts.records.find(id);
    const log = record && (await this.#logs.openOwned("session", id));
    if (!record || !log) throw sessionNotFound(id);
    record.turns ??= await turnsIn(log.responses());
    Object.assign(record, { status: "open", closedAt: null, updatedAt: new Date(), pendingRequests: [] });
    await log.reopen(recordChange(record, "status"));
    await failpoint("session-reopened");
    return this.#sessions.get(id) ?? this.#keep(new PortalSession(record, log, this.#parts));
  }

  async delete(id: string): Promise<void> {
    const record = await this.find(id);
    if (!record) throw sessionNotFound(id);
    const session = await this.wake(id);
    if (session) await this.stop(session);
    // First what could not be found without the record.
    await this.#parts.hostOf(record.backend).delete(record);
    await this.#parts.pictures.delete(id);
    await failpoint("agent-memory-deleted");
    await this.#logs.delete("session", id);
    await this.#parts.records.delete(id);
    await failpoint("session-deleted");
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#logs.openOwned("session", id);
    await this.#parts.records.rename(id, title);
    const session = this.#sessions.get(id);
    if (session) session.record.title = title;
  }

  async find(id: string): Promise<SessionRecord | undefined> {
    return this.#sessions.get(id)?.record ?? (await this.#parts.records.find(id));
  }

  async history(query: HistoryQuery): Promise<SessionRecord[]> {
    const records = await this.#parts.records.history(query);
    return records.map(record => this.#sessions.get(record.id)?.record ?? record);
  }

  /** Leaves every agent; the sessions stay open in the store and usable after the next start. */
  async suspend(): Promise<void> {
    await Promise.allSettled(this.open.map(session => session.stop(interruption)));
  }

  /** Waking a session reports what an earlier owner left unfinished; those that are awake need no mending. */
  async #mend(root?: string): Promise<void> {
    const { records, log } = this.#parts;
    for (const id of await records.patiently(() => records.pending(root))) {
      try {
        await records.patiently(() => this.wake(id));
      } catch (error) {
        // One failure must not affect the other sessions.
        log.error({ err: error, sessionId: id }, "cannot resume a session");
      }
    }
  }

  /** Another portal goes on with these sessions: nothing more is written here. */
  #leave(root: string): void {
    // Who waits for one of them wakes it for the life that is over.
    this.#waking.clear();
    for (const session of this.open.filter(({ log }) => log.root === root)) {
      this.#sessions.delete(session.id);
      this.#stopLeft(session);
    }
  }

  async #wake(id: string): Promise<PortalSession | undefined> {
    const record = await this.#parts.records.find(id);
    if (record?.status !== "open") return undefined;
    // An older portal may have crashed between storing a session and creating its log.
    const log = await this.#logs.openOrCreate("session", id, rowOf(record));
    record.turns ??= await turnsIn(log.responses());
    const known = this.#sessions.get(id);
    if (known || this.#changing.has(id)) return known;
    const session = new PortalSession(record, log, this.#parts);
    // It is in no map, so no portal runs its requests any more.
    if (record.pendingRequests.length > 0) await this.#reportInterruption(session);
    return this.#keep(session);
  }

  /** Its root has been adopted, so its blocks have ended. */
  async #reportInterruption({ log, record }: PortalSession): Promise<void> {
    const interrupted = record.pendingRequests;
    record.pendingRequests = [];
    const written = interrupted.map((id, index) => {
      const about = id === "" ? {} : { requestId: id };
      const isLast = index === interrupted.length - 1;
      void log.append({ sessionError: interruption, ...about });
      return log.append({ callback: "onIdle", ...about }, isLast ? recordChange(record) : undefined);
    });
    await Promise.all(written);
    failpoint("interruption-reported");
  }
}

/** A portal that did not count them left them in the log. */
async function turnsIn(responses: AsyncIterable<StoredResponse>): Promise<number> {
  let turns = 0;
  for await (const { callback } of responses) if (callback === "onUserRequest") turns++;
  return turns;
}

export function modelIdNotFound(id: string): PortalError {
  return PortalError.domain("ModelIdNotFound", `No backend has the model ${JSON.stringify(id)}.`);
}

export function sessionNotFound(id: string): PortalError {
  return PortalError.domain("SessionNotFound", `There is no session ${JSON.stringify(id)}.`);
}
