/** Every callback that a live log can hold, with its arguments by name. Types only: the pages read this file too. */

export type NoticeLevel = "info" | "warning" | "error";

/** What one request cost, sub-agents included. */
export interface TurnUsage {
  modelCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  /** As the backend counts it: on GitHub the sum of the models' multipliers. */
  cost: number;
  /** GitHub charges for the user's requests, not for the agent's own calls. */
  premiumRequests: number;
  durationMs: number;
}

/** How full the context of an ACP agent is, in tokens. */
export interface ContextUsage {
  used: number;
  size: number;
  cost?: { amount?: number; currency?: string };
}

export interface ToolResult {
  content: string;
  detailedContent?: string;
}

export interface ToolError {
  message: string;
  code?: string;
}

/** What some agents report when a tool starts. It is only shown. */
export interface ToolStartDetails {
  kind?: string;
  locations?: { path: string; line?: number }[];
}

export interface ToolEndDetails {
  diffs?: { path: string; oldText: string | null; newText: string }[];
  exitCode?: number;
}

export interface PlanEntry {
  content: string;
  priority?: string;
  status: string;
}

/** A command that can be sent as `/name`. */
export interface AgentCommand {
  name: string;
  description: string;
  hint?: string;
}

/** One setting that an agent offers, as pages show it. */
export interface SessionOption {
  id: string;
  name: string;
  description?: string;
  category?: string;
  type: "select" | "boolean";
  value: string | boolean;
  choices?: { value: string; name: string; description?: string; group?: string }[];
  /** The agent accepted a new value but did not confirm it. */
  confirmed?: false;
}

export interface SessionMode {
  id: string;
  name: string;
  description?: string;
}

/** The kinds of actions in the Agent Client Protocol. */
export type ActionKind = "execute" | "edit" | "delete" | "move" | "read" | "search" | "fetch" | "other";

/** What an agent asks to do, besides its kind and its title. */
export interface ActionDetail {
  /** The agent's own explanation, which cannot be relied on. */
  readonly intention?: string;
  readonly command?: string;
  /** Where the command runs, if the agent says so. Rules cover only the session's folder. */
  readonly directory?: string;
  /** The files it touches, as the agent names them. */
  readonly paths?: readonly string[];
  readonly diff?: string;
  readonly url?: string;
  /** `server/tool` for a tool of an MCP server. */
  readonly tool?: string;
  readonly arguments?: unknown;
  /** Why no rule may decide, in one sentence: the request says more or less than a rule covers. */
  readonly unclear?: string;
  /** The agent itself says that it leaves the folder: no rule decides. */
  readonly outside?: true;
}

export interface PermissionOption {
  optionId: string;
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always`; an agent may know others. */
  kind: string;
  name: string;
  /** What it would remember for the folder. */
  rules?: readonly string[];
}

/** The same for an allowing and for a rejecting answer. */
export interface PerEffect {
  readonly allow: readonly string[];
  readonly reject: readonly string[];
}

/** Who or what settled a request; `restart` means that the portal stopped meanwhile. */
export type SettledBy = "user" | "rule" | "policy" | "timeout" | "turn" | "withdrawn" | "restart";

/** What a failed agent of a run left behind. */
export interface RunError {
  code: string;
  message: string;
}

/** The portal's assessment of a run's prompt. */
export interface PromptEvaluation {
  isClear: boolean;
  confidence: number;
  issues: readonly string[];
  suggestions: string | null;
}

/** How an attempt of a task ended. `interrupted`: the task was given up for another reason than its own. */
export type AttemptVerdict = "succeeded" | "failed" | "crashed" | "interrupted" | "canceled";

/** One thing that had to hold for a task to have succeeded, and whether it did. */
export interface Criterion {
  kind: "toolExecuted" | "condition" | "command";
  /** The tools, the question, or the command. */
  asked: string;
  met: boolean;
  /** The judge's reason, the missing tools, or the end of the command's output. */
  said: string;
}

/** What an agent did in a round: the tools that it used, the commands that it ran, and what that cost. */
export interface Deeds {
  toolCalls: { name: string; count: number; failed: number }[];
  /** The exit code and the duration are absent where the agent does not tell them. */
  commands: { command: string; exitCode?: number; durationMs?: number }[];
  usage?: AttemptUsage;
}

export type AttemptUsage = Pick<TurnUsage, "inputTokens" | "outputTokens" | "cost" | "premiumRequests">;

/** What is known about one attempt of a task. What could not be observed is absent. */
export interface AttemptEvidence extends Partial<Deeds> {
  attempt: number;
  modelId: string;
  sessionIds: string[];
  startedAt?: string;
  endedAt?: string;
  verdict: AttemptVerdict;
  criteria: Criterion[];
  /** Sessions that crashed; their prompt was sent again within the attempt. */
  crashes: number;
  changes?: { files: number; added: number; deleted: number };
  /** What a retry was told in addition to the prompt. */
  retryPrompt?: string;
}

/** What the tools of a task reported last. */
export interface Reported {
  document?: string;
  trueReason?: string;
  falseReason?: string;
}

type NoArguments = Record<never, never>;
type Interruptible = { interrupted?: true | undefined };

/** What happens in a session, whatever its backend. */
export interface SessionArguments {
  /** A user's request was accepted. */
  /** `pictures` are the names of those that go with it. */
  onUserRequest: { requestId: string; prompt: string; pictures?: readonly string[] };
  /** A task sent this prompt; `round` separates it from other tasks' prompts. */
  onGeneratedUserPrompt: { requestId?: string; prompt: string; round?: string };
  onAgentStart: { turnId: string };
  onAgentEnd: { turnId: string };
  onStartReasoning: { reasoningId: string };
  onReasoning: { reasoningId: string; delta: string };
  onEndReasoning: { reasoningId: string; completeContent: string } & Interruptible;
  onStartMessage: { messageId: string };
  onMessage: { messageId: string; delta: string };
  onEndMessage: { messageId: string; completeContent: string } & Interruptible;
  onStartToolExecution: {
    toolCallId: string;
    parentToolCallId?: string | undefined;
    toolName: string;
    toolArguments: string;
  } & ToolStartDetails;
  onToolExecution: { toolCallId: string; delta: string };
  onEndToolExecution: {
    toolCallId: string;
    result?: ToolResult | undefined;
    error?: ToolError | undefined;
    durationMs?: number;
  } & Interruptible &
    ToolEndDetails;
  onPermissionRequest: {
    requestId: string;
    toolCallId?: string | undefined;
    title: string;
    kind: ActionKind;
    detail: ActionDetail;
    options: readonly PermissionOption[];
    /** Why the user is asked, and the rules that an answer could make, with their scope. Absent in older logs. */
    why?: string;
    remember?: PerEffect;
    covers?: PerEffect;
    expiresAt?: string;
  };
  onPermissionResolved: {
    requestId: string;
    decision: "allowed" | "rejected" | "answered" | "cancelled";
    by: SettledBy;
    optionId?: string | undefined;
    rules?: readonly string[] | undefined;
    reason?: string | undefined;
    /** What was decided without asking. */
    title?: string;
  };
  onQuestion: {
    requestId: string;
    question: string;
    choices?: readonly string[];
    allowFreeform: boolean;
    expiresAt?: string;
  };
  onQuestionResolved: { requestId: string; by: SettledBy; answer?: string | undefined };
  /** `offer` is something that the page can do about it. */
  onNotice: { severity: NoticeLevel; title: string; text?: string; offer?: "isolate" };
  onUsage: TurnUsage | ContextUsage;
  /** A request has ended; older portals gave no id. */
  onIdle: { requestId?: string };
}

/** What only ACP agents report. */
export interface AcpArguments {
  onPlan: { entries: readonly PlanEntry[] };
  onCommands: { commands: readonly AgentCommand[] };
  onOptions: { options: readonly SessionOption[] };
  onMode: { currentModeId?: string | undefined; modes: readonly SessionMode[] };
  onSessionInfo: { title?: string; updatedAt?: string };
  onTurnResult: { turnId: string; stopReason: string };
  onReplay: { active: boolean };
  onUserMessage: { text: string; replay: boolean };
  onJobTool: { name: string; argument: string };
  onJobToolsMissing: NoArguments;
}

export interface TaskArguments {
  taskDecision: { reason: string };
  taskSessionStarted: { sessionId: string; taskId: string; isDriving: boolean; modelId: string };
  taskSessionStopped: { sessionId: string; taskId: string; succeeded: boolean };
  taskAttemptStarted: { attempt: number; modelId: string };
  taskAttemptEnded: AttemptEvidence;
  taskSucceeded: NoArguments;
  taskFailed: NoArguments;
}

/** The work ran in an earlier job, which a retry takes up. */
type TakenOver = { takenOver?: true };

export interface JobArguments {
  workWaiting: { workId: number; taskId: string };
  workStarted: { workId: number; taskId: string } & TakenOver;
  workStopped: {
    workId: number;
    taskId: string;
    succeeded: boolean;
    /** Why it failed, in one line. */
    reason?: string;
    /** Somebody stopped it: its failure is no answer. */
    canceled?: true;
    reported?: Reported;
  } & TakenOver;
  jobPaused: NoArguments;
  jobContinued: NoArguments;
  jobSucceeded: NoArguments;
  jobFailed: { reason?: string };
  jobCanceled: NoArguments;
}

/** Events of a run of repository agents, besides those of their sessions. */
export interface RunArguments {
  runPlanned: {
    selectedAgents: readonly string[];
    rationale: readonly string[];
    refinedPrompt: string;
    evaluation: PromptEvaluation;
  };
  runAgentStarted: { agent: string; step: number };
  runAgentEnded: {
    agent: string;
    step: number;
    status: "success" | "error";
    cached: boolean;
    executionTime: string;
    error?: RunError;
  };
  runSucceeded: { finalOutput: string; executionTime: string; partial?: boolean };
  runFailed: { code: string; message: string; details: string };
  runCanceled: NoArguments;
}

export interface CallbackArguments
  extends SessionArguments,
    AcpArguments,
    TaskArguments,
    JobArguments,
    RunArguments {}

export type CallbackName = keyof CallbackArguments;

/** When it was appended, in milliseconds; the log adds it. A log of an older portal may have none. */
type Timed = { time?: number };

/** The responses of these callbacks. */
export type Callback<Name extends CallbackName = CallbackName> = {
  [Each in Name]: { callback: Each } & CallbackArguments[Each] & Timed;
}[Name];

/** Why a request, a task or a job failed. */
export type ErrorResponse = { callback?: undefined } & (
  | { sessionError: string; requestId?: string }
  | { taskError: string }
  | { jobError: string }
) &
  Timed;

/**
 * One item of a live log: a callback with its arguments by name, or an error.
 * `live`, `live/{token}` and `events` answer it unchanged.
 */
export type LiveResponse = Callback | ErrorResponse;

/** A response of a job or of a log below it, as `events?all=1` tags it. */
export type JobEvent = LiveResponse & { source: "job" | "task" | "session"; id: string; n: number };
