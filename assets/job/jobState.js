// The state of a running job, built from the events of its log and of all logs below it. No DOM, no network.
import { parseArguments } from "../session/toolCall.js";

/** The fields that identify a block; two sessions may use the same ids. */
const idNames = ["reasoningId", "messageId", "toolCallId", "parentToolCallId"];
/** Responses with a place of their own in the conversation. */
const placedPattern = /^(onStart|onUserRequest|onGeneratedUserPrompt|onNotice|taskDecision|$)/;
const commandPattern = /^on(Start|End)?(ToolExecution|Permission(Request|Resolved))$/;
const retryPattern = /^\[OPERATION\] Retry (\d+) of (\d+)/;
const verdictPattern = /^\[(?:CRITERIA|AVAILABILITY|TASK SUCCEEDED|TASK FAILED)\] (.*)/s;

/** @param {LiveResponse} response @returns {response is DeltaResponse} */
const isDelta = response =>
  response.callback === "onReasoning" ||
  response.callback === "onMessage" ||
  response.callback === "onToolExecution";

/** The block whose text a response extends or ends; undefined for other responses. @param {LiveResponse} response */
function blockOf(response) {
  switch (response.callback) {
    case "onReasoning":
    case "onEndReasoning":
      return `reasoning ${response.reasoningId}`;
    case "onMessage":
    case "onEndMessage":
      return `message ${response.messageId}`;
    case "onToolExecution":
    case "onEndToolExecution":
      return `tool ${response.toolCallId}`;
    default:
      return undefined;
  }
}

/**
 * What one tab shows: rounds of sessions and decisions, ordered by time, however the logs arrive.
 * Keeps as few responses as possible, so that a hidden tab costs little.
 */
export class TabLog {
  /** @type {TabPart[]} */
  #parts = [];
  /** The part that a session's responses belong to. @type {Map<string, TabPart>} */
  #current = new Map();
  /** The one delta that represents all deltas of an open block. @type {Map<string, DeltaResponse>} */
  #deltas = new Map();
  /** Called with each new response while the tab is shown. @type {((response: LiveResponse) => void) | undefined} */
  onResponse;
  /** Called when a response arrives that belongs before those already shown. @type {(() => void) | undefined} */
  onReorder;

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  get responses() {
    return this.#parts.flatMap(part => part.responses);
  }

  /**
   * @param {LiveResponse} response
   * @param {string} owner the session that it comes from, or the task
   * @param {boolean} beginsPart it has a place of its own in time, and what follows from its owner comes after it
   */
  add(response, owner, beginsPart) {
    const isInOrder = this.#put(response, owner, beginsPart);
    if (isInOrder) this.onResponse?.(response);
    else this.onReorder?.();
  }

  /** @param {LiveResponse} response @param {string} owner @param {boolean} beginsPart */
  #put(response, owner, beginsPart) {
    const block = blockOf(response);
    const earlier = block === undefined ? undefined : this.#deltas.get(block);
    if (isDelta(response) && earlier) {
      earlier.delta += response.delta;
      return true;
    }
    const part = this.#partOf(response, owner, beginsPart);
    if (isDelta(response) && block !== undefined) {
      const first = { ...response };
      this.#deltas.set(block, first);
      part.responses.push(first);
      return true;
    }
    if (block !== undefined) {
      // The end of a tool call does not repeat the output of the running call.
      if (earlier && response.callback !== "onEndToolExecution") earlier.delta = "";
      this.#deltas.delete(block);
    }
    part.responses.push(response);
    return part === this.#parts.at(-1) || !placedPattern.test(response.callback ?? "");
  }

  /** @param {LiveResponse} response @param {string} owner @param {boolean} beginsPart */
  #partOf({ time }, owner, beginsPart) {
    const current = this.#current.get(owner);
    if (current && (!beginsPart || time === undefined)) return current;
    /** @type {TabPart} */
    const part = { time: time ?? this.#parts.at(-1)?.time ?? 0, owner, responses: [] };
    const later = this.#parts.findIndex(other => other.time > part.time);
    this.#parts.splice(later < 0 ? this.#parts.length : later, 0, part);
    this.#current.set(owner, part);
    return part;
  }
}

export class Usage {
  inputTokens = 0;
  outputTokens = 0;
  premiumRequests = 0;
  cost = 0;

  /** @param {Partial<Pick<Usage, "inputTokens" | "outputTokens" | "premiumRequests" | "cost">>} more */
  add({ inputTokens = 0, outputTokens = 0, premiumRequests = 0, cost = 0 }) {
    this.inputTokens += inputTokens;
    this.outputTokens += outputTokens;
    this.premiumRequests += premiumRequests;
    this.cost += cost;
  }
}

/** One run of a task of the job. */
export class Run {
  /** @type {WorkStatus} */
  status = "Running";
  /** @type {number | undefined} */
  endTime;
  attempt = 1;
  /** The maximum number of attempts, if it is known. @type {number | undefined} */
  attempts;
  verdict = "";
  /** What is known about each attempt that has ended. @type {Evidence[]} */
  evidence = [];
  usage = new Usage();
  driving = new TabLog("Driving");
  /** @type {TabLog[]} */
  sessions = [];
  /** The page fills it. */
  changes = new TabLog("Changes");

  /** @param {number} workId @param {string} taskId @param {number} startTime */
  constructor(workId, taskId, startTime) {
    this.workId = workId;
    this.taskId = taskId;
    this.startTime = startTime;
  }

  get tabs() {
    return [this.driving, ...this.sessions, this.changes];
  }

  get isOver() {
    return this.status !== "Running" && this.status !== "Waiting";
  }
}

/** Fires `job` when the job's status changes, `work` with the number of a task that changes, `tabs` when one gets a tab. */
export class JobState extends EventTarget {
  /** @type {WorkStatus} */
  status = "Running";
  error = "";
  /** Why the job failed, in one line. */
  reason = "";
  /** @type {Callback<"onNotice">[]} */
  notices = [];
  /** @type {number | undefined} */
  startTime;
  /** @type {number | undefined} */
  endTime;
  /** The newest run of each task. @type {Map<number, Run>} */
  runs = new Map();
  /** Every run, for the time line. @type {Run[]} */
  allRuns = [];
  /** @type {Set<string>} */
  changedFiles = new Set();
  /** @type {Map<string, Run>} */
  #tasks = new Map();
  /** @type {Map<string, {run: Run, tab: TabLog, isDriving: boolean}>} */
  #sessions = new Map();
  /** Events that arrived before their task or session was known. @type {Map<string, JobEvent[]>} */
  #early = new Map();

  /** The present of the run: a replay is in the past. */
  now = () => Date.now();

  /** Forgets everything: the run begins again. */
  reset() {
    this.status = "Running";
    this.error = "";
    this.notices = [];
    this.startTime = undefined;
    this.endTime = undefined;
    this.allRuns = [];
    for (const known of [this.runs, this.changedFiles, this.#tasks, this.#sessions, this.#early])
      known.clear();
  }

  get isOver() {
    return this.status === "Succeeded" || this.status === "Failed" || this.status === "Canceled";
  }

  /** @param {JobEvent} event */
  apply(event) {
    const { time = this.now() } = event;
    if (event.source === "job") this.#applyJob(event, time);
    else if (event.source === "task") this.#applyTask(event);
    else this.#applySession(event);
  }

  /** @param {WorkStatus} status */
  setStatus(status) {
    if (this.status === status) return;
    this.status = status;
    this.#tell("job");
  }

  /** @param {JobEvent} event @param {number} time */
  #applyJob(event, time) {
    this.startTime ??= time;
    if ("jobError" in event) {
      this.error = event.jobError;
      return this.#end("Failed", time);
    }
    switch (event.callback) {
      case "workWaiting":
        return this.#addRun(event, "Waiting", time);
      case "workStarted":
        return this.#startWork(event, time);
      case "workStopped":
        return this.#stopWork(event, time);
      case "jobPaused":
        return this.setStatus("Paused");
      case "jobContinued":
        return this.setStatus("Running");
      case "onNotice":
        return this.#notice(event);
      case "jobSucceeded":
        return this.#end("Succeeded", time);
      case "jobFailed":
        this.reason = event.reason ?? "";
        return this.#end("Failed", time);
      case "jobCanceled":
        return this.#end("Canceled", time);
      default:
        return undefined;
    }
  }

  /** @param {Callback<"onNotice">} notice */
  #notice(notice) {
    if (this.notices.some(({ title }) => title === notice.title)) return;
    this.notices.push(notice);
    this.#tell("job");
  }

  /** @param {Callback<"workWaiting" | "workStarted">} event @param {WorkStatus} status @param {number} time */
  #addRun({ workId, taskId }, status, time) {
    const run = new Run(workId, taskId, time);
    run.status = status;
    this.runs.set(run.workId, run);
    this.allRuns.push(run);
    this.#tasks.set(run.taskId, run);
    this.#tell("work", run.workId);
    this.#tell("tabs", run.workId);
  }

  /** @param {Callback<"workStarted">} event @param {number} time */
  #startWork(event, time) {
    const waiting = this.#tasks.get(event.taskId);
    if (waiting) {
      waiting.status = "Running";
      waiting.startTime = time;
      this.#tell("work", waiting.workId);
    } else this.#addRun(event, "Running", time);
    this.#replay(`task ${event.taskId}`);
  }

  /** @param {Callback<"workStopped">} event @param {number} time */
  #stopWork({ workId, succeeded, reason }, time) {
    const run = this.runs.get(workId);
    if (!run) return;
    run.status = succeeded ? "Succeeded" : "Failed";
    if (reason !== undefined) run.verdict = `Failed: ${reason}`;
    run.endTime = time;
    this.#tell("work", workId);
  }

  /** @param {WorkStatus} status @param {number} time */
  #end(status, time) {
    this.endTime = time;
    for (const run of this.runs.values()) {
      if (run.isOver) continue;
      run.status = "Canceled";
      run.endTime = time;
      this.#tell("work", run.workId);
    }
    this.setStatus(status);
  }

  /** @param {JobEvent} event */
  #applyTask(event) {
    const run = this.#tasks.get(event.id);
    if (!run) return this.#keep(`task ${event.id}`, event);
    if (event.callback === "taskDecision") this.#decide(run, event, event.id);
    else if (event.callback === "taskSessionStarted") this.#startSession(run, event);
    else if (event.callback === "taskAttemptEnded") {
      run.evidence.push(event);
      this.#tell("tabs", run.workId);
    } else if ("taskError" in event)
      run.driving.add({ sessionError: event.taskError, time: event.time }, event.id, true);
    else if (commandPattern.test(event.callback ?? "")) this.#addCommand(run, event);
    this.#tell("work", run.workId);
  }

  /** @param {Run} run @param {Callback<"taskDecision">} decision @param {string} taskId */
  #decide(run, { reason, time }, taskId) {
    const retry = retryPattern.exec(reason);
    if (retry) {
      run.attempt = Number(retry[1]) + 1;
      run.attempts = Number(retry[2]) + 1;
    }
    run.verdict = verdictPattern.exec(reason)?.[1] ?? run.verdict;
    run.driving.add({ callback: "taskDecision", reason, time }, taskId, true);
  }

  /** The output of a command that checks the task stands among the decisions. @param {Run} run @param {JobEvent} event */
  #addCommand(run, event) {
    const { source: _source, id, n: _n, ...response } = event;
    run.driving.add(response, id, false);
  }

  /** @param {Run} run @param {Callback<"taskSessionStarted">} event */
  #startSession(run, { sessionId, isDriving }) {
    const tab = isDriving ? run.driving : new TabLog(`Attempt #${run.sessions.length + 1}`);
    if (!isDriving) run.sessions.push(tab);
    this.#sessions.set(sessionId, { run, tab, isDriving });
    this.#tell("tabs", run.workId);
    this.#replay(`session ${sessionId}`);
  }

  /** @param {JobEvent} event */
  #applySession(event) {
    const { source: _source, id, n: _n, ...response } = event;
    const known = this.#sessions.get(id);
    if (!known) return this.#keep(`session ${id}`, event);
    const { run, tab, isDriving } = known;
    const names = isDriving ? idNames.filter(name => name in response) : [];
    const ids = Object.fromEntries(names.map(name => [name, `${id}/${Reflect.get(response, name)}`]));
    tab.add({ ...response, ...ids }, id, response.callback === "onGeneratedUserPrompt");
    if (response.callback === "onUsage" && !("used" in response)) run.usage.add(response);
    if (response.callback === "onStartToolExecution") this.#noteFile(response);
  }

  /** @param {Callback<"onStartToolExecution">} call */
  #noteFile({ toolName, toolArguments, kind = "", locations = [] }) {
    const isEdit = toolName === "edit" || toolName === "create";
    const files = /^(edit|delete|move)$/.test(kind)
      ? locations
      : isEdit
        ? [parseArguments(toolArguments)]
        : [];
    for (const { path } of files) if (typeof path === "string") this.changedFiles.add(path);
  }

  /** @param {string} key @param {JobEvent} event */
  #keep(key, event) {
    const kept = this.#early.get(key);
    if (kept) kept.push(event);
    else this.#early.set(key, [event]);
  }

  /** @param {string} key */
  #replay(key) {
    const kept = this.#early.get(key) ?? [];
    this.#early.delete(key);
    for (const event of kept) this.apply(event);
  }

  /** @param {string} name @param {number} [workId] */
  #tell(name, workId) {
    this.dispatchEvent(new CustomEvent(name, { detail: workId }));
  }
}
