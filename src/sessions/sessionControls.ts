/** One setting that an agent offers, as pages show it. */
export interface SessionOption {
  id: string;
  name: string;
  description?: string;
  category?: string;
  type: "select" | "boolean";
  value: string | boolean;
  choices?: { value: string; name: string; description?: string; group?: string }[];
  /** The agent took a new value and did not say that it holds. */
  confirmed?: false;
}

export interface SessionMode {
  id: string;
  name: string;
  description?: string;
}

/** What an agent has told about itself so far. */
export interface SessionControlState {
  agent: string;
  agentVersion?: string;
  /** The agent's own title of the conversation. */
  title?: string;
  options: SessionOption[];
  modes: SessionMode[];
  currentModeId?: string;
  commands: { name: string; description: string; hint?: string }[];
  plan: { content: string; priority?: string; status: string }[];
  usage?: { used: number; size: number; cost?: unknown };
}

export interface SessionControls {
  state(): SessionControlState;
  /** Gives all options as they are then; throws `NotSupported` or `InvalidValue`. */
  setOption(configId: string, value: string | boolean): Promise<SessionOption[]>;
  setMode(modeId: string): Promise<void>;
}
