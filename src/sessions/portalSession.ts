import { randomUUID } from "node:crypto";
import type { CopilotSession } from "@github/copilot-sdk";
import type { ModelCatalog } from "../backends/catalog.js";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import type { OpenWork } from "../changes/changeRecorder.js";
import type { Changes } from "../changes/changes.js";
import type {
  AgentSession,
  ICopilotSession,
  SessionCallbacks,
  SessionState,
  TurnUsage,
} from "../copilotSession.js";
import type { LiveLog } from "../live/liveLog.js";
import type { LiveResponse } from "../live/liveResponse.js";
import type { Approvals, InboxItem, PermissionPolicy, SessionPermissions } from "../permissions/approvals.js";
import type { StartingSession, StartupGate, StartupPermit } from "../permissions/startup/startupGate.js";
import { takenOver } from "../store/ownership.js";
import { logCallbacks } from "./logCallbacks.js";
import type { Pictures } from "./pictures.js";
import type { SessionControls } from "./sessionControls.js";
import { SessionCrashedError } from "./sessionCrashedError.js";
import type { OpenSession, SessionHost } from "./sessionHost.js";
import {
  recordChange,
  type SessionRecord,
  type SessionRecords,
  type SessionSettings,
} from "./sessionRecord.js";
import { sumUsage } from "./turnUsage.js";

export interface SessionParts {
  records: SessionRecords;
  catalog: ModelCatalog;
  /** The host that runs a backend's sessions. */
  hostOf(backend: string): SessionHost;
  log: Log;
  /** Pending permission requests and the users' rules. */
  approvals: Approvals;
  /** The policy for sessions whose user chose none. */
  permissions: PermissionPolicy;
  /** What a folder may run when an agent starts there. */
  startup: StartupGate;
  /** Whether agents run in a sandbox when the user chose nothing. */
  sandbox: boolean;
  /** Records what each turn changes in the folder. */
  changes: Pick<Changes, "begin" | "untold" | "told">;
  /** What users show to agents. */
  pictures: Pick<Pictures, "read" | "delete">;
}

/** A request that was accepted. */
interface AcceptedRequest {
  requestId: string;
  message: string;
  timeout?: number | undefined;
  /** Counts the requests of users; what a task sends belongs to its attempt. */
  turn?: number;
  /** The names of what goes with it. */
  pictures?: readonly string[];
}

/** The agent that is to run a turn, and what it must be told first. */
type Prepared = { agent: AgentSession } & Awaited<ReturnType<SessionParts["changes"]["untold"]>>;

const titleLength = 80;
const maxLastWords = 200;
/** In any other state an agent session takes no requests, and a new one resumes its conversation. */
const usable: readonly SessionState[] = ["idle", "busy"];

/** The first line of a request, short enough for a list. */
export function titleOf(prompt: string): string {
  const line = prompt.trim().split("\n", 1)[0] ?? "";
  return line.length > titleLength ? `${line.slice(0, titleLength - 1)}…` : line;
}

/** The beginning of a message in one line; the store cannot hold the character NUL. */
const lastWordsOf = (text: string) =>
  text
    .slice(0, maxLastWords * 2)
    .replace(/[\s\0]+/g, " ")
    .trim()
    .slice(0, maxLastWords);

/**
 * A session that outlives its agent: the agent keeps the conversation on disk, the live log keeps what happened,
 * and the store keeps the rest. It opens an agent session when there is a request and may have none in between.
 */
export class PortalSession implements ICopilotSession {
  readonly record: SessionRecord;
  readonly log: LiveLog;
  readonly #parts: SessionParts;
  /** The user's servers. They may hold secrets, so they are kept only in memory. */
  readonly #mcpServers: readonly object[];
  #agent: AgentSession | undefined;
  /** A conversation without any request cannot be resumed. */
  #conversation: OpenSession["conversation"] = "new";
  /** The startup decision under which the agent session was opened, if the portal decides what the folder may run. */
  #permit: StartupPermit | undefined;
  #attaching: Promise<AgentSession> | undefined;
  /** Requests run one at a time; each waits for the previous one, whatever its outcome. */
  #queue: Promise<unknown> = Promise.resolve();
  /** Requests are numbered so that all up to a given one can be dropped. */
  #requests = 0;
  #dropUpTo = 0;
  /** Requests that were dropped before they began. */
  readonly #dropped = new Set<string>();
  /** Releases a request that waits for its agent. */
  #leaveStart: (() => void) | undefined;
  /** What the running turn changes is being recorded. */
  #work: OpenWork | undefined;
  #stopped = false;
  #stopReason: string | undefined;

  constructor(record: SessionRecord, log: LiveLog, parts: SessionParts, mcpServers: readonly object[] = []) {
    this.record = record;
    this.log = log;
    this.#parts = parts;
    this.#mcpServers = mcpServers;
  }

  get id(): string {
    return this.record.id;
  }

  get busy(): boolean {
    return this.record.pendingRequests.length > 0;
  }

  /** In use since the server started: it has an agent or is about to have one. */
  get awake(): boolean {
    return this.busy || (this.#agent !== undefined && usable.includes(this.#agent.state));
  }

  get permissions(): PermissionPolicy {
    return this.record.settings.permissions ?? this.#parts.permissions;
  }

  /** Applies from now on, including to pending requests. */
  async setPermissions(permissions: PermissionPolicy): Promise<void> {
    await this.#saveSettings({ permissions });
    this.#parts.approvals.policyChanged(this);
  }

  /** Undefined without an agent session, or when that has no controls. */
  get controls(): SessionControls | undefined {
    return this.#agent?.controls;
  }

  /** Requests queued behind the running one. */
  get queueLength(): number {
    return Math.max(0, this.record.pendingRequests.length - 1);
  }

  get rawSection(): CopilotSession | undefined {
    return this.#agent?.rawSection;
  }

  push(response: LiveResponse, item?: InboxItem): Promise<void> {
    return this.log.append(response, undefined, item);
  }

  /** Accepts a user's request and returns its id. It is durable when this resolves and runs after the earlier ones. */
  async query(prompt: string, pictures: readonly string[] = []): Promise<string> {
    const requestId = randomUUID();
    for (const name of pictures) await this.#parts.pictures.read(this.id, name);
    const shown = pictures.length > 0 && { pictures };
    await this.log.unlessFailing(() => {
      // Turns are counted in the order in which their requests are accepted.
      this.record.turns = (this.record.turns ?? 0) + 1;
      const turn = this.record.turns;
      const accepted = this.#accept(requestId, prompt, {
        callback: "onUserRequest",
        requestId,
        prompt,
        ...shown,
      });
      // It runs even if the user has meanwhile heard that the store fails: then it is stored later.
      accepted
        .then(() => this.#enqueue({ requestId, message: prompt, turn, ...shown }))
        .catch(error => {
          // The caller who stopped the session knows.
          const level = this.#stopped ? "debug" : "info";
          this.#parts.log[level]({ sessionId: this.id, error: String(error) }, "a request failed");
        });
      return accepted;
    });
    return requestId;
  }

  /** `said` is the response that logs the request, if any. */
  async sendRequest(
    message: string,
    timeout?: number,
    said?: (requestId: string) => LiveResponse,
  ): Promise<void> {
    const requestId = randomUUID();
    await this.#accept(requestId, message, said?.(requestId));
    await this.#enqueue({ requestId, message, timeout });
  }

  /** Throws if its model, or its agent, is known to take no pictures. */
  async checkPictures(): Promise<void> {
    const { backend, modelId, modelName } = this.record;
    const takesPictures =
      backend === "acp"
        ? (await this.attach("known")).takesPictures
        : (await this.#parts.catalog.find(modelId))?.model.vision;
    if (takesPictures === false)
      throw PortalError.explained(
        "PicturesNotSupported",
        `${modelName} takes no pictures. Describe what the picture shows, or start a session with another model.`,
      );
  }

  /** Ends the running turn; the session and its queued requests stay. False when no turn was running. */
  async cancel(): Promise<boolean> {
    const agent = this.#agent;
    const leave = this.#leaveStart;
    if (!leave && agent?.state !== "busy") return false;
    if (agent?.cancelDropsQueue) this.#dropUpTo = this.#requests;
    // The request never reaches an agent that is still starting, or a turn that is still being prepared.
    if (leave) leave();
    else await agent?.cancel();
    return true;
  }

  /** Drops a request that waits behind another one. False when it has begun or ended, or never was. */
  async drop(requestId: string): Promise<boolean> {
    if (this.record.pendingRequests.indexOf(requestId) < 1) return false;
    this.#dropped.add(requestId);
    await this.#ended(requestId);
    return true;
  }

  /** Opens the agent session now, so that the first request need not wait and a wrong set-up shows at once. */
  async attach(
    conversation: OpenSession["conversation"],
    options: Pick<OpenSession, "load"> = {},
  ): Promise<AgentSession> {
    this.#attaching ??= this.#usableAgent(conversation, options).finally(() => {
      this.#attaching = undefined;
    });
    return this.#attaching;
  }

  /** Leaves the agent for good. A running turn ends first, with a reason unless the user asked for this. */
  async stop(reason?: string): Promise<void> {
    this.#stopped = true;
    this.#stopReason = reason;
    this.#leaveStart?.();
    // An agent that is still starting is no longer needed.
    void this.#attaching?.then(agent => agent.stop()).catch(() => undefined);
    await this.#agent?.stop();
    await this.#queue;
    this.#parts.approvals.sessionEnded(this);
  }

  async #usableAgent(
    conversation: OpenSession["conversation"],
    options: Pick<OpenSession, "load">,
  ): Promise<AgentSession> {
    const agent = this.#agent;
    if (!agent || !usable.includes(agent.state)) return this.#open(conversation, options);
    return (await this.#leaveOutdated(agent)) ? this.#open(this.#conversation, {}) : agent;
  }

  /** The folder, its rules or the policy changed what may run there, and an agent session reads that only at its start. */
  async #leaveOutdated(agent: AgentSession): Promise<boolean> {
    const permit = this.#permit;
    if (!permit || agent.state !== "idle") return false;
    const { startup, records } = this.#parts;
    const starting = this.#starting(() => undefined);
    const { key } = await records.patiently(() => startup.renewed(permit, starting));
    if (key === permit.key || agent.state !== "idle") return false;
    await agent.detach();
    return true;
  }

  get #host(): SessionHost {
    return this.#parts.hostOf(this.record.backend);
  }

  #starting(notice: StartingSession["notice"]): StartingSession {
    const { workingDirectory: folder, owner } = this.record;
    return { folder, owner, policy: this.permissions, notice };
  }

  #leftStart(): Promise<undefined> {
    return new Promise(resolve => {
      this.#leaveStart = () => resolve(undefined);
    });
  }

  async #open(
    conversation: OpenSession["conversation"],
    options: Pick<OpenSession, "load">,
  ): Promise<AgentSession> {
    const { id, modelId, workingDirectory, settings, owner } = this.record;
    const host = this.#host;
    this.#conversation = conversation;
    const callbacks = this.#callbacks();
    const starting = this.#starting((title, text) => callbacks.onNotice?.("warning", title, text));
    const { startup, records } = this.#parts;
    const { startupReader } = host;
    // The turn waits for this: a store that is away for a while is not a crash.
    const checkStartup = async () => {
      if (startupReader) await records.patiently(() => startup.openAcp(starting, startupReader(modelId)));
    };
    await checkStartup();
    this.#permit = startupReader ? undefined : await records.patiently(() => startup.openCopilot(starting));
    this.#agent = await host.open({
      sessionId: id,
      modelId,
      workingDirectory,
      conversation,
      ...options,
      callbacks,
      ...(this.#permit && { startup: this.#permit }),
      checkStartup,
      settings,
      saveSettings: change => records.patiently(() => this.#saveSettings(change)),
      owner,
      mcpServers: this.#mcpServers,
      permissions: this.#permissions(),
      wasUsed: () => this.record.title !== "",
      say: text => void this.query(text).catch(() => undefined),
    });
    return this.#agent;
  }

  /** What an agent asks for waits for the snapshot before its turn; its answer does not. */
  #permissions(): SessionPermissions {
    const permissions = this.#parts.approvals.of(this);
    const permission: SessionPermissions["permission"] = async (action, offer) => {
      await this.#work?.ready;
      return permissions.permission(action, offer);
    };
    return { ...permissions, permission };
  }

  async #saveSettings(change: Partial<SessionSettings>): Promise<void> {
    if (!this.log.isOwned) throw takenOver("session", this.id);
    const settings = { ...this.record.settings, ...change };
    await this.#parts.records.setSettings(this.id, settings);
    await failpoint("settings-saved");
    this.record.settings = settings;
  }

  /** The request and its pending mark are stored together or not at all. */
  async #accept(requestId: string, prompt: string, said: LiveResponse | undefined): Promise<void> {
    const { record } = this;
    record.pendingRequests.push(requestId);
    record.updatedAt = new Date();
    if (record.title === "") record.title = titleOf(prompt);
    const change = recordChange(record, "title");
    try {
      await (said ? this.log.append(said, change) : this.log.change(change));
    } catch (error) {
      this.#noLongerPending(requestId);
      if (said?.callback === "onUserRequest") record.turns = Math.max(0, (record.turns ?? 0) - 1);
      throw error;
    }
    await failpoint("request-accepted");
  }

  #noLongerPending(requestId: string): void {
    this.record.pendingRequests = this.record.pendingRequests.filter(id => id !== requestId);
  }

  #enqueue(request: AcceptedRequest): Promise<void> {
    const number = ++this.#requests;
    const done = this.#queue.then(() => this.#runTurn(number, request));
    this.#queue = done.catch(() => undefined);
    return done;
  }

  #beginWork({ turn, requestId }: AcceptedRequest): OpenWork | undefined {
    if (turn === undefined) return undefined;
    const { id: owner, workingDirectory: folder, title: name } = this.record;
    return this.#parts.changes.begin({ kind: "turn", owner, number: turn, requestId, folder, name });
  }

  async #runTurn(number: number, request: AcceptedRequest): Promise<void> {
    const { requestId, message, timeout, pictures = [] } = request;
    if (this.#dropped.delete(requestId)) return;
    let work: OpenWork | undefined;
    try {
      if (this.#stopped) throw new Error("The session was stopped before this request could run.");
      if (number <= this.#dropUpTo) return;
      work = this.#beginWork(request);
      this.#work = work;
      const start = await Promise.race([this.#prepare(work), this.#leftStart()]);
      this.#leaveStart = undefined;
      if (this.#stopped) throw new Error("The session was stopped before this request could run.");
      if (!start) return;
      this.#conversation = "known";
      const shown = await Promise.all(pictures.map(name => this.#parts.pictures.read(this.id, name)));
      const send = ({ agent, text }: Prepared) => agent.sendRequest(text + message, timeout, shown);
      await send(start)
        .catch(async error => {
          if (!(error instanceof SessionCrashedError && error.kind === "not-taken")) throw error;
          return send(await this.#prepare(work));
        })
        .finally(() => this.#parts.approvals.turnEnded(this))
        // Whoever sees the end of a turn may count on its memory.
        .finally(() => this.#host.turnEnded?.(this.record));
      await this.#parts.changes.told(start.ids);
      await failpoint("turn-ended");
    } catch (error) {
      if (error instanceof SessionCrashedError && error.kind === "cancelled") return;
      const message = this.#stopped
        ? this.#stopReason
        : error instanceof Error
          ? error.message
          : String(error);
      // Stored in one write with `onIdle`.
      if (message !== undefined) void this.push({ sessionError: message, requestId });
      throw error;
    } finally {
      // The next turn waits for it, the end of this one does not.
      void work?.end();
      this.#leaveStart = undefined;
      await this.#ended(requestId);
      failpoint("after-idle");
    }
  }

  /** In one write: a request whose end is logged but not counted would look interrupted. */
  #ended(requestId: string): Promise<void> {
    this.#noLongerPending(requestId);
    this.record.updatedAt = new Date();
    return this.log.append({ callback: "onIdle", requestId }, recordChange(this.record, "usage"));
  }

  /** The agent that is to run the turn, and what it must be told of the user's undos. */
  async #prepare(work: OpenWork | undefined): Promise<Prepared> {
    for (;;) {
      const agent = await this.attach("known");
      // The Copilot runtime asks before it does anything; an ACP agent may not.
      if (this.record.backend === "acp") await work?.ready;
      const untold = await this.#parts.changes.untold(this.id);
      // A runtime that is about to be replaced detaches its idle sessions at any moment.
      if (agent.state !== "detached") return { agent, ...untold };
    }
  }

  /** The turn itself writes `onIdle`, after a possible `sessionError`, so that it always comes last. */
  #callbacks(): SessionCallbacks {
    const push = (response: LiveResponse) => this.log.appendSoon(response);
    const written = logCallbacks(push);
    return {
      ...written,
      onEndMessage: (messageId, text, interrupted) => {
        written.onEndMessage(messageId, text, interrupted);
        this.record.lastWords = lastWordsOf(text) || this.record.lastWords;
      },
      onEndToolExecution: (...end) => {
        written.onEndToolExecution(...end);
        this.#host.toolEnded?.(this.record);
      },
      onUsage: usage => this.#used(usage),
      onOther: response => {
        push(response);
        if (response.callback === "onSessionInfo") this.#titled(response.title);
      },
    };
  }

  /** The agent's title is better than none. */
  #titled(title: string | undefined): void {
    if (this.record.title !== "" || title === undefined) return;
    this.record.title = titleOf(title);
    void this.#parts.records.rename(this.id, this.record.title).catch(() => undefined);
  }

  #used(usage: TurnUsage): void {
    this.record.usage = sumUsage(this.record.usage, usage);
    this.log.appendSoon({ callback: "onUsage", ...usage });
  }
}
