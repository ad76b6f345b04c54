import { relative, sep } from "node:path";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { object } from "../../api/schemas.js";
import type { Log } from "../../base/log.js";
import type { AgentCallResult, CallOptions, OrchestrationResult, Orchestrator } from "../orchestrator.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import { isAbort, OrchestratorError } from "../orchestratorError.js";
import { checkAgentName, checkChain } from "../prompt/prompt.js";
import type { Clock } from "../run/agentRunner.js";
import { errorResult, successResult } from "./envelope.js";
import {
  envelopeSchema,
  evaluatePromptData,
  listAgentsData,
  orchestrationData,
  promptInput,
  runAgentData,
} from "./toolSchemas.js";

export type ToolArguments = Readonly<Record<string, unknown>>;

/** A tool of the dispatcher: what clients see, and what it does. */
export interface McpTool {
  readonly definition: Tool;
  handle(args: ToolArguments, options: CallOptions): Promise<CallToolResult>;
}

export interface EnvelopeToolParts {
  clock: Clock;
  log: Log;
}

/** Does `work` and records it in a history. */
export type RecordRun = <Result extends OrchestrationResult | AgentCallResult>(
  prompt: unknown,
  options: CallOptions,
  work: (options: CallOptions) => Promise<Result>,
) => Promise<Result>;

export interface OrchestratorToolParts extends EnvelopeToolParts {
  record?: RecordRun | undefined;
}

interface EnvelopeTool extends Omit<Tool, "inputSchema" | "outputSchema"> {
  input: Record<string, Record<string, unknown>>;
  data: Record<string, unknown>;
  call(args: ToolArguments, options: CallOptions): Promise<unknown>;
}

/** A tool whose answers and errors come in the envelope. */
export function envelopeTool({ clock, log }: EnvelopeToolParts, tool: EnvelopeTool): McpTool {
  const { input, data, call, ...about } = tool;
  const schema = object(input);
  return {
    definition: {
      ...about,
      inputSchema: { ...schema, required: [...schema.required], additionalProperties: false },
      outputSchema: envelopeSchema(data),
    },
    async handle(args, options) {
      const startedAtMs = clock.monotonicMs();
      try {
        const answer = await call(args, options);
        return successResult(answer, clock.monotonicMs() - startedAtMs, clock);
      } catch (error) {
        if (isAbort(error)) throw error;
        const { code } = OrchestratorError.of(error);
        options.onLog?.("error", `${tool.name} failed`, { code });
        log[code === "UNKNOWN_ERROR" ? "error" : "info"](
          { err: error, tool: tool.name, code },
          "tool call failed",
        );
        return errorResult(error, clock);
      }
    },
  };
}

const readOnly = { readOnlyHint: true, idempotentHint: true, openWorldHint: false, destructiveHint: false };

/** The four tools. */
export function orchestratorTools(
  orchestrator: Orchestrator,
  config: OrchestratorConfig,
  parts: OrchestratorToolParts,
): McpTool[] {
  const record: RecordRun = parts.record ?? ((_prompt, options, work) => work(options));
  const runs = {
    readOnlyHint: false,
    idempotentHint: false,
    openWorldHint: true,
    destructiveHint: config.permissions !== "read-only",
  };
  return [
    envelopeTool(parts, {
      name: "run_with_orchestrator",
      title: "Run the agents that fit a prompt",
      description:
        "Judges how clear the prompt is, picks the agents of the repository whose skills fit, runs them one after another and returns one combined answer. Name agents in agentChain to choose them yourself.",
      input: {
        prompt: promptInput,
        "agentChain?": {
          type: "array",
          items: { type: "string" },
          maxItems: 10,
          description: "Names of agents in the order in which they run; empty to let the prompt choose.",
        },
      },
      data: orchestrationData,
      annotations: runs,
      call: async ({ prompt, agentChain }, options) => {
        const chain = checkChain(agentChain);
        return record(prompt, options, watched =>
          chain
            ? orchestrator.runWithExplicitChain(prompt, chain, watched)
            : orchestrator.runWithAuto(prompt, watched),
        );
      },
    }),
    envelopeTool(parts, {
      name: "list_agents",
      title: "List the agents",
      description:
        "Lists the agents that the repository defines in .github/agents/, with their skills, and what is wrong with files that could not be read.",
      input: {},
      data: listAgentsData,
      annotations: readOnly,
      call: async () => {
        const { agents, problems, count } = await orchestrator.listAgents();
        const listed = agents.map(({ name, description, keywords, id, path }) => ({
          name,
          description,
          keywords,
          id,
          path: relative(config.repoRoot, path).split(sep).join("/"),
        }));
        return { agents: listed, count, problems };
      },
    }),
    envelopeTool(parts, {
      name: "run_agent",
      title: "Run one agent",
      description: "Runs one agent of the repository, by its name, on a prompt.",
      input: {
        agentName: { type: "string", minLength: 1, description: "A name from list_agents." },
        prompt: promptInput,
      },
      data: runAgentData,
      annotations: runs,
      call: async ({ agentName, prompt }, options) => {
        const name = checkAgentName(agentName);
        return record(prompt, options, watched => orchestrator.runAgent(name, prompt, watched));
      },
    }),
    envelopeTool(parts, {
      name: "evaluate_prompt",
      title: "Judge a prompt",
      description:
        "Says how clear a prompt is, what is missing, and which agents run_with_orchestrator would run. Runs nothing.",
      input: { prompt: promptInput },
      data: evaluatePromptData,
      annotations: readOnly,
      call: args => orchestrator.evaluatePrompt(args.prompt),
    }),
  ];
}
