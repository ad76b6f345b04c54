import type { CopilotClient } from "@github/copilot-sdk";
import { gitHubTokenIn } from "../../backends/agentEnvironment.js";
import { accountModels } from "../../backends/gitHubAccount.js";
import type { Log } from "../../base/log.js";
import type { Agent } from "../agents/agentFile.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import type { ModelSource, Target } from "./copilotInvoker.js";

/** The models that the settings name: an own provider's, or those of the user's Copilot subscription. */
export function configuredModels({ model, provider }: OrchestratorConfig, log: Log): ModelSource {
  const token = provider ? undefined : gitHubTokenIn(process.env);
  const signedIn = token === undefined ? {} : { gitHubToken: token };
  async function offered(client: CopilotClient): Promise<ReadonlySet<string>> {
    try {
      return new Set((await accountModels(client, token)).map(({ id }) => id));
    } catch (error) {
      log.warn({ err: error }, "the model list is not available; agents run on the usual model");
      return new Set();
    }
  }
  return {
    async targetFor(agent: Agent, client: CopilotClient): Promise<Target> {
      if (provider) return { provider, ...(model && { model }) };
      const known = agent.models.length > 0 ? await offered(client) : new Set<string>();
      const chosen = agent.models.find(id => known.has(id)) ?? model;
      return chosen === undefined ? signedIn : { model: chosen, ...signedIn };
    },
    needsSignIn: async () => provider === undefined,
  };
}
