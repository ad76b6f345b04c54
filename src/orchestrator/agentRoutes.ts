import { relative } from "node:path";
import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import type { FindWhereabouts, Whereabouts } from "../nodes/whereabouts.js";
import { type LiveLogs, liveRoutes } from "../sharedApi.js";
import { OrchestratorError } from "./orchestratorError.js";
import type { AgentRuns } from "./run/agentRuns.js";
import type { Repositories } from "./run/repositories.js";
import type { RunRecord } from "./run/runRecords.js";

export interface AgentRoutesParts {
  repositories: Repositories;
  runs: AgentRuns;
  logs: LiveLogs;
  /** Which portal has what, by root. */
  whereabouts: FindWhereabouts;
}

function summaryOf(run: RunRecord, { node }: Whereabouts = {}) {
  return {
    runId: run.id,
    prompt: run.prompt,
    agents: run.agents,
    repoRoot: run.repoRoot,
    status: run.status,
    ...(run.error !== null && { failure: run.error }),
    startTime: run.createdAt.toISOString(),
    ...(run.endedAt && { endTime: run.endedAt.toISOString() }),
    ...(node !== undefined && { node }),
  };
}

const summary = object({
  runId: text,
  prompt: text,
  agents: list(text),
  repoRoot: text,
  status: oneOfTexts("Running", "Succeeded", "Failed", "Canceled"),
  "failure?": text,
  startTime: text,
  "endTime?": text,
  "node?": text,
});
const notFound = domainError("RunNotFound");
const agent = object({
  name: text,
  id: text,
  description: text,
  keywords: list(text),
  path: text,
  autoSelect: flag,
  "tools?": list(text),
});
const problem = object({ file: text, code: text, message: text });
const evaluation = object({
  originalPrompt: text,
  isClear: flag,
  confidence: number,
  issues: list(text),
  suggestions: { type: ["string", "null"] },
  refinedPrompt: text,
  keywords: list(text),
  selectedAgents: list(text),
  selectionRationale: list(text),
});

const folder = {
  type: "string",
  maxLength: 4096,
  description: "The repository of the agents, an absolute path; that of the settings when it is empty.",
} as const;
const noFolder = domainError("WorkingDirectoryNotAbsolutePath", "WorkingDirectoryNotExists");

/** The repository's agents and their runs, for the page and for curl. */
export function agentRoutes({ repositories, runs, logs, whereabouts }: AgentRoutesParts): Route[] {
  async function summariesOf(found: readonly RunRecord[]) {
    const where = await whereabouts(found.map(({ id }) => id));
    return found.map(run => summaryOf(run, where.get(run.id)));
  }

  return [
    defineRoute({
      path: "copilot/agent",
      reads: true,
      methods: ["GET"],
      summary: "The agents that the repository defines, and what is wrong with files that could not be read",
      query: { folder },
      answers: {
        json: either(object({ repoRoot: text, agents: list(agent), problems: list(problem) }), noFolder),
      },
      handler: async ({ query }) => {
        const { orchestrator, repoRoot } = await repositories.of(query);
        const { agents, problems } = await orchestrator.listAgents();
        const listed = agents.map(({ name, id, description, keywords, path, autoSelect, tools }) => ({
          name,
          id,
          description,
          keywords,
          path: relative(repoRoot, path),
          autoSelect,
          ...(tools && { tools }),
        }));
        return { repoRoot, agents: listed, problems };
      },
    }),
    defineRoute({
      path: "copilot/agent/evaluate",
      methods: ["POST"],
      summary: "How clear a prompt is, and which agents it would run",
      query: { folder },
      body: "text",
      bodyDescription: "The prompt.",
      answers: { json: either(evaluation, noFolder) },
      handler: async ({ body, query }) => {
        const { orchestrator } = await repositories.of(query);
        try {
          return await orchestrator.evaluatePrompt(body);
        } catch (error) {
          throw PortalError.malformed("PromptInvalid", OrchestratorError.of(error).message);
        }
      },
    }),
    defineRoute({
      path: "copilot/run/start",
      methods: ["POST"],
      summary: "Run the agents that fit a prompt, or those that are named",
      query: {
        agents: {
          type: "string",
          maxLength: 2000,
          description: "Names or ids with commas between them, in the order in which they run.",
        },
        folder,
        model: {
          type: "string",
          maxLength: 500,
          description:
            "The id of the model for all of them; as their files and the settings say when it is empty.",
        },
      },
      body: "text",
      bodyDescription: "The prompt.",
      answers: {
        json: either(
          object({ runId: text }),
          domainError("WorkingDirectoryNotAbsolutePath", "WorkingDirectoryNotExists", "ModelIdNotFound"),
        ),
      },
      handler: async ({ body, query }) => {
        const repository = await repositories.of(query);
        const names = (query.agents ?? "").split(",").map(name => name.trim());
        const chain = names.filter(name => name !== "");
        return { runId: await runs.start(body, chain, repository) };
      },
    }),
    defineRoute({
      path: "copilot/run/{id}",
      reads: true,
      methods: ["GET"],
      summary: "What is known of a run",
      answers: { json: either(summary, notFound) },
      handler: async ({ params }) => (await summariesOf([await runs.find(params.id)]))[0],
    }),
    defineRoute({
      path: "copilot/run/{id}/stop",
      methods: ["POST"],
      summary: "Stop a run and the agent that works for it",
      answers: { json: either(object({ result: oneOfTexts("Closed") }), notFound) },
      handler: async ({ params }) => {
        await runs.stop(params.id);
        return { result: "Closed" };
      },
    }),
    defineRoute({
      path: "copilot/run/{id}/delete",
      methods: ["POST"],
      summary: "Delete a run and its log for good",
      answers: { json: either(object({ result: oneOfTexts("Deleted") }), notFound) },
      handler: async ({ params }) => {
        await runs.delete(params.id);
        return { result: "Deleted" };
      },
    }),
    defineRoute({
      path: "copilot/run/history",
      reads: true,
      methods: ["GET"],
      summary: "Runs of this and earlier days, newest first",
      query: {
        limit: { type: "integer", minimum: 1, maximum: 200, default: 50 },
        before: { type: "string", description: "The runId of the last run of the page before." },
        search: { type: "string", description: "Part of a prompt or of an agent's name." },
      },
      answers: { json: object({ runs: list(summary), "next?": text }) },
      handler: async ({ query }) => {
        const limit = query.limit ?? 50;
        const found = await runs.history(limit, query.before, query.search);
        const last = found.length === limit ? found.at(-1) : undefined;
        return { runs: await summariesOf(found), ...(last && { next: last.id }) };
      },
    }),
    ...liveRoutes("run", logs),
  ];
}
