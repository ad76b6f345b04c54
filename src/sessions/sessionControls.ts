import type { AgentCommand, ContextUsage, PlanEntry, SessionMode, SessionOption } from "../live/callbacks.js";

/** What an agent has reported about itself so far. */
export interface SessionControlState {
  agent: string;
  agentVersion?: string;
  /** The agent's own title of the conversation. */
  title?: string;
  options: SessionOption[];
  modes: SessionMode[];
  currentModeId?: string;
  commands: AgentCommand[];
  plan: PlanEntry[];
  usage?: ContextUsage;
}

export interface SessionControls {
  state(): SessionControlState;
  /** Returns all options after the change; throws `NotSupported` or `InvalidValue`. */
  setOption(configId: string, value: string | boolean): Promise<SessionOption[]>;
  setMode(modeId: string): Promise<void>;
}
