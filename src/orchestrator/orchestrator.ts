import { formatSeconds } from "../base/duration.js";
import type { Agent } from "./agents/agentFile.js";
import type { AgentSnapshot } from "./agents/agentFolder.js";
import { selectAgents } from "./agents/selection.js";
import type { OrchestratorConfig } from "./orchestratorConfig.js";
import { abortError, isAbort, OrchestratorError } from "./orchestratorError.js";
import { evaluate, type Issue, suggestRefinement } from "./prompt/evaluator.js";
import { checkPrompt } from "./prompt/prompt.js";
import type { AgentCallbacks, AgentRun, AgentRunner, Clock } from "./run/agentRunner.js";
import { type AgentResult, chainPrompt, synthesise } from "./run/chain.js";
import { type OnProgress, Progress } from "./run/progress.js";

export type LogLevel = "debug" | "info" | "warning" | "error";
export type OnLog = (level: LogLevel, message: string, data?: Record<string, unknown>) => void;

/** Observes a chain from its plan to the end of its last agent. */
export interface ChainObserver {
  planned(plan: Pick<Plan, "refinedPrompt" | "feedback" | "rationale"> & { selectedAgents: string[] }): void;
  /** The returned callbacks receive the blocks of the agent's session. */
  agentStarts(agent: string, step: number, prompt: string): AgentCallbacks;
  agentEnded(result: AgentResult, step: number): void;
}

export interface CallOptions {
  signal?: AbortSignal;
  onProgress?: OnProgress | undefined;
  onLog?: OnLog | undefined;
  observer?: ChainObserver | undefined;
}

export interface EvaluationFeedback {
  isClear: boolean;
  confidence: number;
  issues: Issue[];
  suggestions: string | null;
}

export interface OrchestrationResult {
  originalPrompt: string;
  refinedPrompt: string;
  evaluationFeedback: EvaluationFeedback;
  selectedAgents: string[];
  agentResults: AgentResult[];
  finalOutput: string;
  executionTime: string;
  selectionRationale: string[];
  partial?: true;
}

export interface AgentCallResult {
  agent: string;
  prompt: string;
  output: AgentResult["output"];
  executedAt: string;
  executionTime: string;
  cached: boolean;
}

/** Below this a strict server asks for a better prompt instead of guessing. */
const minConfidence = 0.3;

export interface OrchestratorParts {
  config: OrchestratorConfig;
  agents(): Promise<AgentSnapshot>;
  runner: AgentRunner;
  clock: Clock;
}

interface Plan {
  originalPrompt: string;
  prompt: string;
  refinedPrompt: string;
  feedback: EvaluationFeedback;
  agents: readonly Agent[];
  rationale: string[];
}

interface Begun {
  executedAt: string;
  startedAtMs: number;
}

const feedbackOf = (prompt: string): EvaluationFeedback => {
  const { isClear, confidence, issues, suggestions } = evaluate(prompt);
  return { isClear, confidence, issues, suggestions };
};

/** Judges a prompt, selects agents, runs them one after another and combines their answers. */
export class Orchestrator {
  readonly #parts: OrchestratorParts;

  constructor(parts: OrchestratorParts) {
    this.#parts = parts;
  }

  async evaluatePrompt(prompt: unknown) {
    const { config } = this.#parts;
    const text = checkPrompt(prompt, config.maxPromptChars);
    const { registry } = await this.#parts.agents();
    const { isClear, confidence, issues, suggestions, keywords } = evaluate(text);
    const { agents, rationale } = selectAgents(registry.all(), text, config);
    return {
      originalPrompt: String(prompt),
      isClear,
      confidence,
      issues,
      refinedPrompt: suggestRefinement(text, { isClear, issues }),
      keywords,
      selectedAgents: agents.map(agent => agent.name),
      suggestions,
      selectionRationale: rationale,
    };
  }

  async listAgents() {
    const { registry, problems } = await this.#parts.agents();
    const agents = registry.all();
    return { agents, problems, count: agents.length };
  }

  async runAgent(agentName: string, prompt: unknown, options: CallOptions = {}): Promise<AgentCallResult> {
    const { config, runner } = this.#parts;
    const text = checkPrompt(prompt, config.maxPromptChars);
    const { registry } = await this.#parts.agents();
    const agent = registry.get(agentName);
    const signal = options.signal ?? new AbortController().signal;
    const progress = new Progress(1, options.onProgress);
    options.onLog?.("info", `${agent.name} starts`, { agent: agent.name });
    options.onLog?.("debug", "prompt", { prompt: text });
    options.observer?.planned({
      refinedPrompt: text,
      feedback: feedbackOf(text),
      rationale: [`${agent.name}: named in the call`],
      selectedAgents: [agent.name],
    });
    const callbacks = options.observer?.agentStarts(agent.name, 1, text);
    const begun = this.#now();
    try {
      const work = runner.ensureAvailable([agent]).then(() => runner.run(agent, text, { signal, callbacks }));
      const run = await progress.during(`${agent.name} runs`, work);
      options.onLog?.("info", `${agent.name} is done`, { agent: agent.name, cached: run.cached });
      options.onLog?.("debug", "output", { text: run.output.text });
      options.observer?.agentEnded(succeeded(agent, run), 1);
      progress.step(`${agent.name} is done`);
      const { output, executedAt, durationMs, cached } = run;
      return {
        agent: agent.name,
        prompt: text,
        output,
        executedAt,
        executionTime: formatSeconds(durationMs),
        cached,
      };
    } catch (error) {
      if (!isAbort(error)) options.observer?.agentEnded(this.#failed(agent, error, begun), 1);
      throw error;
    }
  }

  async runWithAuto(prompt: unknown, options: CallOptions = {}): Promise<OrchestrationResult> {
    const { config } = this.#parts;
    const text = checkPrompt(prompt, config.maxPromptChars);
    const feedback = feedbackOf(text);
    if (config.strictPrompts && feedback.confidence < minConfidence) {
      throw OrchestratorError.invalid(
        `The prompt is not clear enough (confidence ${feedback.confidence}).`,
        `Issues: ${feedback.issues.join(", ")}. ${feedback.suggestions ?? ""}`.trim(),
      );
    }
    const { registry } = await this.#parts.agents();
    const { agents, rationale } = selectAgents(registry.all(), text, config);
    if (agents.length === 0) throw noneSelected(registry.all());
    const refinedPrompt = suggestRefinement(text, feedback);
    const plan = { originalPrompt: String(prompt), prompt: text, refinedPrompt, feedback, agents, rationale };
    return this.#runChain(plan, options);
  }

  async runWithExplicitChain(
    prompt: unknown,
    names: readonly string[],
    options: CallOptions = {},
  ): Promise<OrchestrationResult> {
    const text = checkPrompt(prompt, this.#parts.config.maxPromptChars);
    if (names.length === 0) throw OrchestratorError.failed("The chain names no agent.");
    const { registry } = await this.#parts.agents();
    const agents = names.map(name => registry.get(name));
    const rationale = agents.map(agent => `${agent.name}: named in the chain`);
    const feedback = feedbackOf(text);
    const plan = {
      originalPrompt: String(prompt),
      prompt: text,
      refinedPrompt: text,
      feedback,
      agents,
      rationale,
    };
    return this.#runChain(plan, options);
  }

  async #runChain(plan: Plan, options: CallOptions): Promise<OrchestrationResult> {
    const { clock, runner } = this.#parts;
    const { agents, feedback, rationale, refinedPrompt, originalPrompt } = plan;
    const startedAtMs = clock.monotonicMs();
    const selectedAgents = agents.map(agent => agent.name);
    const progress = new Progress(agents.length + 3, options.onProgress);
    progress.step(
      feedback.isClear ? "The prompt is clear" : `The prompt is unclear: ${feedback.issues.join(", ")}`,
    );
    progress.step(`Selected ${selectedAgents.join(", ")}`);
    options.onLog?.("info", `selected ${selectedAgents.join(", ")}`, { selectionRationale: rationale });
    options.observer?.planned({ refinedPrompt, feedback, rationale, selectedAgents });
    await progress.during("Looking for the Copilot runtime", runner.ensureAvailable(agents));
    const results: AgentResult[] = [];
    for (const agent of agents) {
      const result = await this.#runStep(agent, plan, results, progress, options);
      results.push(result);
      options.observer?.agentEnded(result, results.length);
      progress.step(`${agent.name}: ${result.status === "success" ? "done" : result.error?.code}`);
      if (result.error?.code === "CLI_NOT_AVAILABLE") break;
    }
    const failed = results.filter(result => result.error !== undefined);
    if (failed.length === results.length) throw allFailed(failed);
    progress.step("Put the results together");
    return {
      originalPrompt,
      refinedPrompt,
      evaluationFeedback: feedback,
      selectedAgents,
      agentResults: results,
      finalOutput: synthesise(results),
      executionTime: formatSeconds(clock.monotonicMs() - startedAtMs),
      selectionRationale: rationale,
      ...(failed.length > 0 && { partial: true }),
    };
  }

  /** A failure is recorded and the chain continues; only a cancel by the caller ends it here. */
  async #runStep(
    agent: Agent,
    { refinedPrompt, agents }: Plan,
    earlier: readonly AgentResult[],
    progress: Progress,
    { signal = new AbortController().signal, onLog, observer }: CallOptions,
  ): Promise<AgentResult> {
    if (signal.aborted) throw abortError();
    const { runner } = this.#parts;
    const prompt = chainPrompt(refinedPrompt, earlier, agents.length);
    const begun = this.#now();
    onLog?.("info", `${agent.name} starts`, { agent: agent.name, step: earlier.length + 1 });
    onLog?.("debug", "prompt", { prompt });
    const callbacks = observer?.agentStarts(agent.name, earlier.length + 1, prompt);
    try {
      const run = await progress.during(
        `${agent.name} runs`,
        runner.run(agent, prompt, { signal, callbacks }),
      );
      onLog?.("info", `${agent.name} is done`, { agent: agent.name, cached: run.cached });
      onLog?.("debug", "output", { text: run.output.text });
      return succeeded(agent, run);
    } catch (error) {
      if (isAbort(error)) throw error;
      const { code, message } = OrchestratorError.of(error);
      onLog?.("warning", `${agent.name} failed`, { agent: agent.name, code, error: message });
      return this.#failed(agent, error, begun);
    }
  }

  #now(): Begun {
    const { clock } = this.#parts;
    return { executedAt: clock.now().toISOString(), startedAtMs: clock.monotonicMs() };
  }

  #failed(agent: Agent, error: unknown, { executedAt, startedAtMs }: Begun): AgentResult {
    const { code, message } = OrchestratorError.of(error);
    const executionTime = formatSeconds(this.#parts.clock.monotonicMs() - startedAtMs);
    const failure = { status: "error", cached: false, error: { code, message } } as const;
    return { agent: agent.name, output: null, executedAt, executionTime, ...failure };
  }
}

function succeeded(agent: Agent, run: AgentRun & { cached: boolean }): AgentResult {
  const { output, executedAt, durationMs, cached } = run;
  const executionTime = formatSeconds(durationMs);
  return { agent: agent.name, output, executedAt, executionTime, status: "success", cached };
}

function noneSelected(agents: readonly Agent[]): OrchestratorError {
  const details =
    agents.length === 0
      ? "There are no agents; agent files are expected in .github/agents/."
      : `Available: ${agents.map(agent => agent.name).join(", ")}`;
  return OrchestratorError.failed("No agent matches the prompt.", details);
}

function allFailed(failed: readonly AgentResult[]): OrchestratorError {
  const details = failed.map(({ agent, error }) => `${agent}: ${error?.message} (${error?.code})`).join("; ");
  const all = (code: string) => failed.every(({ error }) => error?.code === code);
  if (all("CLI_NOT_AVAILABLE"))
    return OrchestratorError.notAvailable(failed[0]?.error?.message ?? "Copilot is not available.", details);
  if (all("EXECUTION_TIMEOUT")) return OrchestratorError.timeout("Every agent took too long.", details);
  return OrchestratorError.failed(failed.length === 1 ? "The agent failed." : "All agents failed.", details);
}
