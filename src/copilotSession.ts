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
import type { Picture } from "./sessions/pictures.js";
import { safeCallbacks } from "./sessions/safeCallbacks.js";
import type { SessionControls } from "./sessions/sessionControls.js";
import type { SessionRole } from "./sessions/sessionHost.js";

export type { NoticeLevel, ToolEndDetails, ToolStartDetails, TurnUsage } from "./live/callbacks.js";
export { SessionCrashedError } from "./sessions/sessionCrashedError.js";

/** The session interface that callers rely on: everything above it is the same for every backend. */
export interface ICopilotSession {
  /** Undefined when the session does not run on the Copilot SDK. */
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

/** Additional callbacks: which blocks were cut short, what a request cost, and notices. */
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
  /** Responses of particular backends, logged unchanged. */
  onOther?(response: LiveResponse): void;
}

/** Only an idle or busy session takes requests; others are resumed by `startSession` with the same id. */
export type SessionState = "idle" | "busy" | "detached" | "stopped" | "crashed";

/** Runs one request at a time and refuses a second one during a turn; the portal's session has the queue. */
export interface AgentSession extends ICopilotSession {
  sendRequest(message: string, timeout?: number, pictures?: readonly Picture[]): Promise<void>;
  readonly id: string;
  readonly state: SessionState;
  /** Resolves when no request runs, or when the session has ended. */
  idle(): Promise<void>;
  /** Resolves when the session takes no more requests: detached, stopped or crashed. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends the running turn and its background work. The request resolves. */
  cancel(): Promise<void>;
  /** Leaves the runtime; the conversation stays on disk. Only an idle session can be detached. */
  detach(): Promise<void>;
  /** The runtime died: ends all open blocks and rejects every request. */
  crash(reason: string): void;
  /** What the user can set while the session runs, if the agent offers anything. */
  readonly controls?: SessionControls;
  readonly cancelDropsQueue?: boolean;
  /** Absent where the list of models says it. */
  readonly takesPictures?: boolean;
}

export interface StartSessionOptions {
  sessionId?: string;
  /** Continue the conversation that `sessionId` has on disk. */
  resume?: boolean;
  /** The model's name on the wire, if it differs from its id. Without either the account's default is used. */
  model?: string;
  provider?: ProviderConfig;
  /** Signs the session in if the runtime itself is not signed in. */
  gitHubToken?: string;
  /** False saves work when no one watches: text then arrives in one piece. */
  streaming?: boolean;
  /** The repository agent that the session plays, instead of working for people and tasks. */
  role?: SessionRole;
  /** What the repository may run; absent means nothing. */
  startup?: StartupSwitches;
  /** Where the runtime writes tool output that is too long for the conversation. */
  toolOutputDirectory?: string;
  /** A turn without any event for this long is ended. */
  noProgressTimeoutMs?: number;
  /** Decides what the agent may do; if absent, everything is allowed. */
  onPermission?(action: Action): Promise<Decision>;
  /** Answers the agent's questions; if absent, the agent cannot ask. */
  onQuestion?(question: Question): Promise<string>;
  /** Whether the turn is waiting for the user, so that silence is normal. */
  waitsForUser?(): boolean;
  /** The runtime can no longer run this session; another one can. */
  broken?(reason: string): void;
  /** Secrets that no error may quote, besides the provider's keys. */
  secrets?: readonly string[];
  log?: Log;
}

/** More than the runtime's own 20 KB, so that the output of a build or a test run stays in the conversation. */
const maxToolOutputBytes = 200_000;
/** Longer than the runtime waits for a silent provider (700 s) before it retries by itself. */
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
    // This handler alone decides what an agent may do.
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
    // The same log already has blocks of earlier runs of this conversation.
    ...(options.resume && { idTag: `@${Date.now().toString(36)}` }),
  });
  return new CopilotAgentSession(raw, adapter, {
    noProgressTimeoutMs: options.noProgressTimeoutMs ?? defaultNoProgressTimeoutMs,
    secrets,
    ...(options.waitsForUser && { waitsForUser: options.waitsForUser }),
    ...(options.broken && { broken: options.broken }),
    notice: message => callbacks.onNotice?.("warning", message),
    log,
  });
}
