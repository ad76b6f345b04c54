import type { ModelCatalog } from "../../backends/catalog.js";
import type { Agent } from "../agents/agentFile.js";
import { OrchestratorError } from "../orchestratorError.js";
import type { ModelSource, Target } from "./copilotInvoker.js";

/** The models of the portal: what the agent prefers, what the settings name, else what there is. */
export function catalogModels(catalog: ModelCatalog, model: string | undefined): ModelSource {
  return {
    async targetFor(agent: Agent): Promise<Target> {
      for (const id of [...agent.models, ...(model ? [model] : [])]) {
        const found = await catalog.find(id);
        if (found?.target) return found.target;
      }
      const { models, notices } = await catalog.list();
      // The subscription has a usual model of its own.
      const ofGitHub = models.find(({ backend }) => backend === "github");
      if (ofGitHub) return withoutModel((await catalog.find(ofGitHub.id))?.target);
      const first = models.find(({ backend }) => backend !== "acp");
      const found = first && (await catalog.find(first.id));
      if (found?.target) return found.target;
      throw OrchestratorError.notAvailable(
        "There is no model.",
        notices.map(({ message }) => message).join(" "),
      );
    },
    needsSignIn: async () => (await catalog.list()).models.every(({ backend }) => backend === "acp"),
  };
}

/** Signed in as the model would be. */
function withoutModel({ gitHubToken }: Target = {}): Target {
  return gitHubToken === undefined ? {} : { gitHubToken };
}
