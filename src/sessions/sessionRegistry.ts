import { randomUUID } from "node:crypto";
import type { PermissionPolicy } from "../permissions/approvals.js";
import { PortalError } from "../portalError.js";
import { sandboxFolder } from "../sandbox/sandboxes.js";
import type { LiveLogs } from "../sharedApi.js";
import { PortalSession, type SessionParts } from "./portalSession.js";
import type { HistoryQuery, SessionRecord } from "./sessionRecord.js";
import { noUsage } from "./turnUsage.js";

/** A session that a task starts: its id is known before, so that it is found again after a crash. */
export interface OwnedSession {
  id: string;
  owner: string;
  title: string;
}

/** What the user of a session decides at its start; what is absent is as the portal was started. */
export interface SessionChoices {
  permissions?: PermissionPolicy | undefined;
  sandbox?: boolean | undefined;
}

const interruption = "The portal stopped before this request was done. Send it again to go on.";

/** All sessions that can be talked to, from this life of the server and from earlier ones. */
export class SessionRegistry {
  readonly #parts: SessionParts;
  readonly #logs: LiveLogs;
  /** Those that were asked for in this life of the server; the others sleep in the store. */
  readonly #sessions = new Map<string, PortalSession>();
  readonly #waking = new Map<string, Promise<PortalSession | undefined>>();
  /** Just starting or stopping here, so what the store says of them is not the last word. */
  readonly #changing = new Set<string>();
  /** Resolves when what earlier lives left undone is told in the sessions. */
  readonly ready: Promise<void>;

  constructor(parts: SessionParts, logs: LiveLogs) {
    this.#parts = parts;
    this.#logs = logs;
    this.ready = this.#recover();
    this.ready.catch(() => undefined);
  }

  /** Only of those that were asked for in this life of the server. */
  get(id: string): PortalSession | undefined {
    return this.#sessions.get(id);
  }

  /** Those that may be in use; others sleep. */
  get open(): PortalSession[] {
    return [...this.#sessions.values()];
  }

  /** An open session. One of an earlier life is taken up when it is first asked for. */
  async wake(id: string): Promise<PortalSession | undefined> {
    const known = this.#sessions.get(id) ?? this.#waking.get(id);
    if (known || this.#changing.has(id)) return known;
    const waking = this.#wake(id).finally(() => this.#waking.delete(id));
    this.#waking.set(id, waking);
    return waking;
  }

  /** A caller that must find the session again after a death chooses its id. `known` is a conversation of the agent. */
  async start(
    modelId: string,
    workingDirectory: string,
    owned?: OwnedSession,
    choices: SessionChoices = {},
    known?: { agentSessionId: string; replay: boolean },
    id: string = owned?.id ?? randomUUID(),
  ): Promise<PortalSession> {
    const found = await this.#parts.catalog.find(modelId);
    if (!found)
      throw PortalError.domain("ModelIdNotFound", `No backend has the model ${JSON.stringify(modelId)}.`);
    if (known && found.model.backend !== "acp")
      throw PortalError.domain("NotSupported", "Only ACP agents load conversations.");
    const { policyFor } = this.#parts.hostOf(found.model.backend);
    const policy =
      choices.permissions ?? policyFor?.(modelId, owned !== undefined) ?? this.#parts.permissions;
    const sandbox = choices.sandbox ?? this.#parts.sandbox;
    const now = new Date();
    const record: SessionRecord = {
      id,
      modelId,
      modelName: found.model.name,
      backend: found.model.backend,
      workingDirectory: sandbox ? await sandboxFolder(workingDirectory) : workingDirectory,
      owner: owned?.owner ?? null,
      title: owned?.title ?? "",
      status: "open",
      createdAt: now,
      updatedAt: now,
      closedAt: null,
      usage: noUsage(),
      pendingRequests: 0,
      settings: {
        permissions: policy,
        ...(sandbox && { sandbox }),
        ...(known && { acp: { agentSessionId: known.agentSessionId } }),
      },
    };
    const log = await this.#logs.openOrCreate("session", id);
    const session = new PortalSession(record, log, this.#parts);
    const attach = () =>
      known ? session.attach("known", { load: { replay: known.replay } }) : session.attach("new");
    this.#changing.add(id);
    try {
      // In this order, since the agent session may have settings to save.
      await Promise.all([this.#parts.records.insert(record), attach()]);
    } catch (error) {
      // Nobody has its id, so nobody would ever close it.
      await this.#parts.records.setStatus(id, "closed");
      throw error;
    } finally {
      this.#changing.delete(id);
    }
    this.#sessions.set(record.id, session);
    return session;
  }

  /** Ends a session: what is in its log stays readable, and `reopen` takes up the conversation. */
  async stop(session: PortalSession): Promise<void> {
    if (!this.#sessions.delete(session.id)) return;
    this.#changing.add(session.id);
    try {
      await session.stop();
      await this.#parts.records.setStatus(session.id, "closed");
      await session.log.close();
    } finally {
      this.#changing.delete(session.id);
    }
  }

  async reopen(id: string): Promise<PortalSession> {
    const known = await this.wake(id);
    if (known) return known;
    const record = await this.#parts.records.find(id);
    const log = record && (await this.#logs.open("session", id));
    if (!record || !log) throw sessionNotFound(id);
    await this.#parts.records.setStatus(id, "open");
    await log.reopen();
    const session = new PortalSession({ ...record, status: "open", closedAt: null }, log, this.#parts);
    this.#sessions.set(id, session);
    return session;
  }

  async delete(id: string): Promise<void> {
    const record = await this.find(id);
    if (!record) throw sessionNotFound(id);
    const session = await this.wake(id);
    if (session) await this.stop(session);
    await this.#parts.hostOf(record.backend).delete(record);
    await this.#logs.delete("session", id);
    // The record is last: as long as it is there, what a death has left can be deleted again.
    await this.#parts.records.delete(id);
  }

  async rename(id: string, title: string): Promise<void> {
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

  /** Leaves every agent; the sessions stay open in the store and can be talked to after the next start. */
  async suspend(): Promise<void> {
    await Promise.allSettled(this.open.map(session => session.stop(interruption)));
  }

  async #recover(): Promise<void> {
    for (const id of await this.#parts.records.interrupted()) {
      const session = await this.wake(id);
      if (session) await this.#reportInterruption(session);
    }
  }

  async #wake(id: string): Promise<PortalSession | undefined> {
    const record = await this.#parts.records.find(id);
    if (record?.status !== "open") return undefined;
    const log = await this.#logs.open("session", id);
    const known = this.#sessions.get(id);
    if (known || !log || this.#changing.has(id)) return known;
    const session = new PortalSession(record, log, this.#parts);
    this.#sessions.set(id, session);
    return session;
  }

  /** Its open blocks have been ended when the log was opened. */
  async #reportInterruption({ log, record }: PortalSession): Promise<void> {
    await log.append({
      sessionError: "The portal stopped before this request was done. Send it again to go on.",
    });
    for (let request = 0; request < record.pendingRequests; request++)
      await log.append({ callback: "onIdle" });
    await this.#parts.records.interruptionsReported(record.id);
    record.pendingRequests = 0;
  }
}

export function sessionNotFound(id: string): PortalError {
  return PortalError.domain("SessionNotFound", `There is no session ${JSON.stringify(id)}.`);
}
