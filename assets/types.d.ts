// The types that several parts of the pages share, most of them answers of the API. No browser loads this file.
import type * as callbacks from "../src/live/callbacks.js";
import type * as jobState from "./job/jobState.js";
import type { MessageBlock } from "./messageBlock.js";
import type { Player } from "./replay/player.js";

declare global {
  /** What the API answers: each caller knows its shape. */
  // biome-ignore lint/suspicious/noExplicitAny: the server gives what it promises
  type Answer = any;

  // The longer signatures, each of the function of the same name.
  type MakeElement = <Tag extends keyof HTMLElementTagNameMap>(
    tag: Tag,
    properties?: Properties,
    ...content: Content[]
  ) => HTMLElementTagNameMap[Tag];
  type Fill = <Place extends Element>(place: Place, ...content: Content[]) => Place;
  type MakeButton = (label: Content, onclick: () => unknown, properties?: Properties) => HTMLButtonElement;
  type OnClick = (id: string, action: () => unknown) => void;
  type ShowStatus = (place: HTMLElement, text: string, status?: string) => void;
  type Find = <Type extends HTMLElement = HTMLElement>(
    whole: ParentNode,
    selector: string,
    type?: new () => Type,
  ) => Type;
  type ById = <Type extends HTMLElement = HTMLElement>(id: string, type?: new () => Type) => Type;
  type Call = (path: string, body?: string | object) => Promise<Answer>;
  type WithProgress = <Result>(control: HTMLElement, work: () => Promise<Result>) => Promise<Result>;
  type Send = (control: HTMLElement, path: string, body?: string | object) => Promise<Answer>;
  type ReadEvents = (
    reader: ReadableStreamDefaultReader<string>,
    /** False when another connection has replaced this one. */
    isCurrent: () => boolean,
  ) => Promise<void>;
  type WasRead = (log: HubLog | undefined, count: number) => void;
  /** Returns the function that stops reading. */
  type ReadLog = <Response extends LiveResponse | Overview = LiveResponse>(
    options: StreamOptions<Response>,
  ) => () => void;
  type Handle = (handlers: Handlers, response: LiveResponse) => void;
  type AllLines = (kind: DiffLine["kind"], lines: string[]) => DiffLine[];
  /** The number of common lines after every pair of positions. */
  type CommonLengths = (a: string[], b: string[]) => (i: number, j: number) => number;
  type DiffLines<Text> = (before: Text, after: Text) => DiffLine[];
  type PlainText = (text: string, className: string, show?: (piece: string) => Content) => HTMLElement;
  /** Colours the code once its language is loaded. */
  type HighlightCode = (
    code: HTMLElement,
    /** Of the language. */
    name: string,
  ) => Promise<void>;
  type CodeBox = (text: string, language: string) => HTMLElement;
  /** Like `endOfPiece`, but between paragraphs and outside fenced code if possible. */
  type EndOfMarkdownPiece = (text: string, from: number, startsFenced: boolean) => number;
  type NodesOf = (text: string, pattern: RegExp) => Content[];
  type CodeOf = (text: string, className?: string) => HTMLElement;
  type MakeNotice = (text: string, level?: string) => HTMLElement;
  /** The two ends of a text and the part between them; a short text is its own first end. */
  type EndsOf = (text: string, limit: TextLimit) => { first: string; hidden: string; last: string };
  /** Runs the action when the form is submitted, and on Ctrl+Enter in its text. */
  type OnSubmit = (id: string, action: () => void, text?: HTMLElement) => void;
  /** The button with this id runs the action, with its progress at the button. */
  type OnPress = (id: string, action: () => Promise<unknown>, onError: (error: unknown) => void) => void;
  type ShowPieces = (
    container: HTMLElement,
    text: string,
    /** Where the piece that starts there ends. */
    end: (from: number) => number,
    show: (piece: string) => Node,
  ) => void;
  type ShowStartupFiles = (folder: string, files: StartupFile[], onDecided: () => void) => void;
  type ChangeRules = (
    control: HTMLElement,
    action: "add" | "remove",
    /** The folder. */
    name: string,
    text: string,
  ) => Promise<void>;
  type OwnText = (
    properties: Record<string, unknown>,
    send: (text: string) => unknown,
    label: string,
    /** The class of the button. */
    look: string,
  ) => HTMLElement;
  /** The time is in milliseconds. */
  type AddUserMessage = (text: string, title?: string, time?: number, requestId?: string) => void;
  type AddToTab<Result> = (
    response: LiveResponse,
    /** The session that it comes from, or the task. */
    owner: string,
    /** It has a place of its own in time, and what follows from its owner comes after it. */
    beginsPart: boolean,
  ) => Result;
  /** Lines beyond `max` are shown on demand. */
  type Difference = (lines: DiffLine[], max?: number, dress?: DressLine) => HTMLElement;
  /** The path is that of the session in the API. */
  type OpenCommit = (path: string, turn: number, done: (commit: string) => void) => void;

  /** How many characters of the lines make up an end of the text; empty lines that follow each other count once. The lines are in the order in which they are taken. */
  type CharsOfEnd = (lines: string[], limit: TextLimit) => number;
  /** Keeps the list up to date while it is visible; returns the function that refreshes it at once. The section is hidden while there are no runs; `current` is the run that the page shows. */
  type ShowRuns = (section: HTMLElement, current: () => string | undefined) => () => void;
  /** The path is that of the job in the API. */
  type JobSummaryPart = (
    state: jobState.JobState,
    labelOf: (workId: number) => string,
    path: string,
  ) => HTMLElement;
  type OpenCompare = (
    jobId: string,
    jobName: string,
    /** The job to begin with. */
    other?: string,
  ) => Promise<void>;
  type TurnChanges = (
    /** That of the session in the API. */
    path: string,
    /** Puts an item at the end of the conversation. */
    place: (item: HTMLElement) => void,
  ) => (response: LiveResponse) => void;
  /** The files that changed, and what is not known. */
  type ChangedFiles = (
    /** The path of the session or the job in the API. */
    reviewed: string,
    /** Whose they are, such as `turn=2`. */
    query: string,
  ) => Promise<HTMLElement>;
  /** Opens a form below a line of a diff. */
  type WriteComment = (place: Omit<ReviewComment, "id" | "comment">, row: HTMLElement) => void;
  /** Shows the agent's value; a change is only sent. */
  type OptionControl = (
    option: ShownOption,
    wish: (value: string | boolean, label: HTMLElement) => void,
  ) => HTMLElement;
  /** Nothing when the worktree does not wait. */
  type WorktreeLine = (worktree: Worktree | undefined, refresh: () => unknown) => HTMLElement[];
  type Zoom = (
    /** How many steps, or the new zoom. */
    zoom: number,
    /** The point of the window that stays in place. */
    at?: { x: number; y: number },
  ) => void;

  /** What an element shows: what is empty is left out. */
  type Content = Node | string | false | 0 | null | undefined;
  /** The class of an element; or its properties, and its `data-…`, `aria-…` and `role` attributes. */
  type Properties = string | Record<string, unknown>;
  interface SplitterOptions {
    /** The bar moves up and down. */
    isVertical?: boolean;
    initialPx: number;
    minPx?: number;
    name: string;
  }
  /** An option of a select. */
  type Choice = { value: string; name?: string; description?: string; group?: string };
  /** Texts by the names that the portal has for what they say. */
  type Words = Record<string, string>;

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

  type Listed = (kind: string) => AsyncGenerator<HistoryItem, undefined>;
  type HistoryAction = false | (() => Promise<unknown>);
  type ActionsOf = (item: HistoryItem) => Record<string, HistoryAction>;
  type HistoryRow = (item: HistoryItem, refresh: () => void) => HTMLElement;

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
  }
  /** A node with its place; x and y are those of its middle. */
  interface ChartBox {
    node: ChartNode;
    x: number;
    y: number;
    width: number;
    height: number;
    /** What it and all that follows on its axis need at the sides of the axis. */
    left: number;
    right: number;
    /** The outermost arrow that leads back to it. */
    reach?: number;
    /** How many loops on its axis it is in, how many arrows lead down to it, and those that lead down from it. */
    loops: number;
    entries: number;
    down: ChartLink[];
    /** The node in whose branch it is, and the one where its own branches meet. */
    fork?: ChartBox | undefined;
    join?: ChartBox;
  }
  interface ChartLink extends Omit<ChartArrow, "to"> {
    from: ChartBox;
    to: ChartBox;
    /** Where it goes down, from the axis of its start. */
    lane: number;
  }
  /** An arrow as the data of an SVG path, and where its label starts. */
  interface DrawnArrow {
    path: string;
    label?: string | undefined;
    x: number;
    y: number;
  }
  type RenderChart = (
    graph: ChartGraph,
    container: HTMLElement,
    onSelect?: (workId: number | undefined) => void,
  ) => Promise<import("./flowChartMermaid.js").FlowChart>;
  type LayOutChart = (
    graph: ChartGraph,
    /** The width of a name. */
    widthOf: (text: string) => number,
  ) => { boxes: ChartBox[]; arrows: DrawnArrow[]; width: number; height: number };

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
  type JobEntries = Record<string, { requireUserInput?: boolean }>;
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
  type ChangeQueued = (request: UserRequest, control: HTMLButtonElement) => Promise<void>;

  /** A session or job that runs or waits for the user. */
  type ActiveItem = import("../src/overview/activeItem.js").ActiveItem;

  /** What was found: where it is, its kind, title and time, and the text with the words. */
  type FoundRow = (
    href: string | undefined,
    kind: string,
    title: string,
    time?: string | number,
    text?: HTMLElement[],
  ) => HTMLElement;
  type Named = (kind: string, words: string) => Promise<HTMLElement[]>;
  type Marked = (snippet: SearchHit["snippet"]) => Generator<string | HTMLElement>;
  type AddressOf = (item: { kind: string; id: string; title: string }) => string;

  interface Overview {
    active: ActiveItem[];
    requests: OpenRequest[];
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
  /** Replays a run in the page that shows it live, and puts the controls into `place`. */
  type ShowReplay = <Response extends LiveResponse>(options: ReplayOptions<Response>) => Player;
  /** How many items are played at a moment. */
  type CountAt = (at: number[], ms: number) => number;

  /** Puts an item at the end of the conversation. */
  type PlaceItem = (item: HTMLElement) => void;
  type View = () => Node;
  type MakeItemGroups = (
    /** The element that scrolls. */
    root: HTMLElement,
    /** What comes after the last group. */
    end: HTMLElement,
  ) => {
    append: PlaceItem;
    /** Puts items before the first one; what is in sight stays where it is. */
    prepend: (items: DocumentFragment) => void;
  };
  /** What belongs together: the conversation from some response on, or an earlier page of it. */
  type MakeResponseItems = (
    placeItem: PlaceItem,
    /** Where cards without an answer are. */
    waiting: HTMLElement,
  ) => { add: OnResponse; addNotice: AddNotice; addUserMessage: AddUserMessage };
  type AddNotice = (level: string, message: string) => void;
  type StartBlock = (blockType: BlockType, response: LiveResponse, parent?: MessageBlock) => MessageBlock;
  type AppendToBlock = (blockType: BlockType, response: DeltaResponse) => void;
  type CompleteBlock = (blockType: BlockType, response: Callback<"onEndReasoning" | "onEndMessage">) => void;
  /** A card without an answer, and its place in the conversation for later. */
  type WaitingCard = { card: HTMLElement; later: HTMLElement };
  type RepeatedNotice = { key: string; count: number; times: HTMLElement };

  type OpenSessionView = (
    sessionId: string,
    /** Says that nothing is left to do on the page. */
    showOver: (title: string, text: string, back?: string) => void,
  ) => void;
  type ShowTask = (name: string, status: string) => void;
  /** Follows a task that runs in the session. */
  type FollowTask = (id: string, name: string, after?: number) => void;
  type Leave = (what: string, back?: string) => void;

  type KnownMode = { modes: readonly SessionMode[]; currentModeId?: string };
  type Wish = (route: string, body: object, label: HTMLElement) => void;
  /** Returns the function that sets the commands. */
  type CompleteCommands = (
    prompt: HTMLTextAreaElement,
    list: HTMLElement,
  ) => (commands: readonly AgentCommand[]) => void;

  /** The arguments of a tool call by name. */
  type ArgumentValues = Record<string, unknown>;
  /** The arguments by name; empty when they are not a JSON object. */
  type ParseArguments = (toolArguments: unknown) => ArgumentValues;
  type ToolTitle = (toolName: string, toolArguments: unknown) => string;
  /** The text is made when it is opened. */
  type Folded = (summary: string, text: () => string) => HTMLElement;
  type Terminal = (command: string, output: string, exitCode: number | undefined) => HTMLElement;
  /** The part that best shows what the call did. */
  type MainPart = (call: ToolCall, values: ArgumentValues) => Content;

  /** The path is that of the session in the API. */
  type TurnLine = (path: string, totals: TurnTotals) => HTMLElement;
  type FileItem = (query: string, change: FileChange) => HTMLElement;
  /** A diff whose line numbers open the form; the arrow keys go from one to the next. */
  type ReviewedDiff = (file: string, diff: string) => HTMLElement;

  type CallPermission = (path: string, body: object) => Promise<Answer>;
  type RuleItem = (name: string, text: string, isStored: boolean) => HTMLElement;
  /** The rules of each folder. */
  type RulesOf = (from: "file" | "store") => Promise<Record<string, string[]>>;
  type TellVerdict = (decision: string, text: string) => void;
  /** The words after *Allow* or *Reject*, by the kind of rule. */
  type RuleSentences = Record<string, (rest: string, isAllowed: boolean) => string>;

  type FocusCards = (log: HTMLElement, prompt: HTMLTextAreaElement) => () => void;
  type DisableButtons = (card: HTMLElement, isDisabled: boolean) => void;
  type CardParts<Request> = (request: Request, answer: SendAnswer) => Content[];
  type SettleCard = (card: HTMLElement, resolved: CardOutcome) => void;
  type TellAtCard = (card: HTMLElement, text: string) => void;
  type AgentsName = (option: PermissionOption, label: string) => HTMLElement[];
  /** What would be remembered, in words. */
  type Covered = (request: PermissionRequest, effect: Effect, rules?: readonly string[]) => HTMLElement[];
  type Explanation = (request: PermissionRequest, option: PermissionOption, label: string) => HTMLElement[];
  type PermissionOptions = (
    request: PermissionRequest,
    answer: SendAnswer,
  ) => { remember: () => { remember?: string }; parts: Content[] };
  type StartupItem = (folder: string, file: StartupFile, onDecided: () => void) => HTMLElement;
  type DecideStartup = (effect: Effect, control: HTMLElement) => Promise<void>;

  /** An agent program that speaks ACP, in `acp/agents`. */
  type ProgramsAnswer = { agents: Answer[]; problems: string[] };
  type ProgramTest = { version?: string; authMethods?: Answer[] };
  type ActOnProgram = (
    control: HTMLElement,
    /** Returns what it did, in words. */
    action: () => Promise<string>,
  ) => Promise<void>;
  type ShowProgram = (agent: Answer) => void;
  type AddProgram = (id: string) => ShowProgram;
  type ProgramActions = Record<string, () => Promise<string>>;
  type RunItem = (run: Answer, current: string | undefined) => HTMLElement;

  type JsonSection = (title: string, value: unknown) => HTMLElement;
  type MakeSection = (title: string, ...parts: Content[]) => HTMLElement;
  type MakeTable = (head: string[], rows: Content[][]) => HTMLElement;
  type TableRow = (tag: "th" | "td", parts: Content[]) => HTMLElement;
  type JobDefinition = (job: unknown, chart: unknown, plan?: JobPlan) => HTMLElement;
  type OnResponse = (response: LiveResponse) => void;
  /** Called with a task that changes, or that gets a tab. */
  type OnWork = (workId: number) => void;
  type AddRun = (work: Callback<"workWaiting" | "workStarted">, status: ShownStatus) => void;
  type DecideRun = (run: Run, decision: Callback<"taskDecision">, taskId: string) => void;
  type StartRunSession = (run: Run, event: Callback<"taskSessionStarted">) => void;
  type KeepEvent = (key: string, event: JobEvent) => void;
  type RunSession = { run: Run; tab: TabLog; isDriving: boolean };

  /** The answer is the value of the button that closed the dialog. */
  type OpenDialog = (
    label: string,
    ...children: Node[]
  ) => { dialog: HTMLDialogElement; answer: Promise<unknown> };
  /** The action is the label of its button. */
  type Ask = (question: string, action: string) => Promise<boolean>;
  /** The question above its parts, and below them Cancel and the action. */
  type OpenQuestion = (
    question: string,
    action: string,
    /** The class of the button. */
    look: string,
    ...parts: HTMLElement[]
  ) => { isYes: Promise<boolean>; choose: () => void };
  type AskText = (label: string, value: string) => Promise<string | undefined>;
  type SetPageState = (title: string, status?: string) => void;
  /** Several tabs with the same tag show one notification. */
  type Notify = (text: string, tag?: string) => void;
  /** Sets the size `--part-size` of the part behind the bar. The id is that of the bar. */
  type MakeSplitter = (id: string, options: SplitterOptions) => void;

  /** The time from the first start to the last end. */
  type SpanOf = (runs: Run[], now: number) => { start: number; wholeMs: number };
  type LayOutBars = (runs: Run[], now: number) => TimelineBar[];
  type ShowTimeline = (runs: Run[], now: number) => void;
  interface TimelineOptions {
    /** The name of a task of the job. */
    labelOf: (workId: number) => string;
    onSelect: (run: Run) => void;
    isSelected: (run: Run) => boolean;
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

  type ShownStatus = "Waiting" | "Running" | "Needs you" | "Succeeded" | "Failed" | "Canceled";
  /** What a node of the chart shows about its task. */
  interface NodeState {
    status?: ShownStatus;
    detail: string;
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
  type SendAnswer = (body: Record<string, unknown>) => void;
  interface InboxEntry {
    entry: HTMLElement;
    card: HTMLElement;
  }
}
