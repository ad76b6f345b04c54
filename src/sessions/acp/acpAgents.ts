import type { Backend, BackendModel } from "../../backends/backend.js";
import { movablePart } from "../../backends/orphans.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { StartError } from "../../base/startError.js";
import type { Sandboxes } from "../../sandbox/sandboxes.js";
import type { AgentConnection } from "./agentConnection.js";
import type { StopTimes } from "./agentLink.js";
import { AgentProcess, type AgentProcessState } from "./agentProcess.js";
import { type AgentSettings, type AgentsRead, agentSecrets } from "./agentSettings.js";
import { given } from "./fields.js";

export interface AcpAgentsOptions {
  /** Reads the settings again. */
  read(): AgentsRead;
  /** The environment that agents inherit. */
  env: NodeJS.ProcessEnv;
  /** From `ownerMarker`. */
  marker: string;
  /** Secrets that must never be quoted, besides the agents' environments. */
  secrets: readonly string[];
  sandboxes: Pick<Sandboxes, "wrap">;
  /** Whether an agent runs in a sandbox when it is used outside a session. */
  sandbox: boolean;
  /** Whether what works in this folder can move to another node. */
  isMovable?(folder: string): Promise<boolean>;
  log: Log;
}

/** A model id of this backend, taken apart. */
export interface AcpModel {
  agent: AgentSettings;
  /** The model that the process is started with. */
  model: string | undefined;
}

const prefix = "acp:";
/** When an agent has several processes, the one whose state says most about it. */
const byInterest: readonly AgentProcessState[] = ["failed", "ready", "starting", "stopping", "stopped"];

/** The configured agents and their running processes. */
export class AcpAgents {
  readonly #options: AcpAgentsOptions;
  readonly #processes = new Map<string, AgentProcess>();
  #read: AgentsRead;
  #started = 0;

  constructor(options: AcpAgentsOptions) {
    this.#options = options;
    this.#read = options.read();
    for (const problem of this.#read.problems) options.log.warn({ problem }, "ACP agents");
  }

  get problems(): readonly string[] {
    return this.#read.problems;
  }

  /** Secrets that must not be shown or logged. */
  get secrets(): string[] {
    return [...this.#options.secrets, ...agentSecrets(this.#read)];
  }

  /** Listed without starting anything. */
  get backend(): Backend {
    return {
      kind: "acp",
      name: "acp",
      owns: id => id.startsWith(prefix),
      list: async () => this.#read.agents.filter(({ enabled }) => enabled).flatMap(modelsOf),
    };
  }

  find(modelId: string): AcpModel | undefined {
    for (const agent of this.#read.agents.filter(({ enabled }) => enabled)) {
      if (modelId === prefix + agent.id) return { agent, model: undefined };
      const model = agent.models.find(name => modelId === `${prefix}${agent.id}:${name}`);
      if (model !== undefined) return { agent, model };
    }
    return undefined;
  }

  /** With a folder, the process in that folder's sandbox. */
  process({ agent: { id }, model }: AcpModel, sandboxed?: string, isMovable = false): AgentProcess {
    const name = model === undefined ? id : `${id}:${model}`;
    const key =
      name + (sandboxed === undefined ? "" : `\0${sandboxed}`) + (isMovable ? `\0${movablePart}` : "");
    const known = this.#processes.get(key);
    if (known) return known;
    const { log, env, marker, sandboxes } = this.#options;
    this.#forgetStopped();
    const process = new AgentProcess({
      log: log.child({ agent: name }),
      connection: () => {
        const settings = this.#read.agents.find(agent => agent.id === id && agent.enabled);
        if (!settings) throw agentNotFound(id);
        const owner = `${marker}/acp-${isMovable ? movablePart : ""}${++this.#started}`;
        const common = {
          settings,
          model,
          env,
          owner,
          secrets: this.secrets,
          log: log.child({ agent: name }),
        };
        if (sandboxed === undefined) return common;
        return { ...common, wrap: command => sandboxes.wrap(sandboxed, command) };
      },
    });
    this.#processes.set(key, process);
    return process;
  }

  /** The process of a session; what can move to another node has its own, which can be ended alone. */
  async processIn(model: AcpModel, folder: string, sandbox: boolean): Promise<AgentProcess> {
    const isMovable = (await this.#options.isMovable?.(folder)) ?? false;
    return this.process(model, sandbox ? folder : undefined, isMovable);
  }

  /** Lasts until the configuration is read again. Running processes continue. */
  setEnabled(id: string, enabled: boolean): void {
    if (!this.#read.agents.some(agent => agent.id === id)) throw agentNotFound(id);
    const agents = this.#read.agents.map(agent => (agent.id === id ? { ...agent, enabled } : agent));
    this.#read = { ...this.#read, agents };
  }

  /** Running processes keep their settings until they stop. */
  reload(): { agents: number; problems: string[] } {
    try {
      this.#read = this.#options.read();
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      // The previous settings are better than none.
      this.#read = { ...this.#read, problems: [error.message] };
    }
    return { agents: this.#read.agents.length, problems: this.#read.problems };
  }

  list() {
    const known = this.#read.agents.map(settings => {
      const processes = this.#processesOf(settings.id);
      const { id, title, enabled, transport } = settings;
      const state = byInterest.find(name => processes.some(process => process.state === name)) ?? "stopped";
      const connection = processes.map(process => process.connection).find(Boolean);
      return {
        id,
        title,
        enabled,
        transport,
        state,
        sessions: processes.reduce((sum, { sessionCount }) => sum + sessionCount, 0),
        stderr: processes.flatMap(({ stderr }) => [...stderr]).slice(-200),
        ...given({
          version: connection?.info.version,
          capabilities: connection?.info.capabilities,
          lastError: processes.map(process => process.lastError).find(Boolean),
        }),
      };
    });
    const broken = this.#read.broken.map(({ id, message }) => ({
      id,
      title: id,
      enabled: false,
      transport: "stdio",
      state: "failed",
      sessions: 0,
      stderr: [],
      lastError: message,
    }));
    return [...known, ...broken];
  }

  /** Runs `work` with the agent process that has no model. */
  with<T>(id: string, work: (connection: AgentConnection) => Promise<T>): Promise<T> {
    const agent = this.#settings(id);
    return this.process({ agent, model: undefined }, this.#options.sandbox ? agent.cwd : undefined).with(
      work,
    );
  }

  /** Works only with a running agent; none is started for this. */
  async deleteSession(id: string, sessionId: string): Promise<void> {
    for (const { connection } of this.#processesOf(id))
      if (connection?.has("sessionCapabilities", "delete"))
        await connection.requestRaw("session/delete", { sessionId }).catch(() => undefined);
  }

  async restart(id: string): Promise<void> {
    this.#settings(id);
    await Promise.all(this.#processesOf(id).map(process => process.restart()));
  }

  async close(times: StopTimes): Promise<void> {
    await Promise.all([...this.#processes.values()].map(process => process.close(times)));
  }

  /** Sandboxed agents have a process per folder; a stopped one can be dropped. */
  #forgetStopped(): void {
    for (const [key, { state, sessionCount }] of this.#processes)
      if (key.includes("\0") && state === "stopped" && sessionCount === 0) this.#processes.delete(key);
  }

  #settings(id: string): AgentSettings {
    const settings = this.#read.agents.find(agent => agent.id === id);
    if (!settings) throw agentNotFound(id);
    if (!settings.enabled) throw PortalError.explained("AgentNotAvailable", `${settings.title} is disabled.`);
    return settings;
  }

  #processesOf(id: string): AgentProcess[] {
    return [...this.#processes]
      .filter(([key]) => key.split(/[:\0]/, 1)[0] === id)
      .map(([, process]) => process);
  }
}

function modelsOf({ id, title, models }: AgentSettings): BackendModel[] {
  const common = { multiplier: 0, agent: id };
  return [
    { id: prefix + id, name: title, ...common },
    ...models.map(model => ({ id: `${prefix}${id}:${model}`, name: `${title} – ${model}`, ...common })),
  ];
}

function agentNotFound(id: string): PortalError {
  return PortalError.explained("AgentNotFound", `There is no agent ${JSON.stringify(id)}.`);
}
