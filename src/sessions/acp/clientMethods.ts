import type { Action } from "../../permissions/action.js";
import type { SessionPermissions } from "../../permissions/approvals.js";
import type { LinkOptions } from "./agentLink.js";
import { maxWaiting } from "./agentPermissions.js";
import type { AgentSettings } from "./agentSettings.js";
import { readTextFile, writeTextFile } from "./clientFiles.js";
import { ClientTerminals } from "./clientTerminals.js";
import type { Fields } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";

export interface ClientMethodsOptions {
  settings: AgentSettings;
  workingDirectory: string;
  env: NodeJS.ProcessEnv;
  /** Puts a command into the agent's sandbox, if it has one. */
  wrap: LinkOptions["wrap"];
  permissions: SessionPermissions;
  /** Sends a request in the user's name. */
  say(text: string): void;
  /** A terminal has written more. */
  terminalChanged(terminalId: string): void;
}

/**
 * What the portal offers to an agent. The portal accesses files outside any sandbox, where nothing is read-only or
 * hidden, so a sandboxed agent must use its own file access; its terminals run in the same sandbox.
 */
export function offered(
  { clientFs, clientTerminal }: AgentSettings,
  wrap: LinkOptions["wrap"],
): { clientFs: boolean; clientTerminal: boolean } {
  return { clientFs: clientFs && wrap === undefined, clientTerminal };
}

/** A command may write a thousand times a second. */
const terminalIntervalMs = 100;

/** The files and terminals that the portal offers to an agent, if its settings say so. */
export class ClientMethods {
  readonly #options: ClientMethodsOptions;
  readonly #terminals: ClientTerminals;
  /** Terminals whose output is about to be reported. */
  readonly #wrote = new Set<string>();
  /** Requests without an answer yet. */
  #waiting = 0;

  constructor(options: ClientMethodsOptions) {
    this.#options = options;
    this.#terminals = new ClientTerminals({
      folder: options.workingDirectory,
      env: options.env,
      wrap: options.wrap,
      allow: action => this.#allow(action),
      onOutput: id => this.#terminalWrote(id),
    });
  }

  terminalText(terminalId: string): string {
    return this.#terminals.textOf(terminalId);
  }

  async answer(method: string, params: Fields): Promise<object> {
    const { settings, workingDirectory: folder, wrap } = this.#options;
    const { clientFs, clientTerminal } = offered(settings, wrap);
    if (clientTerminal && method.startsWith("terminal/")) return this.#terminals.answer(method, params);
    if (clientFs && method === "fs/read_text_file")
      return readTextFile(folder, params, action => this.#allow(action));
    if (clientFs && method === "fs/write_text_file")
      return writeTextFile(folder, params, action => this.#allow(action));
    throw new RpcError(errorCode.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
  }

  end(): void {
    this.#terminals.endAll();
  }

  /** Actions that the portal performs for the agent need the same permission. */
  async #allow(action: Action): Promise<void> {
    const { permissions, say } = this.#options;
    if (this.#waiting >= maxWaiting)
      throw new RpcError(errorCode.internal, `At most ${maxWaiting} requests can wait for the user`);
    this.#waiting++;
    const { allowed, by, reason } = await permissions.permission(action).finally(() => this.#waiting--);
    if (by === "user" && reason !== undefined) say(reason);
    if (!allowed) throw new RpcError(errorCode.internal, "Rejected by the user");
  }

  #terminalWrote(terminalId: string): void {
    if (this.#wrote.has(terminalId)) return;
    this.#wrote.add(terminalId);
    setTimeout(() => {
      this.#wrote.delete(terminalId);
      this.#options.terminalChanged(terminalId);
    }, terminalIntervalMs).unref();
  }
}
