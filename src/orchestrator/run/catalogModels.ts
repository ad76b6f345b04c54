import type { CatalogEntry, ModelCatalog, SessionTarget } from "../../backends/catalog.js";
import type { Agent } from "../agents/agentFile.js";
import { OrchestratorError } from "../orchestratorError.js";
import type { AgentTarget, ModelSource } from "./models.js";

/**
 * The models of the portal: what the agent prefers, what the settings name, else what the Copilot runtime has. An ACP
 * agent is only taken by its name, because it has tools of its own.
 */
export function catalogModels(catalog: ModelCatalog, model: string | undefined): ModelSource {
  async function chosenFor(agent: Agent): Promise<CatalogEntry | undefined> {
    for (const id of [...agent.models, ...(model ? [model] : [])]) {
      const found = await catalog.find(id);
      if (found?.target || found?.model.backend === "acp") return found;
    }
    return undefined;
  }

  return {
    async targetFor(agent: Agent): Promise<AgentTarget> {
      const chosen = await chosenFor(agent);
      if (chosen) return { backend: chosen.model.backend, modelId: chosen.model.id };
      const { models, notices } = await catalog.list();
      // The subscription has a usual model of its own.
      const ofGitHub = models.find(({ backend }) => backend === "github");
      if (ofGitHub) {
        const target = signInOf((await catalog.find(ofGitHub.id))?.target);
        return { backend: "github", modelId: "", target };
      }
      const first = models.find(({ backend }) => backend !== "acp");
      if (first) return { backend: first.backend, modelId: first.id };
      throw OrchestratorError.notAvailable(
        "There is no model.",
        notices.map(({ message }) => message).join(" "),
      );
    },
    usesRuntime: async agent => (await chosenFor(agent))?.model.backend !== "acp",
    needsSignIn: async () => (await catalog.list()).models.every(({ backend }) => backend === "acp"),
  };
}

/** Signed in as the model would be. */
function signInOf({ gitHubToken }: Partial<SessionTarget> = {}): Partial<SessionTarget> {
  return gitHubToken === undefined ? {} : { gitHubToken };
}
