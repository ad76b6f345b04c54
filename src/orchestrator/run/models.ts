import type { PortalModel, SessionTarget } from "../../backends/backend.js";
import type { Agent } from "../agents/agentFile.js";

/** Where an agent runs. */
export interface AgentTarget {
  backend: PortalModel["backend"];
  modelId: string;
  /** Set when the host does not know the model by its id. */
  target?: Partial<SessionTarget>;
}

/** Which model an agent runs on, and what it needs. */
export interface ModelSource {
  targetFor(agent: Agent): Promise<AgentTarget>;
  /** Whether the Copilot runtime runs this agent. */
  usesRuntime(agent: Agent): Promise<boolean>;
  /** Whether that needs a sign-in. */
  needsSignIn(): Promise<boolean>;
}
