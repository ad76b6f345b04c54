import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import type { SessionOption } from "../live/callbacks.js";
import type { Portal } from "./portal.js";
import { invalid, isSignInProblem, PortalRefusal } from "./rpcErrors.js";

export interface Model {
  id: string;
  name: string;
  backend: string;
}

export const modelOptionId = "model";
/** Separates an agent's own options from the portal's. */
const agentPrefix = "agent/";

interface Catalog {
  models: Model[];
  notices: { message: string }[];
}

/** The models that a session can start on; agents only if that cannot lead back here. */
export async function usableModels(portal: Portal, withAgents: boolean): Promise<Catalog> {
  const { models, notices = [] } = await portal.call<Pick<Catalog, "models"> & Partial<Catalog>>(
    "copilot/models",
  );
  return { models: models.filter(({ backend }) => withAgents || backend !== "acp"), notices };
}

/** The model that the user named, else the first. */
export function chosenModel({ models, notices }: Catalog, wanted: string | undefined): Model {
  const model = wanted === undefined ? models[0] : models.find(({ id }) => id === wanted);
  if (model) return model;
  const signIn = notices.find(({ message }) => isSignInProblem("", message));
  // If there are models of another kind, the user has only mistyped the name.
  if (signIn && !wanted?.startsWith("acp:") && models.every(({ backend }) => backend === "demo"))
    throw new PortalRefusal("AgentAuthenticationRequired", signIn.message);
  const known = models.map(({ id }) => id).join(", ") || "none";
  throw invalid(`There is no model${wanted ? ` ${JSON.stringify(wanted)}` : ""}; there are: ${known}`);
}

export function modelOption(models: readonly Model[], currentValue: string): SessionConfigOption {
  return {
    type: "select",
    id: modelOptionId,
    name: "Model",
    description: "Can be changed until the first prompt",
    category: "model",
    currentValue,
    options: models.map(({ id, name }) => ({ value: id, name })),
  };
}

/** The options of an agent behind the portal, from `onOptions`. */
export function agentOptions(options: readonly SessionOption[]): SessionConfigOption[] {
  return options.flatMap((option): SessionConfigOption[] => {
    const { id, name, description, category, type, value, choices = [] } = option;
    const common = {
      id: `${agentPrefix}${id}`,
      name,
      ...(description !== undefined && { description }),
      ...(category !== undefined && { category }),
    };
    if (type === "boolean") return [{ ...common, type, currentValue: value === true }];
    const values = choices.map(choice => ({ value: choice.value, name: choice.name }));
    // A newer portal may know other types.
    return type === "select" ? [{ ...common, type, currentValue: String(value), options: values }] : [];
  });
}

/** The agent's own name for an option; undefined for a portal option. */
export function agentOptionId(configId: string): string | undefined {
  return configId.startsWith(agentPrefix) ? configId.slice(agentPrefix.length) : undefined;
}
