import type { PortalModel, SessionTarget } from "../../backends/backend.js";
import type { Agent } from "../agents/agentFile.js";

/** Where an agent runs. */
export interface AgentTarget {
  backend: PortalModel["backend"];
  modelId: string;
  /** Where the host does not know the model by its id. */
  target?: Partial<SessionTarget>;
}

/** Which model an agent runs on, and what that needs. */
export interface ModelSource {
  targetFor(agent: Agent): Promise<AgentTarget>;
  /** Whether it is the Copilot runtime that runs this agent. */
  usesRuntime(agent: Agent): Promise<boolean>;
  /** Whether that needs a sign-in. */
  needsSignIn(): Promise<boolean>;
}
