// The longer signatures of the pages' functions, each named after its function. No browser loads this file.
import type * as jobState from "./job/jobState.js";
import type { MessageBlock } from "./messageBlock.js";
import type { Player } from "./replay/player.js";

declare global {
  /** How what is written next looks: its colours, and more by the code that begins it. */
  interface TerminalStyle {
    ink?: string | undefined;
    paper?: string | undefined;
    [flag: number]: string | undefined;
  }
  type StyleAfter = (before: TerminalStyle, parameters: string) => TerminalStyle;
  type ShowTerminalPiece = (piece: string, from: number) => Content[];
  type AddProgram = (id: string) => ShowProgram;
  /** An element with its properties and content; a text is inserted as text, never as markup. */
  type MakeElement = <Tag extends keyof HTMLElementTagNameMap>(
    tag: Tag,
    properties?: Properties,
    ...content: Content[]
  ) => HTMLElementTagNameMap[Tag];
  /** Replaces what an element shows; content that is empty is left out. */
  type Fill = <Place extends Element>(place: Place, ...content: Content[]) => Place;
  type Scrollable = (className: string, ariaLabel: string, ...content: Content[]) => HTMLElement;
  type MakeButton = (label: Content, onclick: () => unknown, properties?: Properties) => HTMLButtonElement;
  type MakeInboxEntry = (
    request: OpenRequest,
    permissionCard: (request: OpenRequest) => HTMLElement,
  ) => InboxEntry;
  /** The dialog is open, and takes what is typed, before this has come. The places are the pages. */
  type ShowPalette = (dialog: HTMLDialogElement, places: HTMLAnchorElement[]) => void;
  type OnClick = (id: string, action: () => unknown) => void;
  type ShowStatus = (place: HTMLElement, text: string, status?: string) => void;
  type ElementOf<Selector> = Selector extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Selector]
    : HTMLElement;
  /** The part that matches, which the whole must have. */
  type Find = <Selector extends string, Type extends HTMLElement = ElementOf<Selector>>(
    whole: ParentNode,
    selector: Selector,
    type?: new () => Type,
  ) => Type;
  /** A copy of a template with its parts filled, by their selectors. */
  type Filled = (id: string, parts: Record<string, Content | Content[]>) => HTMLElement;
  /** The element with this id, which the page must have. */
  type ById = <
    Id extends string,
    Type extends HTMLElement = Id extends keyof ElementsById ? ElementsById[Id] : HTMLElement,
  >(
    id: Id,
    type?: new () => Type,
  ) => Type;
  /** What some paths answer; what the others do is known where they are asked. */
  type AnswerOf<Path extends string> = Path extends `copilot/run/history${string}`
    ? { runs: Answer[] }
    : Path extends `copilot/job/history${string}`
      ? { jobs: Answer[] }
      : Path extends `${string}/traffic`
        ? { messages: Answer[] }
        : Path extends "copilot/permission/test"
          ? Answer
          : Path extends `${string}/test`
            ? ProgramTest
            : Path extends "acp/agents"
              ? ProgramsAnswer
              : Path extends "copilot/nodes"
                ? { nodes: NodeAnswer[] }
                : Path extends "copilot/storage"
                  ? StorageAnswer
                  : Path extends `${string}/changes`
                    ? ChangesAnswer & { turns?: TurnTotals[] }
                    : Path extends `copilot/folders?path=${string}`
                      ? { folders: KnownFolder[] }
                      : Path extends "copilot/permission/rules/words"
                        ? { rules: RuleInWords[] }
                        : Answer;
  type CallAny = (path: string, body?: string | object) => Promise<Answer>;
  type Call = <Path extends string>(path: Path, body?: string | object) => Promise<AnswerOf<Path>>;
  /** Shows that work is in progress when it takes long enough to be noticed. */
  type WithProgress = <Result>(control: HTMLElement, work: () => Promise<Result>) => Promise<Result>;
  /** Posts, with its progress at the control. */
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
  /** An unknown response is ignored. */
  type Handle = (handlers: Handlers, response: LiveResponse) => void;
  interface DiffPart {
    added?: boolean;
    removed?: boolean;
    value: string[];
  }
  /** That of /vendor/diff.js. */
  type DiffArrays = (a: string[], b: string[], limits: { maxEditLength: number }) => DiffPart[] | undefined;
  type DiffLines = (diffArrays: DiffArrays, before: string, after: string) => DiffLine[];
  type ShowPiece = (piece: string, from: number) => HTMLElement;
  type PlainText = (
    text: string,
    className: string,
    /** Where the piece begins is its second argument. */
    show?: (piece: string, from: number) => Content | Content[],
    /** For tool output and logs, whose end matters most; then a button shows the beginning. */
    isEndFirst?: boolean,
  ) => HTMLElement;
  /** Colours the code once its language is loaded. */
  type HighlightCode = (code: HTMLElement, language: string) => Promise<void>;
  type NodesOf = (text: string, pattern: RegExp) => Content[];
  type MakeNotice = (text: string, level?: string) => HTMLElement;
  /** The two ends of a text and the part between them; a short text is its own first end. */
  type EndsOf = (text: string, limit: TextLimit) => { first: string; hidden: string; last: string };
  /** Runs the action when the form is submitted, and on Ctrl+Enter in its text. */
  type ShowSession = (sessionId: string) => Promise<void>;
  /** Acts once nothing more has come for this time. */
  type Soon = (action: () => unknown, delayMs: number) => () => void;
  type OnSubmit = (id: string, action: () => void, text?: HTMLElement) => void;
  /** The button with this id runs the action, with its progress at the button. */
  type OnPress = (id: string, action: () => Promise<unknown>, onError: (error: unknown) => void) => void;
  /** Takes the next part of a text. Returns the paragraphs that it completes, and what has no end yet. */
  type Paragraphs = (isCut?: boolean) => (data: string) => {
    complete: string[];
    rest: string;
    /** The line that began the code block which is open, if one is. */
    fence: string;
  };
  type ShowPieces = (
    container: HTMLElement,
    text: string,
    /** Where the piece that starts there ends. */
    end: (from: number) => number,
    show: (piece: string, from: number) => Node,
  ) => void;
  type ShowStartupFiles = (folder: string, files: StartupFile[], onDecided: () => void) => void;
  type ChangeRules = (
    control: HTMLElement,
    action: "add" | "remove",
    /** The folder. */
    name: string,
    text: string,
  ) => Promise<void>;
  /** A text that Enter or a button sends. */
  type OwnText = (
    properties: Record<string, unknown>,
    send: (text: string) => unknown,
    label: string,
    /** The class of the button. */
    look: string,
  ) => HTMLElement;
  /** The time is in milliseconds. */
  type AddUserMessage = (
    text: string,
    title?: string,
    time?: number,
    requestId?: string,
    pictures?: readonly string[],
  ) => void;
  type RequestPictures = (
    path: string,
    showError: (error?: unknown) => void,
  ) => { get: () => readonly string[]; set: (names: string[]) => void };
  type AddPictures = (event: Event, files: FileList | null | undefined) => Promise<void>;
  type SendQuery = (request: Pick<UserRequest, "prompt" | "pictures">) => Promise<Answer>;
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
  /** Keeps the list up to date while it is visible; returns the function that refreshes it at once. The section is hidden while there are no runs. */
  type ShowRuns = (load: () => Promise<HTMLElement[]>) => () => void;
  type StartAndOpen = (
    control: HTMLButtonElement,
    path: string,
    /** The name of the job. */
    title: string,
    body?: string,
  ) => Promise<void>;
  type JobAbout = (
    state: jobState.JobState,
    options: TaskNames & { definition: object; plan: JobPlan | undefined },
  ) => HTMLElement;
  type TurnChanges = (
    /** That of the session in the API. */
    path: string,
    /** Puts an item at the end of the conversation. */
    place: (item: HTMLElement) => void,
  ) => (response: LiveResponse) => void;
  /** Opens a form below a line of a diff. */
  type WriteComment = (place: Omit<ReviewComment, "id" | "comment">, row: HTMLElement) => void;
  /** Shows the agent's value; a change is only sent. */
  type OptionControl = (
    option: ShownOption,
    wish: (value: string | boolean, label: HTMLElement) => void,
  ) => HTMLElement;
  /** Calls back where there are several nodes, at once and when one of them comes, goes or changes. */
  type OnNodes = (show: (nodes: SeenNode[], own: string) => unknown) => void;
  /** The node that has it, with a pin where only that has its folder; nothing where there is one portal. */
  type NodeSign = (where: Whereabouts & { workingDirectory?: string }) => HTMLElement | "";
  /** Says what it waits for, and offers to give it up; nothing when it does not wait. The path is that in the API. */
  type WaitingLine = (where: Whereabouts, path: string, refresh: () => unknown) => HTMLElement[];
  /** Offers folders that begin with what is typed, and those of earlier sessions. */
  type OfferFolders = (
    input: HTMLInputElement,
    /** The node that has them. */
    nodeOf?: () => string,
  ) => void;
  /**
   * Sends a call to a node; "" to the one that is asked.
   * What the address of a call says of a node, behind what is there before.
   */
  type ToNode = (node: string, before?: string) => string;
  /** A worktree that waits, of what is deleted or not listed. */
  type WorktreeItem = (waiting: WaitingWorktree) => HistoryItem;
  /** Nothing when the worktree does not wait. */
  type WorktreeLine = (worktree: Worktree | undefined, refresh: () => unknown) => HTMLElement[];
  type Zoom = (
    /** How many steps, or the new zoom. */
    zoom: number,
    /** The point of the window that stays in place. */
    at?: { x: number; y: number },
  ) => void;
  /** The row of an answer. */
  /** The name of each kind of answer, and what is said of it first. */
  type WordsOf = Record<string, (answer: Answer) => string[]>;
  type ItemOf = (kind: string, answer: Answer) => HistoryItem;
  /** One kind, newest first. A kind that cannot be listed does not affect the others. */
  type Listed = (kind: string, limit: number) => Promise<HistoryItem[]>;
  /** Of something that is active and began before what the list shows. */
  type ActiveRow = (item: ActiveItem) => HistoryItem;
  /** What can be done about an item, by the value of its button; false where it cannot be done. */
  type ActionsOf = (item: HistoryItem) => Record<string, HistoryAction>;
  type HistoryRow = (item: HistoryItem, refresh: () => void) => HTMLElement;
  /** An arrow as the data of an SVG path, and where its label starts. */
  type DrawSvg = (
    name: string,
    attributes: Record<string, unknown>,
    ...content: (Node | string)[]
  ) => SVGElement;
  /** Draws a chart into an element, as scripts of the first portal do. */
  type RenderChart = (
    graph: ChartGraph,
    container: HTMLElement,
    onSelect?: (workId: number | undefined) => void,
  ) => Promise<import("./flowChartMermaid.js").FlowChart>;
  /** Takes back a request that waits, and does with it what the button says. */
  type ChangeQueued = (request: UserRequest, control: HTMLButtonElement) => Promise<void>;
  /** What was found: where it is, its kind, title and time, and the text with the words. */
  type FoundRow = (
    href: string | undefined,
    kind: string,
    title: string,
    time?: string | number,
    text?: HTMLElement[],
  ) => HTMLElement;
  /** The text with its marks; whatever it says, it stays text. */
  type Marked = (snippet: SearchHit["snippet"]) => Generator<string | HTMLElement>;
  type AddressOf = (item: { kind: string; id: string; title: string }) => string;
  /** Replays a run in the page that shows it live, and puts the controls into `place`. */
  type ShowReplay = <Response extends LiveResponse>(options: ReplayOptions<Response>) => Player;
  /** How many items are played at a moment. */
  type CountAt = (at: number[], ms: number) => number;
  /** Puts an item at the end of the conversation. */
  type PlaceItem = (item: HTMLElement) => void;
  type View = () => Promise<Node | string>;
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
  /** A group of one call is the call itself. */
  type MakeToolGroup = (first: HTMLElement, startMs?: number) => ToolGroup;
  type AddNotice = (level: string, message: string) => void;
  type StartBlock = (blockType: BlockType, response: LiveResponse, parent?: MessageBlock) => MessageBlock;
  type AppendToBlock = (blockType: BlockType, response: DeltaResponse) => void;
  type CompleteBlock = (blockType: BlockType, response: Callback<"onEndReasoning" | "onEndMessage">) => void;
  type OpenSessionView = (
    sessionId: string,
    /** Says that nothing is left to do on the page. */
    showOver: (title: string, text: string, back?: string) => void,
  ) => void;
  type Wish = (route: string, body: object, label: HTMLElement) => void;
  type AgentControls = (
    sessionId: string,
    setCommands: (commands: readonly AgentCommand[]) => void,
  ) => { show: OnResponse; know: (state: unknown) => void };
  type CompleteRequest = (prompt: HTMLTextAreaElement, known: KnownNames) => void;
  type FindCompletions = (sign: string | undefined, name: string) => Promise<Completion[]>;
  type OpenDrawer = (
    /** That of the session in the API. */
    path: string,
    /** The responses that the log begins with. */
    recent: LiveResponse[],
  ) => { toggle: (tab: string) => Promise<void>; show: OnResponse };
  type SessionMenu = (
    /** That of the session in the API. */
    path: string,
    page: { showOver: (title: string, text: string) => void; showError: (error: unknown) => void },
  ) => { show: (title: string) => void; get: () => string };
  /** The arguments by name; empty when they are not a JSON object. */
  type ParseArguments = (toolArguments: unknown) => ArgumentValues;
  type ToolTitle = (toolName: string, toolArguments: unknown) => string;
  /** The text is made when it is opened. */
  type Folded = (summary: string, text: () => string) => HTMLElement;
  type Terminal = (command: string, output: string, exitCode: number | undefined) => HTMLElement;
  /** The part that best shows what the call did. */
  type MainPart = (call: ToolCall, values: ArgumentValues) => Content;
  /** The path is that of the session in the API. */
  /** The button, the place of what became of it, and how to say more there. */
  type UndoParts = (
    /** The address of the undo in the API. */
    path: string,
    what: object,
    properties?: Properties,
  ) => { undo: HTMLElement; outcome: HTMLElement; say: (...words: HTMLElement[]) => void };
  type TurnLine = (path: string, totals: TurnTotals) => HTMLElement;
  type FileItem = (query: string, change: FileChange) => HTMLElement;
  type FocusCards = (log: HTMLElement, prompt: HTMLTextAreaElement) => void;
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
  type ActOnProgram = (
    control: HTMLElement,
    /** Returns what it did, in words. */
    action: () => Promise<string>,
  ) => Promise<void>;
  type ShowProgram = (agent: Answer) => void;
  type RunItem = (
    run: Answer,
    words: {
      href: string;
      /** Its first line is shown. */
      text: string;
      /** Said after the time; what is empty is left out. */
      about: unknown[];
    },
    control?: Content,
  ) => HTMLElement;
  type OnResponse = (response: LiveResponse) => void;
  /** Called with a task that changes, or that gets a tab. */
  type OnWork = (workId: number) => void;
  type AddRun = (work: Callback<"workWaiting" | "workStarted">, status: ShownStatus) => void;
  type DecideRun = (run: Run, decision: Callback<"taskDecision">, taskId: string) => void;
  type StartRunSession = (run: Run, event: Callback<"taskSessionStarted">) => void;
  type KeepEvent = (key: string, event: JobEvent) => void;
  /** The answer is the value of the button that closed the dialog. */
  type OpenDialog = (
    label: string,
    ...children: Node[]
  ) => { dialog: HTMLDialogElement; answer: Promise<unknown> };
  /** Asks once before an action that cannot be undone. The action is the label of its button. */
  type Ask = (question: string, action: string) => Promise<boolean>;
  /** The question above its parts, and below them Cancel and the action. */
  type OpenQuestion = (
    question: string,
    action: string,
    /** The class of the button. */
    look: string,
    ...parts: HTMLElement[]
  ) => Promise<boolean>;
  /** Sets the size `--part-size` of the part behind the bar. The id is that of the bar. */
  type MakeSplitter = (id: string, initialPx?: number) => void;
  /** The time from the first start to the last end. */
  type SpanOf = (runs: Run[], now: number) => { start: number; wholeMs: number };
  type LayOutBars = (runs: Run[], now: number) => TimelineBar[];
  type ShowTimeline = (
    place: HTMLElement,
    runs: Run[],
    options: TaskNames & { now: number; isSelected: (run: Run) => boolean },
  ) => void;
  type LogOf = (
    state: Pick<jobState.JobState, "allRuns" | "startTime" | "endTime" | "status" | "reason" | "error">,
  ) => LogLine[];
  type ShowLog = (place: HTMLElement, state: jobState.JobState, names: TaskNames) => void;
  type AddUsage = (sum: Required<UsedTokens>, more: UsedTokens) => Required<UsedTokens>;
  /** Nothing, to follow the job again. */
  type Choose = (wish?: ChosenWork, isSummary?: boolean) => void;
  type RowsOf = (rows: Content[][]) => HTMLElement[];
  type CommandLine = (when: string, command: CheckCommand) => HTMLElement;
  /** Something else than a run. */
  type ShowInstead = (title: string, content: Content) => void;
  type ShowRun = (
    run: Run,
    options: {
      title: string;
      status: string;
      rounds: Run[];
      tabName: string | undefined;
      /** That of the job in the API. */
      path: string;
      choose: ChooseRun;
    },
  ) => void;
  type LinkTo = (words: string, id: string) => HTMLElement | "";
  type ShowTab = (run: Run, tab: TabLog, path: string) => void;
  type ShowChanges = (div: HTMLElement, run: Run, path: string) => Promise<void>;
  type ShowTabs = (run: Run, shown: TabLog, choose: ChooseRun) => void;
  /** Loads an earlier page; it has `more` when there are still earlier ones. */
  type LoadEarlier = () => Promise<{ responses: LiveResponse[]; more: boolean }>;
  /** Adds something to a shown line of a diff. */
  type DressLine = (row: HTMLElement, line: DiffLine) => void;
  type SendAnswer = (body: Record<string, unknown>) => void;
  /** The responses of several logs in the order in which they were written; each log stays in its own order. */
  type ReplayInOrder = (items: ReplayItem[]) => ReplayItem[];
  /** Items without a time come with the one before them. */
  type ScheduleOf = (
    /** In order. */
    times: (number | undefined)[],
  ) => { at: number[]; durationMs: number; isTimed: boolean };
  /** Where a request can be seen: in its job, at its task; a task by itself has no page. */
  type RequestAddress = (request: OpenRequest) => string | undefined;
  /** A line above the page; on the start page, a part of the list. */
  /** Asks first. What comes before is done when the answer is yes. */
  type StopServer = (control: HTMLElement, before?: () => Promise<unknown>) => Promise<void>;
  /** In the top line, if nowhere else. */
  type PlaceInbox = (place?: HTMLElement) => void;
  /** Says that nothing is left to do on this page. */
  type ShowOver = (title: string, text: string, back?: string) => void;
  /** In the agent's order, but with the options of the model together. */
  type OptionsInOrder = (options: readonly SessionOption[]) => SessionOption[];
  /** What the agent has said so far, as responses of the log. */
  type AsResponses = (state: Answer) => LiveResponse[];
  /** A menu closes when something is chosen, a click goes elsewhere, or by Escape. */
  type CloseMenus = (target?: unknown) => void;
  /** Now, and again as long as the page can be seen. */
  type Repeat = (action: () => unknown, everyMs: number) => void;
  /** The options of a select; those of a group come under its name. */
  type OptionsOf = (choices: Choice[]) => HTMLElement[];
  /** The final look of a shell's output in a terminal, and its exit code, if any. */
  /** What to remember of any answer, when no button does that already. */
  type RememberChoice = (request: PermissionRequest) => HTMLSelectElement | undefined;
  /** Why there is no *Always*, if there is none. */
  type NoAlways = (request: PermissionRequest) => HTMLElement | undefined;
  /** The time counts from the moment when the card is visible. */
  type OnCard = (card: Element) => void;
  /** The card is settled; the remaining ones may have moved to its place. */
  type ForgetCard = OnCard;
  /** A moment that stays as it is on the page: `14:05`, on another day `3 Mar, 14:05`. */
  type FormatTime = (time: Date, now?: Date) => string;
  /** Runs the task in the next frame; a task with more to do requests another. */
  type NextFrame = (task: () => void) => void;
  /** The function that shows an error at this place, or clears it. */
  type ErrorAt = (where: string | HTMLElement) => (error?: unknown) => void;
  /** Shows what is there now, and again after each change. */
  type OnOverview = (show: (overview: Overview) => void) => void;
  /** Leaves out unchanged lines far from any change. */
  type WithoutSame = (lines: DiffLine[]) => DiffLine[];
  /** The number of the task in the job, for nodes that represent a task. */
  type WorkIdOf = (hint: ChartHint) => number | undefined;
  /** The id of the block or the request that a response is about. */
  type IdOf = (response: LiveResponse) => string;
  /** The folders of earlier sessions, newest first. */
  type RecentFolders = (...used: string[]) => string[];
  /** A moment relative to now: `just now`, `5 min ago`, `14:05`, `3 Mar, 14:05`. */
  type ShortTime = (time: Date, now?: Date) => string;
  /** Empty when nothing is known. */
  type FormatUsage = (usage: UsedTokens | undefined | null) => string;
  /** `3 jobs, 1 session and 2 runs`; empty when there is nothing. */
  type RemovedIn = (amounts: StoredAmounts) => string;
  /** `12:05:01.123 ← session/update agent_message_chunk`. */
  type TitleOf = (entry: Answer) => string;
  /** Each error of a start is shown at the field that caused it. */
  type ShowStartError = (error?: unknown) => void;
  /** The state of a settled card, and the words for it. */
  type Settlement = (card: HTMLElement, resolved: CardOutcome) => { state: string; words: unknown[] };
  /** Which of the three groups it belongs to. */
  type GroupOf = (item: HistoryItem) => number;
  /** Follows the new job. */
  type StartAgain = (way: string, whenStarted?: () => unknown) => Promise<void>;
  /** A place in a session, or the task of a job. */
  type PlaceOfHit = (hit: SearchHit) => string | undefined;
  /** Hands out events, those of a log in one message. */
  type HandOut = (events: Words[]) => void;
  /** A copy has the original text, not the shown one. */
  type CopyOriginal = (event: ClipboardEvent) => void;
}
