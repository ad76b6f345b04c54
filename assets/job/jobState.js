// What is known of a running job, made from the events of its log and of all logs below it. No DOM, no network.
import { parseArguments } from "../session/toolCall.js";

/** @typedef {"Waiting" | "Running" | "Succeeded" | "Failed" | "Canceled" | "Paused"} Status */
/** @typedef {{source: "job" | "task" | "session", id: string, callback?: string, [argument: string]: any}} JobEvent */
/** @typedef {import("../sessionResponse.js").SessionResponse} SessionResponse */

/** Names of what identifies a block; two sessions may use the same ones. */
const idNames = ["reasoningId", "messageId", "toolCallId", "parentToolCallId"];
const endPattern = /^onEnd(Reasoning|Message|ToolExecution)$/;
const deltaPattern = /^on(Reasoning|Message|ToolExecution)$/;
/** What gets a place of its own in the conversation. */
const placedPattern = /^(onStart|onUserRequest|onGeneratedUserPrompt|onNotice|taskDecision|$)/;
const retryPattern = /^\[OPERATION\] Retry (\d+) of (\d+)/;
const verdictPattern = /^\[(?:CRITERIA|AVAILABILITY|TASK SUCCEEDED|TASK FAILED)\] (.*)/s;

/** @typedef {{time: number, owner: string, responses: SessionResponse[]}} Part */

/**
 * What one tab shows: rounds of sessions and decisions, in the order of their times, however the logs arrive.
 * Kept as few responses as they can be, so that an unseen tab costs little.
 */
export class TabLog {
  /** @type {Part[]} */
  #parts = [];
  /** The part of a session that its responses belong to. @type {Map<string, Part>} */
  #current = new Map();
  /** The one delta that stands for all deltas of an open block. @type {Map<string, SessionResponse>} */
  #deltas = new Map();
  /** Called with each response that comes, while somebody looks. @type {((response: SessionResponse) => void) | undefined} */
  onResponse;
  /** Called when something came that belongs before what was shown. @type {(() => void) | undefined} */
  onReorder;

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  get responses() {
    return this.#parts.flatMap(part => part.responses);
  }

  /** @param {SessionResponse} response @param {string} owner the session that it comes from, or the task */
  add(response, owner) {
    const isInOrder = this.#put(response, owner);
    if (isInOrder) this.onResponse?.(response);
    else this.onReorder?.();
  }

  /** @param {SessionResponse} response @param {string} owner */
  #put(response, owner) {
    const callback = response.callback ?? "";
    const key = `${callback.replace(/^onEnd/, "on")}-${response.reasoningId ?? response.messageId ?? response.toolCallId}`;
    const earlier = this.#deltas.get(key);
    if (deltaPattern.test(callback) && earlier) {
      earlier.delta += response.delta;
      return true;
    }
    const part = this.#partOf(response, owner);
    if (deltaPattern.test(callback)) {
      const first = { ...response };
      this.#deltas.set(key, first);
      part.responses.push(first);
      return true;
    }
    if (endPattern.test(callback)) {
      // The end of a tool call does not repeat what came while it ran.
      if (earlier && callback !== "onEndToolExecution") earlier.delta = "";
      this.#deltas.delete(key);
    }
    part.responses.push(response);
    return part === this.#parts.at(-1) || !placedPattern.test(callback);
  }

  /** What has a time begins a part. @param {SessionResponse} response @param {string} owner */
  #partOf({ time }, owner) {
    const current = this.#current.get(owner);
    if (typeof time !== "number" && current) return current;
    /** @type {Part} */
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

  /** @param {Record<string, any>} more */
  add(more) {
    for (const name of /** @type {(keyof Usage)[]} */ (Object.keys(this)))
      Object.assign(this, { [name]: this[name] + (more[name] ?? 0) });
  }
}

/** One run of a task of the job. */
export class Run {
  /** @type {Status} */
  status = "Running";
  /** @type {number | undefined} */
  endTime;
  attempt = 1;
  /** How many attempts there may be, as far as it is known. @type {number | undefined} */
  attempts;
  verdict = "";
  usage = new Usage();
  driving = new TabLog("Driving");
  /** @type {TabLog[]} */
  sessions = [];

  /** @param {number} workId @param {string} taskId @param {number} startTime */
  constructor(workId, taskId, startTime) {
    this.workId = workId;
    this.taskId = taskId;
    this.startTime = startTime;
  }

  get tabs() {
    return [this.driving, ...this.sessions];
  }

  get isOver() {
    return this.status !== "Running" && this.status !== "Waiting";
  }
}

/** Tells `job` when the job's status changes, `work` with the number of a task that changes, `tabs` when one gets a tab. */
export class JobState extends EventTarget {
  /** @type {Status} */
  status = "Running";
  error = "";
  /** @type {string[]} */
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
  /** What came before it was known whose it is. @type {Map<string, JobEvent[]>} */
  #early = new Map();

  get isOver() {
    return this.status === "Succeeded" || this.status === "Failed" || this.status === "Canceled";
  }

  /** @param {JobEvent} event */
  apply(event) {
    const time = typeof event.time === "number" ? event.time : Date.now();
    if (event.source === "job") this.#applyJob(event, time);
    else if (event.source === "task") this.#applyTask(event);
    else this.#applySession(event);
  }

  /** @param {Status} status */
  setStatus(status) {
    if (this.status === status) return;
    this.status = status;
    this.#tell("job");
  }

  /** @param {JobEvent} event @param {number} time */
  #applyJob(event, time) {
    this.startTime ??= time;
    if (event.jobError) this.error = String(event.jobError);
    const { callback = "" } = event;
    const end = /^job(Succeeded|Failed|Canceled)$/.exec(callback)?.[1] ?? (event.jobError && "Failed");
    if (callback === "workWaiting") this.#addRun(event, "Waiting", time);
    else if (callback === "workStarted") this.#startWork(event, time);
    else if (callback === "workStopped") this.#stopWork(Number(event.workId), event.succeeded === true, time);
    else if (callback === "jobPaused") this.setStatus("Paused");
    else if (callback === "jobContinued") this.setStatus("Running");
    else if (callback === "onNotice") this.#notice(String(event.title));
    else if (end) this.#end(end, time);
  }

  /** @param {string} message */
  #notice(message) {
    if (this.notices.includes(message)) return;
    this.notices.push(message);
    this.#tell("job");
  }

  /** @param {JobEvent} event @param {Status} status @param {number} time */
  #addRun(event, status, time) {
    const run = new Run(Number(event.workId), String(event.taskId), time);
    run.status = status;
    this.runs.set(run.workId, run);
    this.allRuns.push(run);
    this.#tasks.set(run.taskId, run);
    this.#tell("work", run.workId);
    this.#tell("tabs", run.workId);
  }

  /** @param {JobEvent} event @param {number} time */
  #startWork(event, time) {
    const waiting = this.#tasks.get(String(event.taskId));
    if (waiting) {
      waiting.status = "Running";
      waiting.startTime = time;
      this.#tell("work", waiting.workId);
    } else this.#addRun(event, "Running", time);
    this.#replay(`task ${event.taskId}`);
  }

  /** @param {number} workId @param {boolean} succeeded @param {number} time */
  #stopWork(workId, succeeded, time) {
    const run = this.runs.get(workId);
    if (!run) return;
    run.status = succeeded ? "Succeeded" : "Failed";
    run.endTime = time;
    this.#tell("work", workId);
  }

  /** @param {Status} status @param {number} time */
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
    if (event.callback === "taskDecision") this.#decide(run, event);
    else if (event.callback === "taskSessionStarted") this.#startSession(run, event);
    else if (event.taskError)
      run.driving.add({ sessionError: String(event.taskError), time: event.time }, event.id);
    this.#tell("work", run.workId);
  }

  /** @param {Run} run @param {JobEvent} event */
  #decide(run, event) {
    const reason = String(event.reason);
    const retry = retryPattern.exec(reason);
    if (retry) {
      run.attempt = Number(retry[1]) + 1;
      run.attempts = Number(retry[2]) + 1;
    }
    run.verdict = verdictPattern.exec(reason)?.[1] ?? run.verdict;
    run.driving.add({ callback: "taskDecision", reason, time: event.time }, event.id);
  }

  /** @param {Run} run @param {JobEvent} event */
  #startSession(run, event) {
    const sessionId = String(event.sessionId);
    const isDriving = event.isDriving === true;
    const tab = isDriving ? run.driving : new TabLog(`Attempt #${run.sessions.length + 1}`);
    if (!isDriving) run.sessions.push(tab);
    this.#sessions.set(sessionId, { run, tab, isDriving });
    this.#tell("tabs", run.workId);
    this.#replay(`session ${sessionId}`);
  }

  /** @param {JobEvent} event */
  #applySession({ source: _source, id, n: _n, ...response }) {
    const known = this.#sessions.get(id);
    if (!known) return this.#keep(`session ${id}`, { source: "session", id, ...response });
    const { run, tab, isDriving } = known;
    if (isDriving)
      for (const name of idNames) if (name in response) response[name] = `${id}/${response[name]}`;
    tab.add(response, id);
    if (response.callback === "onUsage" && response.used === undefined) run.usage.add(response);
    if (response.callback === "onStartToolExecution") this.#noteFile(response);
  }

  /** @param {SessionResponse} call */
  #noteFile({ toolName, toolArguments, kind, locations = [] }) {
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
