// What is known of a running job, made from the events of its log and of all logs below it. No DOM, no network.

/** @typedef {"Waiting" | "Running" | "Succeeded" | "Failed" | "Canceled" | "Paused"} Status */
/** @typedef {{source: "job" | "task" | "session", id: string, callback?: string, [argument: string]: any}} JobEvent */
/** @typedef {import("./sessionResponse.js").SessionResponse} SessionResponse */

/** Names of what identifies a block; two sessions may use the same ones. */
const idNames = ["reasoningId", "messageId", "toolCallId", "parentToolCallId"];
const endPattern = /^onEnd(Reasoning|Message|ToolExecution)$/;
const deltaPattern = /^on(Reasoning|Message|ToolExecution)$/;
const retryPattern = /^\[OPERATION\] Retry (\d+) of (\d+)/;
const verdictPattern = /^\[(?:CRITERIA|AVAILABILITY|TASK SUCCEEDED|TASK FAILED)\] (.*)/s;

/** The blocks of one tab: kept as few responses as they can be, so that an unseen tab costs little. */
export class TabLog {
  /** @type {SessionResponse[]} */
  responses = [];
  /** Called with each response that comes, while somebody looks. @type {((response: SessionResponse) => void) | undefined} */
  onResponse;
  /** The one delta that stands for all deltas of an open block. @type {Map<string, SessionResponse>} */
  #deltas = new Map();

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /** @param {SessionResponse} response */
  add(response) {
    const callback = response.callback ?? "";
    const key = `${callback.replace(/^onEnd/, "on")}-${response.reasoningId ?? response.messageId ?? response.toolCallId}`;
    const earlier = this.#deltas.get(key);
    if (endPattern.test(callback)) {
      if (earlier && callback !== "onEndToolExecution") earlier.delta = "";
      this.#deltas.delete(key);
      this.responses.push(response);
    } else if (deltaPattern.test(callback)) {
      if (earlier) earlier.delta += response.delta;
      else {
        const first = { ...response };
        this.#deltas.set(key, first);
        this.responses.push(first);
      }
    } else this.responses.push(response);
    this.onResponse?.(response);
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
  inputTokens = 0;
  outputTokens = 0;
  premiumRequests = 0;
  cost = 0;
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
    if (event.callback === "workStarted") this.#startWork(Number(event.workId), String(event.taskId), time);
    else if (event.callback === "workStopped")
      this.#stopWork(Number(event.workId), event.succeeded === true, time);
    else if (event.callback === "jobSucceeded") this.#end("Succeeded", time);
    else if (event.callback === "jobFailed") this.#end("Failed", time);
    else if (event.callback === "jobCanceled") this.#end("Canceled", time);
    else if (event.jobError) this.#end("Failed", time);
  }

  /** @param {number} workId @param {string} taskId @param {number} time */
  #startWork(workId, taskId, time) {
    const run = new Run(workId, taskId, time);
    this.runs.set(workId, run);
    this.allRuns.push(run);
    this.#tasks.set(taskId, run);
    this.#tell("work", workId);
    this.#tell("tabs", workId);
    this.#replay(`task ${taskId}`);
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
    if (event.callback === "taskDecision") this.#decide(run, String(event.reason));
    else if (event.callback === "taskSessionStarted") this.#startSession(run, event);
    else if (event.taskError) run.driving.add({ sessionError: String(event.taskError) });
    this.#tell("work", run.workId);
  }

  /** @param {Run} run @param {string} reason */
  #decide(run, reason) {
    const retry = retryPattern.exec(reason);
    if (retry) {
      run.attempt = Number(retry[1]) + 1;
      run.attempts = Number(retry[2]) + 1;
    }
    run.verdict = verdictPattern.exec(reason)?.[1] ?? run.verdict;
    run.driving.add({ callback: "taskDecision", reason });
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
    tab.add(response);
    if (response.callback === "onUsage") this.#addUsage(run, response);
    if (response.callback === "onStartToolExecution") this.#noteFile(response);
  }

  /** @param {Run} run @param {SessionResponse} usage */
  #addUsage(run, usage) {
    run.inputTokens += usage.inputTokens ?? 0;
    run.outputTokens += usage.outputTokens ?? 0;
    run.premiumRequests += usage.premiumRequests ?? 0;
    run.cost += usage.cost ?? 0;
  }

  /** @param {SessionResponse} call */
  #noteFile({ toolName, toolArguments }) {
    if (toolName !== "edit" && toolName !== "create") return;
    try {
      const { path } = JSON.parse(String(toolArguments));
      if (typeof path === "string") this.changedFiles.add(path);
    } catch {
      // Arguments that are no JSON name no file.
    }
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
