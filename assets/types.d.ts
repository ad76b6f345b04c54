// The types that several parts of the pages share, most of them answers of the API. No browser loads this file.
import type * as callbacks from "../src/live/callbacks.js";
import type * as jobState from "./job/jobState.js";
import type { MessageBlock } from "./messageBlock.js";

declare global {
  type Run = jobState.Run;
  type TabLog = jobState.TabLog;
  type LiveResponse = callbacks.LiveResponse;
  type CallbackName = callbacks.CallbackName;
  type Callback<Name extends CallbackName> = callbacks.Callback<Name>;
  type Handlers = { [Name in CallbackName]?: (response: Callback<Name>) => void };
  type ReplayItem = LiveResponse & { source?: string; id?: string };
  type RunningTool = { block: MessageBlock; call: Callback<"onStartToolExecution"> };
  type JobEvent = callbacks.JobEvent;
  type AgentCommand = callbacks.AgentCommand;
  type Evidence = Callback<"taskAttemptEnded">;

  /** The totals of a change. */
  interface Totals {
    files: number;
    added: number;
    deleted: number;
  }

  /** One turn in `copilot/session/{id}/changes`. */
  interface TurnTotals extends Totals {
    turn: number;
    requestId?: string;
    late?: boolean;
    shared?: boolean;
    commit?: string;
  }

  interface FileChange {
    path: string;
    oldPath?: string;
    kind: string;
    added: number;
    deleted: number;
    binary?: boolean;
  }

  /** A comment on a line of a diff that waits to be sent. */
  interface ReviewComment {
    id: number;
    path: string;
    line: number;
    side: "before" | "after";
    quoted: string;
    comment: string;
  }

  /** A line of a diff. `line` counts from 1: a removed line in the text before, any other in the text after. */
  interface DiffLine {
    kind: "same" | "added" | "removed" | "hunk";
    text: string;
    line?: number;
  }

  /** What a search found. */
  interface SearchHit {
    source: string;
    id: string;
    n?: number;
    time?: number;
    what: string;
    title: string;
    job?: { id: string; name: string };
    snippet: { text: string; marks: [number, number][] };
  }

  /** A file of a folder that makes an agent run something. */
  interface StartupFile {
    file: string;
    sha256: string;
    runs: { when: string; command: string }[];
    decision: string;
  }

  interface JobAmount {
    attempts: number;
    prompts: number;
    sessions: number;
    premiumRequests: number;
  }

  /** A command that the portal runs itself to check a task. */
  interface CheckCommand {
    when: "before" | "after";
    run: string[];
    name?: string;
  }

  /** What a job could do (src/jobs/plan/plan.ts). */
  interface JobPlan {
    tasks: {
      workIdInJob: number;
      taskId: string;
      modelId: string;
      multiplier: number | null;
      always: boolean;
      unbounded: boolean;
      commands?: CheckCommand[];
      withoutCrashes: JobAmount;
    }[];
    withoutCrashes: JobAmount;
    unbounded: boolean;
    missing: { error: string; message: string }[];
  }

  /** Where isolated work waits (src/worktrees/worktreeAnswers.ts). */
  interface Worktree {
    id: string;
    state: string;
    branch: string;
    workingDirectory: string;
    missing?: string;
    problem?: string;
  }

  interface ModelChoice {
    id: string;
    name: string;
    multiplier: number;
    backend?: string;
  }

  /** A row of the history: a session, a job or a run. */
  interface HistoryItem {
    kind: string;
    id: string;
    name: string;
    status: string;
    startTime: string;
    endTime?: string;
    about: string[];
    address: string;
    worktree?: Worktree;
    branchWorktrees?: Worktree[];
  }

  interface JobSummary {
    jobId: string;
    jobName: string;
    startTime: string;
    endTime?: string;
    status: string;
    retryOf?: string;
    againOf?: string;
  }

  /** A work in one of two jobs that are compared (src/jobs/compareJobs.ts). */
  interface ComparedRun {
    verdict: string;
    attempts?: number;
    durationMs?: number;
    usage?: { inputTokens: number; outputTokens: number; cost: number; premiumRequests: number };
    changes?: Totals;
    reason?: string;
    takenOver?: true;
  }

  interface ComparedWork {
    path: string;
    taskName: string;
    runs: (ComparedRun | null)[];
  }

  /** The chart of a job (src/jobsChart.ts). */
  interface ChartArrow {
    to: number;
    loopBack: boolean;
    label?: string;
  }
  type ChartHint =
    | ["TaskNode" | "CondNode", number]
    | "ParBegin"
    | "ParEnd"
    | "AltEnd"
    | "CondBegin"
    | "CondEnd"
    | "LoopEnd";
  interface ChartNode {
    id: number;
    hint: ChartHint;
    label?: string;
    arrows?: ChartArrow[];
  }
  interface ChartGraph {
    nodes: ChartNode[];
  }

  /** What the portal keeps, and what is due to be removed. */
  interface StoredAmounts {
    jobs: number;
    tasks: number;
    sessions: number;
    runs: number;
    unused: number;
    cursors: number;
  }
  interface StorageAnswer {
    storeBytes: number;
    toolOutputBytes: number;
    freeBytes: number;
    unusedDays: number;
    retention: Record<string, number>;
    due: StoredAmounts;
  }

  interface GridCell {
    name: string;
    jobName: string;
  }
  interface GridRow {
    keyword: string;
    jobs: (GridCell | null | undefined)[];
  }

  /** A request that waits for the user, in the inbox. */
  type OpenRequest = Callback<"onPermissionRequest" | "onQuestion"> & {
    source: "session" | "run" | "task";
    sessionId: string;
    sessionTitle: string;
    workingDirectory: string;
  };

  type ToolResult = { content?: string; detailedContent?: string } | undefined | null;
  type ToolError = { message?: string; code?: string } | undefined | null;

  interface ToolCall {
    toolName: string;
    toolArguments: unknown;
    /** The output of the running call. */
    output: string;
    result: ToolResult;
    error: ToolError;
    /** The kind that an ACP agent reports. */
    kind?: string;
    exitCode?: number;
    /** The files that the call is about. */
    locations?: { path: string; line?: number }[];
    diffs?: { path: string; oldText?: string | null; newText: string }[];
  }

  interface MarkdownLibraries {
    parse: (piece: string) => Iterable<DocumentFragment>;
    clean: (html: string) => DocumentFragment;
  }

  interface StreamOptions<Response extends LiveResponse> {
    /** Of the events, below /api/. */
    path: string;
    /** The number of the last response that is known already. */
    after?: number;
    onResponse: (response: Response) => void;
    /** The log is closed, or there is none: `SessionClosed`, `JobNotFound` … */
    onEnd?: (error: string) => void;
  }

  /** When the items of a replay are played. */
  interface Schedule {
    /** In milliseconds from the beginning; never decreasing. */
    at: number[];
    durationMs: number;
    /** False when no item has a time. */
    isTimed: boolean;
  }

  interface ReplayOptions<Response extends LiveResponse> {
    place: HTMLElement;
    /** Of all logs, log after log. */
    responses: Response[];
    /** Shows the run as it was before its first response. */
    reset: () => void;
    /** Shows the next response. */
    apply: (response: Response) => void;
    /** The name of a response that is a mark of the slider. */
    markOf: (response: Response) => string | undefined;
  }

  /** A run of a task on the time line; its place is in percent of the whole time. */
  interface TimelineBar {
    run: Run;
    left: number;
    width: number;
    durationMs: number;
    isSlowest: boolean;
  }

  type SessionOption = callbacks.SessionOption;
  /** The part of an option that a control needs; the mode is shown like an option. */
  type ShownOption = Omit<SessionOption, "value"> & { value?: string | boolean };
  type PlanEntry = callbacks.PlanEntry;
  type ContextUsage = callbacks.ContextUsage;
  type SessionMode = callbacks.SessionMode;
  type PermissionOption = callbacks.PermissionOption;

  type BlockType = "User" | "Reasoning" | "Tool" | "Message";
  type BlockOutcome = "succeeded" | "failed" | "interrupted";

  /** Loads an earlier page; it has `more` when there are still earlier ones. */
  type LoadEarlier = () => Promise<{ responses: LiveResponse[]; more: boolean }>;

  /** Adds something to a shown line of a diff. */
  type DressLine = (row: HTMLElement, line: DiffLine) => void;

  type ShownStatus = "Waiting" | "Running" | "Succeeded" | "Failed" | "Canceled";
  type WorkStatus = ShownStatus | "Paused";
  type DeltaResponse = Callback<"onReasoning" | "onMessage" | "onToolExecution">;
  /** What one owner said in one stretch, in a tab of a task. */
  interface TabPart {
    time: number;
    owner: string;
    responses: LiveResponse[];
  }

  interface UsedTokens {
    inputTokens?: number;
    outputTokens?: number;
    premiumRequests?: number;
    cost?: number;
  }

  /** How much of an end of a long text is shown. */
  interface TextLimit {
    lines: number;
    chars: number;
  }

  /** Since when and where a card is in view. */
  interface ShownCard {
    timer?: number;
    top: number;
    left: number;
  }
  type SendAnswer = (body: Record<string, unknown>) => void;
  interface InboxEntry {
    entry: HTMLElement;
    card: HTMLElement;
  }
}
