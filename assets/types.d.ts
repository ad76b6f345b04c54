// The types that several parts of the pages share, most of them answers of the API. No browser loads this file.
import type * as callbacks from "../src/live/callbacks.js";
import type * as jobState from "./job/jobState.js";
import type { MessageBlock } from "./messageBlock.js";

declare global {
  /** What the API answers: each caller knows its shape. */
  // biome-ignore lint/suspicious/noExplicitAny: the server gives what it promises
  type Answer = any;

  /** What an element shows: what is empty is left out. */
  type Content = Node | string | false | 0 | null | undefined;
  /** The class of an element; or its properties, and its `data-…`, `aria-…` and `role` attributes. */
  type Properties = string | Record<string, unknown>;
  /** Only the chart has elements of another kind, and asks for none of them by a class or an attribute alone. */
  interface ParentNode {
    querySelector(selectors: `${"." | "["}${string}`): HTMLElement | null;
    querySelectorAll(selectors: `${"." | "["}${string}`): NodeListOf<HTMLElement>;
  }
  /** The elements of the pages that are more than an HTMLElement, by their ids. */
  interface ElementsById {
    addPicture: HTMLButtonElement;
    agentOptions: HTMLFieldSetElement;
    cleanUp: HTMLButtonElement;
    commitDialog: HTMLDialogElement;
    commitMessage: HTMLTextAreaElement;
    commitScope: HTMLSelectElement;
    compareDialog: HTMLDialogElement;
    compareOther: HTMLSelectElement;
    contextMeter: HTMLMeterElement;
    filter: HTMLInputElement;
    "first-request": HTMLTextAreaElement;
    folder: HTMLInputElement;
    isolate: HTMLInputElement;
    kind: HTMLSelectElement;
    model: HTMLSelectElement;
    "model-select": HTMLSelectElement;
    node: HTMLSelectElement;
    overBack: HTMLAnchorElement;
    palette: HTMLDialogElement;
    permissions: HTMLSelectElement;
    pictureFiles: HTMLInputElement;
    policy: HTMLSelectElement;
    "preview-button": HTMLButtonElement;
    prompt: HTMLTextAreaElement;
    replayJob: HTMLAnchorElement;
    "request-part": HTMLFormElement;
    "request-textarea": HTMLTextAreaElement;
    rule: HTMLInputElement;
    rulesLink: HTMLAnchorElement;
    run: HTMLButtonElement;
    sandbox: HTMLInputElement;
    "send-button": HTMLButtonElement;
    sessionRules: HTMLAnchorElement;
    "start-button": HTMLButtonElement;
    "start-job-button": HTMLButtonElement;
    "stop-job-button": HTMLButtonElement;
    storage: HTMLDetailsElement;
    "task-select": HTMLSelectElement;
    trafficDialog: HTMLDialogElement;
    "user-input-textarea": HTMLTextAreaElement;
    what: HTMLInputElement;
    "working-dir": HTMLInputElement;
  }
  /** An option of a select. */
  type Choice = { value: string; name?: string; description?: string; group?: string };
  /** Texts by the names that the portal has for what they say. */
  type Words = Record<string, string>;

  type Run = jobState.Run;
  type Player = import("./replay/player.js").Player;
  type TabLog = jobState.TabLog;
  type LiveResponse = callbacks.LiveResponse;
  type CallbackName = callbacks.CallbackName;
  type Callback<Name extends CallbackName> = callbacks.Callback<Name>;
  type Handlers = { [Name in CallbackName]?: (response: Callback<Name>) => void };
  type ReplayItem = LiveResponse & { source?: string; id?: string };
  type RunningTool = { block: MessageBlock; call: Callback<"onStartToolExecution">; group?: ToolGroup };
  interface ToolGroup {
    hasRoom(): boolean;
    add(tool: HTMLElement): void;
    end(ms?: number, hasFailed?: boolean): void;
  }
  type JobEvent = callbacks.JobEvent;
  type AgentCommand = callbacks.AgentCommand;
  /** Something that a request may name. */
  interface Completion {
    name: string;
    hint?: string;
    description?: string;
    /** Instead of writing its name. */
    choose?: () => void;
  }
  interface KnownNames {
    folder: string;
    /** That has the folder. */
    node: string;
    tasks: Completion[];
    commands: readonly Completion[];
  }
  type Evidence = Callback<"taskAttemptEnded">;

  type PermissionRequest = Callback<"onPermissionRequest">;
  /** What a card asks the user. */
  type CardRequest = Callback<"onPermissionRequest" | "onQuestion">;
  /** How it was settled. */
  type CardOutcome = Callback<"onPermissionResolved" | "onQuestionResolved">;
  type Effect = "allow" | "reject";

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

  interface ChangesAnswer {
    files: FileChange[];
    repository?: boolean;
    problem?: string;
    left?: { path: string; why: string }[];
  }

  interface UndoAnswer {
    undo: number;
    restored: string[];
    kept: { path: string; why: string }[];
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
    when?: "before" | "after";
    run?: string[];
    /** The task that reports the line, where there is no `run`. */
    reportedBy?: string;
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
    setup?: CheckCommand[];
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

  type Notices = { level: string; message: string }[];
  interface ModelChoice {
    id: string;
    name: string;
    multiplier: number;
    backend?: string;
  }

  /** A row of the history: a session, a job or a run. */
  interface KnownFolder {
    path: string;
    branch?: string;
  }

  /** Where something works, of several portals on one database. */
  interface Whereabouts {
    node?: string;
    pinned?: boolean;
    waitingFor?: string;
  }
  type NodeAnswer = import("../src/nodes/nodeAnswer.js").ShownNode;
  type SeenNode = Pick<NodeAnswer, "name" | "state">;

  interface HistoryItem extends Whereabouts {
    kind: string;
    id: string;
    name: string;
    status: string;
    startTime: string;
    endTime?: string;
    about: (string | undefined)[];
    address: string;
    worktree?: Worktree;
    branchWorktrees?: Worktree[];
  }

  /** A worktree that waits, whoever it belongs to. */
  interface WaitingWorktree {
    /** Of the session or job. */
    id: string;
    name: string;
    /** Absent, as the title, when the session or job is deleted. */
    kind?: ActiveItem["kind"];
    title?: string;
    startTime: string;
    worktree: Worktree;
  }

  type HistoryAction = false | (() => Promise<unknown>);

  /** The jobs that a job comes from, and those that came from it. */
  interface JobOrigins {
    retryOf?: string;
    againOf?: string;
    retriedBy?: string[];
    againBy?: string[];
  }

  /** Two jobs that are compared. */
  interface ComparedJobs {
    jobs: JobSummary[];
    works: ComparedWork[];
  }
  type Criterion = Evidence["criteria"][number];

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
    /** What the two do not have in common. */
    differs: string[];
  }

  interface AgentAnswer {
    name: string;
    description: string;
    keywords: string[];
    path: string;
    autoSelect: boolean;
  }
  interface AgentsAnswer {
    repoRoot: string;
    agents: AgentAnswer[];
    problems: { file: string; code: string; message: string }[];
  }
  /** What an evaluation says about a prompt. */
  interface Evaluation {
    isClear: boolean;
    confidence: number;
    issues: string[];
    suggestions?: string;
    selectedAgents: string[];
    selectionRationale: string[];
    refinedPrompt: string;
    originalPrompt: string;
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
    /** The places of the nodes and arrows, in pixels (src/jobs/chartLayout.ts). */
    layout?: { nodes: PlacedNode[]; arrows: DrawnArrow[]; width: number; height: number };
  }
  /** x and y are those of the middle. */
  interface PlacedNode {
    x: number;
    y: number;
    width: number;
    height: number;
  }
  type ChartBox = PlacedNode & { node: ChartNode };
  interface DrawnArrow {
    path: string;
    label?: string;
    x: number;
    y: number;
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

  /** The jobs of an entry by their names. */
  type JobEntries = Record<string, { requireUserInput?: boolean; description?: string }>;
  interface GridCell {
    name: string;
    jobName: string;
  }
  interface GridRow {
    keyword: string;
    jobs: (GridCell | null | undefined)[];
  }

  /** A request that waits for the user, in the inbox. */
  type OpenRequest = CardRequest & {
    source: "session" | "run" | "task";
    sessionId: string;
    sessionTitle: string;
    workingDirectory: string;
    /** The task that started the session. */
    taskId?: string;
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

  /** A live log, as `copilot/events` takes it. */
  interface WantedLog {
    kind: "session" | "task" | "job" | "run" | "overview";
    id: string;
    /** The id of the last event that is known already. */
    after?: string;
    /** Everything below a job, too. */
    all?: boolean;
  }

  /** A log that a tab reads, and how much of what it was sent it has not read yet. */
  interface HubLog {
    name: string;
    port: MessagePort;
    unread: number;
    /** Nothing more is read for it until the tab has caught up. */
    isWaiting: boolean;
    wanted: WantedLog & { name: string };
  }

  /** From a tab to the hub; `name` is the tab's own name of a log. */
  interface HubRequest {
    does: "add" | "remove" | "read" | "retry" | "leave";
    name?: string;
    wanted?: WantedLog;
    /** How many events were read. */
    count?: number;
  }

  /** From the hub to a tab. */
  interface HubMessage {
    name: string;
    /** Their data, as JSON. */
    events: string[];
    /** The log has ended, or there is none. */
    error?: string;
    isLost?: boolean;
  }

  type UserRequest = import("../src/live/callbacks.js").Callback<"onUserRequest">;

  /** A session or job that runs or waits for the user. */
  type ActiveItem = import("../src/overview/activeItem.js").ActiveItem;

  interface Overview {
    active: ActiveItem[];
    requests: OpenRequest[];
    /** The portals on the database, and which of them answers; absent without a database server. */
    nodes?: SeenNode[];
    node?: string;
  }

  interface StreamOptions<Response extends LiveResponse | Overview> {
    wanted: WantedLog;
    onResponse: (response: Response) => void;
    /** The log is closed, or there is none: `SessionClosed`, `JobNotFound` … */
    onEnd?: (error: string) => void;
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

  /** How a run is shown, live or replayed. */
  type ShownRun = Pick<ReplayOptions<Answer>, "reset" | "apply">;
  type NameOf = ReplayOptions<Answer>["markOf"];

  /** A card without an answer, and its place in the conversation for later. */
  type CardsPart = Promise<typeof import("./permissions/permissionCard.js") | undefined> | undefined;
  type WaitingCard = { card?: HTMLElement; later: HTMLElement };
  type RepeatedNotice = { key: string; count: number; times: HTMLElement };

  type KnownMode = { modes: readonly SessionMode[]; currentModeId?: string };

  /** The arguments of a tool call by name. */
  type ArgumentValues = Record<string, unknown>;

  /** The words after *Allow* or *Reject*, by the kind of rule. */
  /** A rule in `copilot/permission/rules/words`. */
  type RuleInWords = { folder: string; rule: string; from: "file" | "store"; effect: string; covers: string };

  /** An agent program that speaks ACP, in `acp/agents`. */
  type ProgramsAnswer = { agents: Answer[]; problems: string[] };
  type ProgramTest = { version?: string; authMethods?: Answer[] };
  type ProgramActions = Record<string, () => Promise<string>>;

  type RunSession = { run: Run; tab: TabLog; isDriving: boolean };

  /** How parts of the job's page name and choose tasks. */
  interface TaskNames {
    /** The name of a task of the job. */
    labelOf: (workId: number) => string;
    onSelect: ChooseRun;
  }
  /** With the name of the tab to open, if it is not the first. */
  type ChooseRun = (run: Run, tabName?: string) => void;

  /** A task of a job on its chart. */
  interface ChartTask {
    label: string;
    isCondition: boolean;
    /** The most that it may take, if it is known. */
    attempts: number | undefined;
    changes?: Totals;
  }

  /** What the user chose on a job's page; the newest round and the first tab if they are not named. */
  interface ChosenWork {
    workId: number;
    round?: number | undefined;
    tab?: string | undefined;
  }

  /** A request of a task, which may have been answered. */
  interface AskedRequest {
    id: string;
    what: string;
    time: number;
    isOpen: boolean;
  }

  /** What happened at a moment of a job. */
  interface LogLine {
    time: number | undefined;
    text: string;
    status?: string;
    run?: Run;
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

  type ShownStatus = "Waiting" | "Running" | "Needs you" | "Succeeded" | "Failed" | "Canceled";
  /** What a node of the chart shows about its task. */
  interface NodeState {
    status?: ShownStatus;
    detail: string;
    /** The verdict and the changes, in one line. */
    said?: string;
    tip?: string;
  }
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
  interface InboxEntry {
    entry: HTMLElement;
    card: HTMLElement;
  }
}
