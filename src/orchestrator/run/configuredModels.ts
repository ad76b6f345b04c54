import { gitHubTokenIn } from "../../backends/agentEnvironment.js";
import { accountModels } from "../../backends/gitHubAccount.js";
import type { Log } from "../../base/log.js";
import type { RuntimeSource } from "../../sessions/copilot/copilotHost.js";
import type { Agent } from "../agents/agentFile.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import type { AgentTarget, ModelSource } from "./models.js";

/** The models that the settings name: those of a custom provider, or those of the user's Copilot subscription. */
export function configuredModels(
  { model, provider }: OrchestratorConfig,
  runtimes: RuntimeSource,
  log: Log,
): ModelSource {
  const token = provider ? undefined : gitHubTokenIn(process.env);
  const signedIn = token === undefined ? {} : { gitHubToken: token };
  async function offered(): Promise<ReadonlySet<string>> {
    try {
      const { client } = await runtimes.use();
      return new Set((await accountModels(client, token)).map(({ id }) => id));
    } catch (error) {
      log.warn({ err: error }, "the model list is not available; agents run on the usual model");
      return new Set();
    }
  }
  return {
    async targetFor(agent: Agent): Promise<AgentTarget> {
      const modelId = model ?? "";
      if (provider) return { backend: "provider", modelId, target: { provider } };
      const known = agent.models.length > 0 ? await offered() : new Set<string>();
      const chosen = agent.models.find(id => known.has(id)) ?? modelId;
      return { backend: "github", modelId: chosen, target: signedIn };
    },
    usesRuntime: async () => true,
    needsSignIn: async () => provider === undefined,
  };
}
