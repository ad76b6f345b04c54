import { randomUUID } from "node:crypto";
import type { LiveResponse } from "../liveResponse.js";
import type { Log } from "../log.js";
import { PortalError } from "../portalError.js";
import { logCallbacks } from "../sessions/logCallbacks.js";
import type { LiveLog, LiveLogs } from "../sharedApi.js";
import type { Store } from "../store/store.js";
import type { ChainObserver, Orchestrator } from "./orchestrator.js";
import { isAbort, OrchestratorError } from "./orchestratorError.js";
import { type RunRecord, RunRecords } from "./runRecords.js";

export interface AgentRunsParts {
  store: Store;
  logs: LiveLogs;
  orchestrator: Orchestrator;
  repoRoot: string;
  log: Log;
}

const interrupted = "The portal stopped while the agents ran.";
const blockIds = ["reasoningId", "messageId", "toolCallId", "parentToolCallId"];

export const runNotFound = (id: string) =>
  PortalError.domain("RunNotFound", `There is no run ${JSON.stringify(id)}.`);

/** Blocks of several sessions stand in one log: the step makes their ids differ. */
function withStep(response: LiveResponse, step: number): LiveResponse {
  const renamed = Object.entries(response).map(([name, value]) => [
    name,
    blockIds.includes(name) && typeof value === "string" ? `${step}.${value}` : value,
  ]);
  return Object.fromEntries(renamed) as LiveResponse;
}

/** Writes what happens to the agents of a run into its log. */
function observe(log: LiveLog, onPlanned: (agents: string[]) => void): ChainObserver {
  const push = (response: LiveResponse) => void log.append(response);
  const spoke = new Set<number>();
  return {
    planned({ refinedPrompt, feedback, rationale, selectedAgents }) {
      onPlanned(selectedAgents);
      push({ callback: "runPlanned", selectedAgents, rationale, refinedPrompt, evaluation: feedback });
    },
    agentStarts(agent, step, prompt) {
      push({ callback: "runAgentStarted", agent, step });
      push({ callback: "onUserRequest", requestId: `${step}`, prompt });
      return logCallbacks(response => {
        if ("callback" in response && response.callback === "onEndMessage") spoke.add(step);
        push(withStep(response, step));
      });
    },
    agentEnded({ agent, status, cached, executionTime, output, error }, step) {
      // A result that is known already comes without a session.
      if (output && !spoke.has(step)) {
        push({ callback: "onStartMessage", messageId: `${step}.known` });
        push({ callback: "onEndMessage", messageId: `${step}.known`, completeContent: output.text });
      }
      push({
        callback: "runAgentEnded",
        agent,
        step,
        status,
        cached,
        executionTime,
        ...(error && { error }),
      });
    },
  };
}

/** The runs that people start on the page: in the history, with a live log each. */
export class AgentRuns {
  readonly #parts: AgentRunsParts;
  readonly #records: RunRecords;
  readonly #running = new Map<string, { abort: AbortController; done: Promise<void> }>();
  /** Resolves when runs that an earlier portal left unfinished have been ended. */
  readonly ready: Promise<void>;

  constructor(parts: AgentRunsParts) {
    this.#parts = parts;
    this.#records = new RunRecords(parts.store);
    this.ready = parts.store.ready.then(() => this.#endInterrupted());
    this.ready.catch(() => {});
  }

  /** Durable when this resolves; without `chain` the agents are chosen by the prompt. */
  async start(prompt: string, chain: readonly string[]): Promise<string> {
    await this.ready;
    try {
      await this.#parts.orchestrator.evaluatePrompt(prompt);
    } catch (error) {
      throw PortalError.malformed("PromptInvalid", OrchestratorError.of(error).message);
    }
    const id = randomUUID();
    await this.#records.insert({ id, repoRoot: this.#parts.repoRoot, prompt });
    const log = await this.#parts.logs.create("run", id);
    const abort = new AbortController();
    const done = this.#run(id, log, prompt, chain, abort.signal).finally(() => this.#running.delete(id));
    this.#running.set(id, { abort, done });
    return id;
  }

  async find(id: string): Promise<RunRecord> {
    await this.ready;
    const record = await this.#records.find(id);
    if (!record) throw runNotFound(id);
    return record;
  }

  async history(limit: number, before?: string, search?: string): Promise<RunRecord[]> {
    await this.ready;
    return this.#records.history(limit, before, search);
  }

  /** Resolves when nothing of it runs any more. */
  async stop(id: string): Promise<void> {
    await this.find(id);
    const running = this.#running.get(id);
    running?.abort.abort();
    await running?.done;
  }

  async delete(id: string): Promise<void> {
    await this.stop(id);
    await this.#parts.logs.delete("run", id);
    await this.#records.delete(id);
  }

  /** Resolves when the ends of runs that are being stopped are written. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #run(
    id: string,
    log: LiveLog,
    prompt: string,
    chain: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { orchestrator } = this.#parts;
    const observer = observe(log, agents => {
      this.#records
        .setAgents(id, agents)
        .catch(error => this.#parts.log.warn({ err: error }, "a run's agents"));
    });
    try {
      const { finalOutput, partial, executionTime } =
        chain.length > 0
          ? await orchestrator.runWithExplicitChain(prompt, chain, { signal, observer })
          : await orchestrator.runWithAuto(prompt, { signal, observer });
      void log.append({ callback: "runSucceeded", finalOutput, executionTime, ...(partial && { partial }) });
      await this.#end(id, log, "Succeeded");
    } catch (error) {
      await this.#fail(id, log, error);
    }
  }

  async #fail(id: string, log: LiveLog, error: unknown): Promise<void> {
    if (isAbort(error)) {
      void log.append({ callback: "runCanceled" });
      return this.#end(id, log, "Canceled");
    }
    const { code, message, details } = OrchestratorError.of(error);
    if (code === "UNKNOWN_ERROR") this.#parts.log.error({ err: error, runId: id }, "a run failed");
    void log.append({ callback: "runFailed", code, message, details });
    return this.#end(id, log, "Failed", `${message} (${code})`);
  }

  async #end(
    id: string,
    log: LiveLog,
    status: "Succeeded" | "Failed" | "Canceled",
    error?: string,
  ): Promise<void> {
    try {
      await log.endOpenBlocks();
      await log.close();
      await this.#records.end(id, status, error);
    } catch (problem) {
      this.#parts.log.warn({ err: problem, runId: id }, "the end of a run is not in the store");
    }
  }

  async #endInterrupted(): Promise<void> {
    for (const { id } of await this.#records.running()) {
      const log = await this.#parts.logs.open("run", id);
      if (log && !log.closed) {
        await log.append({ callback: "runFailed", code: "UNKNOWN_ERROR", message: interrupted, details: "" });
        await log.close();
      }
      await this.#records.end(id, "Failed", interrupted);
    }
  }
}
