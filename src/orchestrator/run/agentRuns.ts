import { randomUUID } from "node:crypto";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import type { InboxItem } from "../../permissions/approvals.js";
import { logCallbacks } from "../../sessions/logCallbacks.js";
import type { LiveLog, LiveLogs } from "../../sharedApi.js";
import type { Store } from "../../store/store.js";
import type { AgentCallResult, CallOptions, ChainObserver, OrchestrationResult } from "../orchestrator.js";
import { isAbort, OrchestratorError } from "../orchestratorError.js";
import type { Repository } from "./repositories.js";
import { type RunRecord, RunRecords, runRow } from "./runRecords.js";

export interface AgentRunsParts {
  store: Store;
  logs: LiveLogs;
  /** That of the settings. */
  own: Repository;
  log: Log;
}

type RunResult = OrchestrationResult | AgentCallResult;

interface OpenRun {
  id: string;
  log: LiveLog;
}

function outcomeOf(result: RunResult) {
  const { executionTime } = result;
  if (!("finalOutput" in result)) return { finalOutput: result.output?.text ?? "", executionTime };
  const { finalOutput, partial } = result;
  return { finalOutput, executionTime, ...(partial && { partial }) };
}

const interrupted = "The portal stopped while the agents ran.";
const blockIds = ["reasoningId", "messageId", "toolCallId", "parentToolCallId"];

export const runNotFound = (id: string) =>
  PortalError.domain("RunNotFound", `There is no run ${JSON.stringify(id)}.`);

/** One log has the blocks of several sessions: the step makes their ids unique. */
function withStep(response: LiveResponse, step: number): LiveResponse {
  const renamed = Object.entries(response).map(([name, value]) => [
    name,
    blockIds.includes(name) && typeof value === "string" ? `${step}.${value}` : value,
  ]);
  return Object.fromEntries(renamed) as LiveResponse;
}

/** Writes the progress of a run's agents into its log. */
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
      const callbacks = logCallbacks(response => {
        if (response.callback === "onEndMessage") spoke.add(step);
        push(withStep(response, step));
      });
      const ask = (response: LiveResponse, item?: InboxItem) =>
        log.append(withStep(response, step), undefined, item);
      return { ...callbacks, run: { id: log.id, push: ask } };
    },
    agentEnded({ agent, status, cached, executionTime, output, error }, step) {
      // A cached result has no session.
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

/** The runs that people start on the page and programs over MCP, each with a live log in the history. */
export class AgentRuns {
  readonly #parts: AgentRunsParts;
  readonly #records: RunRecords;
  readonly #running = new Map<string, { abort: AbortController; done: Promise<void> }>();
  /** Resolves when the runs that an earlier portal left unfinished have ended. */
  readonly ready: Promise<void>;

  constructor(parts: AgentRunsParts) {
    this.#parts = parts;
    const { store, logs } = parts;
    this.#records = new RunRecords(store, logs.ownership);
    logs.adoption.mendsWith(root => this.#endInterrupted(root));
    logs.ownership.onLost(root => this.#running.get(root)?.abort.abort());
    this.ready = logs.adoption.start().then(() => store.patiently(() => this.#endInterrupted()));
    this.ready.catch(() => {});
  }

  /** Durable when this resolves; without `chain` the prompt selects the agents. */
  async start(prompt: string, chain: readonly string[], repository = this.#parts.own): Promise<string> {
    const { orchestrator } = repository;
    const release = repository.hold();
    const run = await this.#open(prompt, repository).catch(error => {
      release();
      if (!(error instanceof OrchestratorError)) throw error;
      throw PortalError.malformed("PromptInvalid", error.message);
    });
    const work = this.#run(run, undefined, options =>
      chain.length > 0
        ? orchestrator.runWithExplicitChain(prompt, chain, options)
        : orchestrator.runWithAuto(prompt, options),
    );
    // The reason of a failure is in its log.
    work.catch(() => {}).finally(release);
    return run.id;
  }

  /** A run whose caller waits for it: the caller can end it, and so can a person on the page. */
  async record<Result extends RunResult>(
    prompt: unknown,
    options: CallOptions,
    work: (options: CallOptions) => Promise<Result>,
  ): Promise<Result> {
    const run = await this.#open(prompt);
    return this.#run(run, options.signal, watched => work({ ...options, ...watched }));
  }

  async find(id: string): Promise<RunRecord> {
    await this.#usable();
    const record = await this.#records.find(id);
    if (!record) throw runNotFound(id);
    return record;
  }

  async history(limit: number, before?: string, search?: string): Promise<RunRecord[]> {
    await this.#usable();
    return this.#records.history(limit, before, search);
  }

  /** Resolves when the whole run has ended. */
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

  /** Resolves when the ends of all running runs are written. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Waits for the start, but not for a store that does not open. */
  async #usable(): Promise<void> {
    const { store } = this.#parts;
    const failure = store.state() === "failing" ? store.failure() : undefined;
    if (failure) throw failure;
    await this.ready;
  }

  /** Rejects a bad prompt before anything is stored. */
  async #open(prompt: unknown, { orchestrator, repoRoot } = this.#parts.own): Promise<OpenRun> {
    await this.#usable();
    const { originalPrompt } = await orchestrator.evaluatePrompt(prompt);
    const id = randomUUID();
    const row = runRow({ id, repoRoot, prompt: originalPrompt });
    return { id, log: await this.#parts.logs.begin("run", id, row) };
  }

  #run<Result extends RunResult>(
    run: OpenRun,
    caller: AbortSignal | undefined,
    work: (options: CallOptions) => Promise<Result>,
  ): Promise<Result> {
    const abort = new AbortController();
    const signal = caller ? AbortSignal.any([caller, abort.signal]) : abort.signal;
    const result = this.#perform(run, signal, work).catch(error => {
      const stoppedHere = isAbort(error) && caller?.aborted === false && abort.signal.aborted;
      throw stoppedHere ? OrchestratorError.failed("The run was stopped in the portal.") : error;
    });
    const forget = () => void this.#running.delete(run.id);
    this.#running.set(run.id, { abort, done: result.then(forget, forget) });
    return result;
  }

  async #perform<Result extends RunResult>(
    { id, log }: OpenRun,
    signal: AbortSignal,
    work: (options: CallOptions) => Promise<Result>,
  ): Promise<Result> {
    const observer = observe(log, agents => {
      this.#records
        .setAgents(id, agents)
        .catch(error => this.#parts.log.warn({ err: error }, "a run's agents"));
    });
    try {
      const result = await work({ signal, observer });
      void log.append({ callback: "runSucceeded", ...outcomeOf(result) });
      await this.#end(id, log, "Succeeded");
      return result;
    } catch (error) {
      await this.#fail(id, log, error);
      throw error;
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

  /** A run that this portal is not running is one that an earlier owner left. */
  async #endInterrupted(root?: string): Promise<void> {
    for (const { id } of await this.#records.running(root)) {
      if (this.#running.has(id)) continue;
      const log = await this.#parts.logs.openOwned("run", id);
      if (log && !log.closed) {
        await log.append({ callback: "runFailed", code: "UNKNOWN_ERROR", message: interrupted, details: "" });
        await log.close();
      }
      await this.#records.end(id, "Failed", interrupted);
    }
  }
}
