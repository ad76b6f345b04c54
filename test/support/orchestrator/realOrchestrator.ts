import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { createOrchestrator } from "../../../src/orchestrator/createOrchestrator.js";
import { readOrchestratorConfig } from "../../../src/orchestrator/orchestratorConfig.js";
import type { Clock } from "../../../src/orchestrator/run/agentRunner.js";
import { defer, groupScope, type Scope, tempFolder } from "../cleanup.js";
import { byPrompt, type Script, startScriptedModel } from "../model/scriptedModel.js";
import { startRuntime } from "../portal/runtime.js";
import { mcpModelId } from "./mcp.js";
import { connectClient } from "./orchestrator.js";
import { agentRepo, referenceFiles } from "./orchestratorRepo.js";

export interface RealModuleOptions {
  files?: Record<string, string>;
  repoRoot?: string;
  env?: Record<string, string>;
  clock?: Clock;
}

/** One real Copilot runtime on a scripted model, for any number of orchestrators. */
export async function startReal(t: Scope, script: Script) {
  const home = await tempFolder(t, "mcp-copilot");
  const copilotClient = await startRuntime(t, { COPILOT_HOME: home });
  const model = await startScriptedModel(t, script);
  return {
    model,
    /** Sessions that the runtime keeps on disk. */
    async sessionsOnDisk(): Promise<string[]> {
      const folder = join(home, "session-state");
      return existsSync(folder) ? readdir(folder) : [];
    },
    /** An orchestrator on that runtime, and its client. */
    async open({ files = referenceFiles(), env, clock, ...given }: RealModuleOptions = {}) {
      const repoRoot = given.repoRoot ?? (await agentRepo(t, files));
      const config = readOrchestratorConfig({
        REPO_ROOT: repoRoot,
        COPILOT_PROVIDER_BASE_URL: model.baseUrl,
        COPILOT_PROVIDER_API_KEY: model.apiKey,
        COPILOT_MODEL: mcpModelId,
        ...env,
      });
      const log = pino({ level: "silent" });
      const module = createOrchestrator({ config, log, copilotClient, ...(clock && { clock }) });
      defer(t, () => module.close());
      return { module, repoRoot, client: await connectClient(t, module) };
    },
  };
}

/** The same for the tests of a file, each with its own script, repositories and requests. */
export function sharedReal() {
  const file = groupScope();
  let current: Script = byPrompt({});
  let parts: ReturnType<typeof startReal> | undefined;
  return async (script: Script) => {
    current = script;
    parts ??= startReal(file, request => current(request));
    const { model, ...real } = await parts;
    return { ...real, model: model.fromHere() };
  };
}

/** The agent of `referenceFiles` that a request to the model belongs to. */
export function agentOf({ messages }: { messages: readonly { role: string; content: string }[] }): string {
  const system = messages.find(({ role }) => role === "system")?.content ?? "";
  return /You are ([a-z-]+)\./.exec(system)?.[1] ?? "nobody";
}
