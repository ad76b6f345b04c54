import { randomUUID } from "node:crypto";
import type { CopilotClient, CopilotSession, ProviderConfig } from "@github/copilot-sdk";
import type { Log } from "./base/log.js";
import { messageOf } from "./base/messageOf.js";
import { withTimeout } from "./base/withTimeout.js";
import type {
  LiveResponse,
  NoticeLevel,
  ToolEndDetails,
  ToolError,
  ToolResult,
  ToolStartDetails,
  TurnUsage,
} from "./live/callbacks.js";
import type { Action } from "./permissions/action.js";
import type { Decision, Question } from "./permissions/approvals.js";
import type { StartupSwitches } from "./permissions/startup/startup.js";
import { CopilotAgentSession } from "./sessions/copilot/copilotAgentSession.js";
import { errorText } from "./sessions/copilot/errorText.js";
import { createEventAdapter } from "./sessions/copilot/eventAdapter.js";
import { permissionHandler, questionHandler } from "./sessions/copilot/permissionHandlers.js";
import { roleConfig } from "./sessions/copilot/roleConfig.js";
import { startupConfig } from "./sessions/copilot/startupConfig.js";
import { jobTools } from "./sessions/jobTools.js";
import { safeCallbacks } from "./sessions/safeCallbacks.js";
import type { SessionControls } from "./sessions/sessionControls.js";
import type { SessionRole } from "./sessions/sessionHost.js";

export type { NoticeLevel, ToolEndDetails, ToolStartDetails, TurnUsage } from "./live/callbacks.js";
export { SessionCrashedError } from "./sessions/sessionCrashedError.js";

/** The session interface of the source document: everything above it is the same for every backend. */
export interface ICopilotSession {
  /** Undefined where there is no session of the Copilot SDK behind it. */
  get rawSection(): CopilotSession | undefined;
  /** Resolves when the session is idle again; rejects when the turn failed or the session crashed. */
  sendRequest(message: string, timeout?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface ICopilotSessionCallbacks {
  onStartReasoning(reasoningId: string): void;
  onReasoning(reasoningId: string, delta: string): void;
  onEndReasoning(reasoningId: string, completeContent: string): void;
  onStartMessage(messageId: string): void;
  onMessage(messageId: string, delta: string): void;
  onEndMessage(messageId: string, completeContent: string): void;
  onStartToolExecution(
    toolCallId: string,
    parentToolCallId: string | undefined,
    toolName: string,
    toolArguments: string,
  ): void;
  onToolExecution(toolCallId: string, delta: string): void;
  onEndToolExecution(toolCallId: string, result: ToolResult | undefined, error: ToolError | undefined): void;
  onAgentStart(turnId: string): void;
  onAgentEnd(turnId: string): void;
  onIdle(): void;
}

/** What goes beyond the source document: which blocks were cut short, what a request cost, what is worth knowing. */
export interface SessionCallbacks extends ICopilotSessionCallbacks {
  onStartToolExecution(
    toolCallId: string,
    parentToolCallId: string | undefined,
    toolName: string,
    toolArguments: string,
    details?: ToolStartDetails,
  ): void;
  onEndReasoning(reasoningId: string, completeContent: string, interrupted?: true): void;
  onEndMessage(messageId: string, completeContent: string, interrupted?: true): void;
  onEndToolExecution(
    toolCallId: string,
    result: ToolResult | undefined,
    error: ToolError | undefined,
    interrupted?: true,
    details?: ToolEndDetails,
  ): void;
  /** Once per request, just before `onIdle`. */
  onUsage?(usage: TurnUsage): void;
  onNotice?(severity: NoticeLevel, title: string, text?: string): void;
  /** What only some backends tell: it goes into the log as it is. */
  onOther?(response: LiveResponse): void;
}

/** Only an idle or busy session takes requests; the others are resumed by `startSession` with the same id. */
export type SessionState = "idle" | "busy" | "detached" | "stopped" | "crashed";

/** One request at a time: a second one is refused while a turn runs. A session of the portal has the queue. */
export interface AgentSession extends ICopilotSession {
  readonly id: string;
  readonly state: SessionState;
  /** Resolves when no request runs, or when the session has ended. */
  idle(): Promise<void>;
  /** Resolves when the session takes no more requests: detached, stopped or crashed. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends the running turn and what it left in the background. Its request resolves. */
  cancel(): Promise<void>;
  /** Leaves the runtime; the conversation stays on disk. Only an idle session can. */
  detach(): Promise<void>;
  /** The runtime died: ends what is open and rejects every request. */
  crash(reason: string): void;
  /** What the user can set while the session runs, where the agent has such things. */
  readonly controls?: SessionControls;
  /** Cancelling ends the requests that wait, too. */
  readonly cancelDropsQueue?: boolean;
}

export interface StartSessionOptions {
  sessionId?: string;
  /** Go on with the conversation that `sessionId` has on disk. */
  resume?: boolean;
  /** The model's name on the wire, where it differs from its id. Without either the account's usual one is taken. */
  model?: string;
  provider?: ProviderConfig;
  /** Signs the session in, where the runtime itself is not. */
  gitHubToken?: string;
  /** False saves work where nobody watches: text then comes in one piece. */
  streaming?: boolean;
  /** Plays an agent of a repository, instead of working for people and tasks. */
  role?: SessionRole;
  /** What of the repository may run; nothing of it without. */
  startup?: StartupSwitches;
  /** Where the runtime writes the output of a tool that is too long for the conversation. */
  toolOutputDirectory?: string;
  /** A turn without any event for this long is ended. */
  noProgressTimeoutMs?: number;
  /** Decides what the agent may do; without it everything is allowed. */
  onPermission?(action: Action): Promise<Decision>;
  /** Answers the agent's questions; without it the agent cannot ask. */
  onQuestion?(question: Question): Promise<string>;
  /** Whether the turn waits for its user, so that silence is no sign of trouble. */
  waitsForUser?(): boolean;
  /** What no error may quote, besides the keys of the provider. */
  secrets?: readonly string[];
  log?: Log;
}

/** More than the runtime's own 20 KB, so that the output of a build or a test run stays in the conversation. */
const maxToolOutputBytes = 200_000;
/** Longer than the runtime waits for a silent provider (700 s), because it then tries again by itself. */
const defaultNoProgressTimeoutMs = 15 * 60_000;
const startTimeoutMs = 60_000;

/** Starts a session with the job tools on the given runtime, or resumes one. */
export async function startSession(
  client: CopilotClient,
  modelId: string,
  callback: SessionCallbacks,
  workingDirectory?: string,
  options: StartSessionOptions = {},
): Promise<CopilotAgentSession> {
  const { sessionId = randomUUID(), provider, role, log, onPermission, onQuestion } = options;
  const { approveAll } = await import("@github/copilot-sdk");
  const model = options.model ?? modelId;
  const startup = startupConfig(options.startup);
  const config = {
    clientName: "copilot-portal",
    ...startup,
    ...(role ? roleConfig(role, startup.excludedTools) : { tools: jobTools() }),
    ...(model !== "" && { model }),
    streaming: options.streaming ?? true,
    // The one place that decides what an agent may do.
    onPermissionRequest: onPermission ? permissionHandler(onPermission) : approveAll,
    ...(onQuestion && { onUserInputRequest: questionHandler(onQuestion) }),
    largeOutput: {
      maxSizeBytes: maxToolOutputBytes,
      ...(options.toolOutputDirectory !== undefined && { outputDirectory: options.toolOutputDirectory }),
    },
    ...(provider && { provider }),
    ...(options.gitHubToken !== undefined && { gitHubToken: options.gitHubToken }),
    ...(workingDirectory !== undefined && { workingDirectory }),
  };
  const own = [provider?.apiKey, provider?.bearerToken, options.gitHubToken].filter(
    secret => secret !== undefined,
  );
  const secrets = [...own, ...(options.secrets ?? [])];
  const starting = options.resume
    ? client.resumeSession(sessionId, config)
    : client.createSession({ ...config, sessionId });
  const raw = await withTimeout(
    starting,
    startTimeoutMs,
    "The Copilot runtime did not start the session.",
  ).catch((error: unknown) => {
    throw new Error(errorText(messageOf(error), secrets));
  });
  const callbacks = safeCallbacks(callback, log);
  const adapter = createEventAdapter(callbacks, {
    secrets,
    // Blocks of an earlier run of this conversation are in the same log.
    ...(options.resume && { idTag: `@${Date.now().toString(36)}` }),
  });
  return new CopilotAgentSession(raw, adapter, {
    noProgressTimeoutMs: options.noProgressTimeoutMs ?? defaultNoProgressTimeoutMs,
    secrets,
    ...(options.waitsForUser && { waitsForUser: options.waitsForUser }),
    notice: message => callbacks.onNotice?.("warning", message),
    log,
  });
}
