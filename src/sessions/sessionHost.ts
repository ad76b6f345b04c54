import type { SessionTarget } from "../backends/backend.js";
import type { AgentSession, SessionCallbacks } from "../copilotSession.js";
import type { PermissionPolicy, SessionPermissions } from "../permissions/approvals.js";
import type { StartupSwitches } from "../permissions/startup/startup.js";
import type { StartupReader } from "../permissions/startup/startupPlaces.js";
import type { SessionRecord, SessionSettings } from "./sessionRecord.js";

/** A repository agent, as its file describes it, for the session that plays it. */
export interface SessionRole {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** A system message; agents that take none get it before the first prompt. */
  readonly instructions: string;
  /** Absent means all tools. ACP agents bring their own tools, which only permission requests can limit. */
  readonly tools?: readonly string[] | undefined;
  readonly excludedTools: readonly string[];
  readonly skills: readonly string[];
  /** By name, as the file has them. */
  readonly mcpServers?: Readonly<Record<string, unknown>> | undefined;
}

/** What a host needs to open an agent session for a session of the portal. */
export interface OpenSession {
  sessionId: string;
  /** Empty when the `target` chooses the model. */
  modelId: string;
  /** How the Copilot runtime reaches the model, if the list of models does not say it. */
  target?: Partial<SessionTarget>;
  workingDirectory: string;
  /** `known`: continue the conversation that the session already has. */
  conversation: "new" | "known";
  /** The existing conversation that the user asked for, and whether to show its history. */
  load?: { replay: boolean };
  callbacks: SessionCallbacks;
  /** As in the session's record. */
  settings: SessionSettings;
  saveSettings(change: Partial<SessionSettings>): Promise<void>;
  /** The task that the session belongs to; such a session has no one to answer questions. */
  owner: string | null;
  /** The user's MCP servers for the agent, if it can use them. */
  mcpServers?: readonly object[];
  /** A session with a role has no job tools and nothing else that is meant for people and tasks. */
  role?: SessionRole;
  permissions: SessionPermissions;
  /** Whether the conversation has content that could be lost. */
  wasUsed(): boolean;
  /** What the folder may run, if the host can tell. */
  startup?: StartupSwitches;
  /** Call this before the agent reads the folder again; throws `StartupNotAllowed`. */
  checkStartup(): Promise<void>;
  /** Queues a request in the user's name. */
  say(text: string): void;
}

/** What a host knows a conversation by. */
export type Conversed = Pick<SessionRecord, "id" | "settings" | "workingDirectory" | "owner">;

/** Opens agent sessions: on the Copilot runtime, or on ACP agents. */
export interface SessionHost {
  open(request: OpenSession): Promise<AgentSession>;
  /** Stores what is new of a conversation for the nodes that may go on with it. Neither fails. */
  toolEnded?(record: Conversed): void;
  turnEnded?(record: Conversed): Promise<void>;
  /** Deletes what the agent has stored of a conversation. */
  delete(record: Omit<Conversed, "owner">): Promise<void>;
  /** Present when agents read a folder's settings by themselves; names the agent if it is known. */
  startupReader?(modelId: string): StartupReader | undefined;
  /** The policy of a new session on this model, if it overrides the portal's. */
  policyFor?(modelId: string, owned: boolean): PermissionPolicy | undefined;
}
