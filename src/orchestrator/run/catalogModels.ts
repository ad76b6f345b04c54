import type { CatalogEntry, ModelCatalog, SessionTarget } from "../../backends/catalog.js";
import type { Agent } from "../agents/agentFile.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import { OrchestratorError } from "../orchestratorError.js";
import type { AgentTarget, ModelSource } from "./models.js";

/**
 * The portal's models: the one that the caller chose, or the agent's preference, or the model of the settings, or a model of the Copilot runtime.
 * An ACP agent brings its own tools, which no permission limits unless it asks. A repository's file therefore chooses
 * one only when the user lets agents run on ACP agents, or lets them do everything.
 */
export function catalogModels(
  catalog: ModelCatalog,
  { model, permissions }: Pick<OrchestratorConfig, "model" | "permissions">,
  chosen?: string,
): ModelSource {
  async function found(id: string): Promise<CatalogEntry | undefined> {
    const entry = await catalog.find(id);
    return entry?.target || entry?.model.backend === "acp" ? entry : undefined;
  }

  async function chosenFor(agent: Agent): Promise<CatalogEntry | undefined> {
    if (chosen) return found(chosen);
    const byUser = model ? await found(model) : undefined;
    const acpByFile = permissions === "all" || byUser?.model.backend === "acp";
    for (const id of agent.models) {
      const entry = await found(id);
      if (entry && (acpByFile || entry.model.backend !== "acp")) return entry;
    }
    return byUser;
  }

  return {
    async targetFor(agent: Agent): Promise<AgentTarget> {
      const chosen = await chosenFor(agent);
      if (chosen) return { backend: chosen.model.backend, modelId: chosen.model.id };
      const { models, notices } = await catalog.list();
      // The subscription has its own default model.
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

/** The sign-in of the model. */
function signInOf({ gitHubToken }: Partial<SessionTarget> = {}): Partial<SessionTarget> {
  return gitHubToken === undefined ? {} : { gitHubToken };
}
