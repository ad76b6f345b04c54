import type { AgentCommand, ContextUsage, PlanEntry, SessionMode, SessionOption } from "../live/callbacks.js";

/** What an agent has told about itself so far. */
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
  /** Gives all options as they are then; throws `NotSupported` or `InvalidValue`. */
  setOption(configId: string, value: string | boolean): Promise<SessionOption[]>;
  setMode(modeId: string): Promise<void>;
}
