import type { SessionTarget } from "../backends/backend.js";
import type { AgentSession, SessionCallbacks } from "../copilotSession.js";
import type { PermissionPolicy, SessionPermissions } from "../permissions/approvals.js";
import type { StartupSwitches } from "../permissions/startup/startup.js";
import type { StartupReader } from "../permissions/startup/startupPlaces.js";
import type { SessionRecord, SessionSettings } from "./sessionRecord.js";

/** An agent of a repository, as its file describes it, for a session that plays it. */
export interface SessionRole {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** A system message; agents that take none get it before the first prompt. */
  readonly instructions: string;
  /** All of them without. ACP agents have tools of their own: there only the requests for permission decide. */
  readonly tools?: readonly string[] | undefined;
  readonly excludedTools: readonly string[];
  readonly skills: readonly string[];
  /** By name, as the file has them. */
  readonly mcpServers?: Readonly<Record<string, unknown>> | undefined;
}

/** What a host needs to open an agent session for a session of the portal. */
export interface OpenSession {
  sessionId: string;
  /** Empty with a `target` that is to choose. */
  modelId: string;
  /** What the model is for the Copilot runtime, where the list of models does not say it. */
  target?: Partial<SessionTarget>;
  workingDirectory: string;
  /** `known`: go on with the conversation that the session already has. */
  conversation: "new" | "known";
  /** The user wants exactly this known conversation, and whether its past is to be shown. */
  load?: { replay: boolean };
  callbacks: SessionCallbacks;
  /** As they are in the session's record. */
  settings: SessionSettings;
  saveSettings(change: Partial<SessionSettings>): Promise<void>;
  /** The task that the session belongs to: nobody is there to answer questions. */
  owner: string | null;
  /** MCP servers that the user brings for the agent, where it can use them. */
  mcpServers?: readonly object[];
  /** Without the job tools and everything else that is for people and tasks. */
  role?: SessionRole;
  permissions: SessionPermissions;
  /** Whether anything was said in it, so that something can be forgotten. */
  wasUsed(): boolean;
  /** What of the folder may run, where the host can say so. */
  startup?: StartupSwitches;
  /** To be called before the agent looks at the folder again; throws `StartupNotAllowed`. */
  checkStartup(): Promise<void>;
  /** Sends a request in the user's name, behind those that wait. */
  say(text: string): void;
}

/** What can open agent sessions: the Copilot runtime, or the agents that speak ACP. */
export interface SessionHost {
  open(request: OpenSession): Promise<AgentSession>;
  /** Deletes what the agent keeps of a conversation. */
  delete(record: Pick<SessionRecord, "id" | "settings" | "workingDirectory">): Promise<void>;
  /** Present where agents read a folder's own settings by themselves: which agent it is, if that is known. */
  startupReader?(modelId: string): StartupReader | undefined;
  /** What a new session on this model may do, where that is not for the portal to say. */
  policyFor?(modelId: string, owned: boolean): PermissionPolicy | undefined;
}
