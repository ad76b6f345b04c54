import type {
  AvailableCommand,
  ContentBlock,
  McpServer,
  PromptResponse,
  SessionConfigOption,
  SessionInfo,
  SessionUpdate,
  StopReason,
} from "@agentclientprotocol/sdk";
import type { Log } from "../base/log.js";
import type { AgentCommand, SessionOption } from "../live/callbacks.js";
import type { StoredResponse } from "../live/storedResponse.js";
import { Approvals } from "./approvals.js";
import { parseCommand, withPortalCommands } from "./commands.js";
import { type Editor, sendUpdates } from "./editor.js";
import { type FeedEvent, follow } from "./feed.js";
import { agentOptionId, agentOptions, type Model, modelOption, modelOptionId } from "./models.js";
import type { Portal } from "./portal.js";
import { promptText } from "./promptText.js";
import { Requests } from "./requests.js";
import { invalid, PortalRefusal, rpcError, TurnFailed } from "./rpcErrors.js";
import { startPortalSession } from "./startPortalSession.js";
import { message, Translator, userMessage } from "./translator.js";
import { Turn } from "./turn.js";
import { runCommand } from "./works.js";

export interface EditorSessionParts {
  portal: Portal;
  editor: Editor;
  log: Log;
}

export interface EditorSessionOptions {
  cwd: string;
  models: readonly Model[];
  model: Model;
  permissions: string | undefined;
  /** The editor's MCP servers. */
  mcpServers: readonly McpServer[];
}

const serversNotUsed =
  "The MCP servers of the editor are not used: only ACP agents behind the portal take them, and this model is none.";
const stopReasons: readonly StopReason[] = ["max_tokens", "max_turn_requests", "refusal"];
/** The last updates of a task's session may arrive shortly after its result. */
const quietTimeoutMs = 2000;

/** A portal session as an editor sees it: it follows the session's log and sends the editor updates. */
export class EditorSession {
  readonly id: string;
  readonly #options: EditorSessionOptions;
  readonly #parts: EditorSessionParts;
  readonly #approvals: Approvals;
  #model: Model;
  #portalId: string;
  #translator: Translator;
  #requests = new Requests();
  #turn: Turn | undefined;
  #prompted = false;
  #title = "";
  /** Whether the agent gave the title, which is better than the portal's, taken from the first prompt. */
  #hasOwnTitle = false;
  #updatedAt = new Date().toISOString();
  #commands: AvailableCommand[] = [];
  #agentOptions: SessionConfigOption[] = [];
  /** A change of the model is under way. */
  #changing: Promise<unknown> = Promise.resolve();
  #following: Promise<void> | undefined;
  #stopFollowing = new AbortController();
  #after = "";
  #onQuiet: () => void = () => undefined;
  /** A request whose id is not known yet: the log may show it before the portal answers. */
  #sending: Promise<unknown> = Promise.resolve();

  constructor(portalId: string, options: EditorSessionOptions, parts: EditorSessionParts) {
    this.id = portalId;
    this.#portalId = portalId;
    this.#options = options;
    this.#parts = parts;
    this.#model = options.model;
    this.#translator = this.#newTranslator();
    this.#approvals = new Approvals(portalId, parts);
    this.#follow();
  }

  get cwd(): string {
    return this.#options.cwd;
  }

  get info(): SessionInfo {
    const title = this.#title === "" ? undefined : this.#title;
    return { sessionId: this.id, cwd: this.cwd, updatedAt: this.#updatedAt, ...(title && { title }) };
  }

  get configOptions(): SessionConfigOption[] {
    return [modelOption(this.#options.models, this.#model.id), ...this.#agentOptions];
  }

  async sendCommands(): Promise<void> {
    const availableCommands = withPortalCommands(this.#commands);
    await this.#tell([{ sessionUpdate: "available_commands_update", availableCommands }]);
  }

  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.#turn) throw alreadyRunning();
    const text = promptText(blocks);
    if (text === "") throw invalid("the prompt is empty");
    const turn = new Turn();
    this.#turn = turn;
    const onAbort = () => void turn.cancel();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const running = this.#run(turn, text);
      // After a cancel the editor does not wait for what cannot be ended.
      await Promise.race([running, turn.over.then(() => (turn.isCancelled ? undefined : running))]);
      return { stopReason: turn.isCancelled ? "cancelled" : turn.stopReason };
    } catch (error) {
      if (turn.isCancelled) return { stopReason: "cancelled" };
      throw rpcError(error, this.id);
    } finally {
      signal.removeEventListener("abort", onAbort);
      turn.end();
      this.#turn = undefined;
    }
  }

  cancel(): void {
    void this.#turn?.cancel();
  }

  async setOption(configId: string, value: string | boolean): Promise<SessionConfigOption[]> {
    const agentId = agentOptionId(configId);
    if (agentId !== undefined) {
      const body = JSON.stringify({ configId: agentId, value });
      const { portal } = this.#parts;
      const { options } = await portal.call<{ options: SessionOption[] }>(`${this.#path}/option`, { body });
      this.#agentOptions = agentOptions(options);
    } else if (configId === modelOptionId) {
      const change = this.#changing.then(() => this.#changeModel(String(value)));
      this.#changing = change.catch(() => undefined);
      await change;
    } else throw invalid(`There is no option ${JSON.stringify(configId)}; there is ${modelOptionId}`);
    return this.configOptions;
  }

  /** Ends the session on the portal too; a running turn is cancelled. */
  async close(): Promise<void> {
    this.cancel();
    this.#approvals.withdrawAll();
    this.#stopFollowing.abort();
    await this.#changing;
    const { portal, log } = this.#parts;
    const ends = [this.#turn?.halt?.(), portal.call(`${this.#path}/stop`, { body: "" })];
    // Someone else may have stopped it.
    for (const end of await Promise.allSettled(ends))
      if (end.status === "rejected") log.info({ error: String(end.reason) }, "closing a session");
    this.#turn?.end();
  }

  get #path(): string {
    return `copilot/session/${this.#portalId}`;
  }

  #newTranslator(): Translator {
    return new Translator({ notices: Boolean(this.#parts.editor.capabilities.session?.notices) });
  }

  async #tell(updates: readonly SessionUpdate[]): Promise<void> {
    await sendUpdates(this.#parts.editor, this.id, updates);
  }

  async #changeModel(modelId: string): Promise<void> {
    const model = this.#options.models.find(({ id }) => id === modelId);
    if (!model) throw invalid(`There is no model ${JSON.stringify(modelId)}`);
    if (model === this.#model) return;
    if (this.#prompted || this.#turn)
      throw invalid("The model can be changed only before the first prompt; start a new session for another");
    const { portal, log } = this.#parts;
    const portalId = await startPortalSession(portal, { ...this.#options, model });
    const unused = this.#path;
    this.#stopFollowing.abort();
    await this.#following;
    this.#portalId = portalId;
    this.#model = model;
    this.#after = "";
    this.#requests = new Requests();
    this.#translator = this.#newTranslator();
    this.#commands = [];
    this.#agentOptions = [];
    this.#hasOwnTitle = false;
    this.#follow();
    await portal
      .call(`${unused}/delete`, { body: "" })
      .catch(error => log.warn({ error: String(error) }, "an unused session stays open"));
  }

  async #run(turn: Turn, text: string): Promise<void> {
    await this.#changing;
    const { portal, editor, log } = this.#parts;
    await portal.ready();
    await this.#checkIdle();
    if (turn.isCancelled) return;
    const isIgnored = this.#options.mcpServers.length > 0 && this.#model.backend !== "acp";
    if (!this.#prompted && isIgnored) await this.#tell([this.#translator.notice("warning", serversNotUsed)]);
    this.#prompted = true;
    this.#updatedAt = new Date().toISOString();
    this.#follow();
    const command = parseCommand(text);
    if (!command) {
      await this.#query(turn, text);
    } else {
      const approvals = this.#approvals;
      const work = { sessionId: this.id, portalId: this.#portalId, cwd: this.cwd };
      await runCommand(command, work, turn, { portal, editor, log, approvals });
      await this.#quiet();
    }
    await this.#tellTitle();
  }

  /** A website request may be running. A portal that died may have left no end in the log, so the portal is asked. */
  async #checkIdle(): Promise<void> {
    if (this.#requests.running === undefined) return;
    const { status } = await this.#parts.portal.call<{ status: string }>(this.#path);
    if (status === "Busy") throw alreadyRunning();
    this.#requests = new Requests();
  }

  async #query(turn: Turn, text: string): Promise<void> {
    const { portal } = this.#parts;
    const sending = portal.call<{ requestId: string }>(`${this.#path}/query`, { body: text });
    this.#sending = sending.catch(() => undefined);
    turn.requestId = (await sending).requestId;
    turn.halt = () => portal.call(`${this.#path}/cancel`, { body: "" });
    await turn.over;
  }

  /** Resolves when the log shows that no request is running. */
  async #quiet(): Promise<void> {
    if (this.#requests.running === undefined) return;
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, quietTimeoutMs);
      this.#onQuiet = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #tellTitle(): Promise<void> {
    if (this.#hasOwnTitle) return;
    const known = await this.#parts.portal.call<{ title: string }>(this.#path).catch(() => undefined);
    if (!known || known.title === this.#title) return;
    this.#title = known.title;
    await this.#tell([{ sessionUpdate: "session_info_update", title: known.title }]);
  }

  /** Follows the log, once. */
  #follow(): void {
    if (this.#following) return;
    this.#stopFollowing = new AbortController();
    const following = this.#read(this.#stopFollowing.signal).finally(() => {
      if (this.#following === following) this.#following = undefined;
    });
    this.#following = following;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const path = `${this.#path}/events`;
    try {
      for await (const events of follow(this.#parts.portal, path, { after: this.#after, signal }))
        await this.#receive(events);
      this.#turn?.end(new PortalRefusal("SessionNotFound", "The session was stopped."));
    } catch (error) {
      if (signal.aborted) return;
      this.#parts.log.warn({ sessionId: this.id, error: String(error) }, "the session is lost");
      this.#approvals.withdrawAll();
      this.#requests = new Requests();
      this.#turn?.end(error);
    }
  }

  async #receive(events: readonly FeedEvent[]): Promise<void> {
    // One batch up to the end of our turn, which must be sent before the prompt is answered.
    let batch: StoredResponse[] = [];
    const tell = async () => {
      const told = batch;
      batch = [];
      await this.#tell(this.#translator.translate(told));
    };
    await this.#sending;
    this.#approvals.receive(events.map(({ data }) => data));
    for (const { data } of events) {
      batch.push(data);
      const updates = this.#own(data);
      this.#requests.take(data);
      const isOver = data.callback === "onIdle" && this.#isOurs(data);
      if (updates.length > 0 || isOver) await tell();
      await this.#tell(updates);
      if (isOver) this.#turn?.end(this.#turn.failure);
    }
    await tell();
    this.#after = events.at(-1)?.id ?? this.#after;
    if (this.#requests.running === undefined) this.#onQuiet();
  }

  #isOurs({ requestId }: { requestId?: string }): boolean {
    return requestId !== undefined && requestId === this.#turn?.requestId;
  }

  /** Applies a response to the session itself, besides the translator's updates. */
  #own(response: StoredResponse): SessionUpdate[] {
    if ("sessionError" in response) {
      if (!this.#turn || !this.#isOurs(response))
        return [this.#translator.notice("error", response.sessionError)];
      this.#turn.failure = new TurnFailed(response.sessionError);
      return [];
    }
    switch (response.callback) {
      case "onUserRequest":
      case "onGeneratedUserPrompt":
        return this.#isOurs(response) ? [] : [userMessage(response.prompt)];
      case "onCommands":
        this.#commands = response.commands.map(availableCommand);
        return [
          {
            sessionUpdate: "available_commands_update",
            availableCommands: withPortalCommands(this.#commands),
          },
        ];
      case "onOptions":
        this.#agentOptions = agentOptions(response.options);
        return [{ sessionUpdate: "config_option_update", configOptions: this.configOptions }];
      case "onSessionInfo":
        if (response.title !== undefined) {
          this.#title = response.title;
          this.#hasOwnTitle = true;
        }
        return [];
      case "onTurnResult":
        if (this.#turn && this.#requests.running === this.#turn.requestId)
          this.#turn.stopReason = stopReasons.find(known => known === response.stopReason) ?? "end_turn";
        return [];
      case "onQuestion":
        if (response.choices?.length) return [];
        return [message(`${response.question}\n\n(Answer on ${this.#parts.portal.url})\n`)];
      default:
        return [];
    }
  }
}

function alreadyRunning(): Error {
  return invalid("a prompt is already running");
}

function availableCommand({ name, description, hint }: AgentCommand): AvailableCommand {
  return { name, description, ...(hint !== undefined && { input: { hint } }) };
}
