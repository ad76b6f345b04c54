// The state of a job, from the events of its log and of all logs below it. No DOM, no network.
import { handle, idOf } from "../lib/callbacks.js";

// The fields that identify a block; two sessions may use the same ids.
const idNames = ["reasoningId", "messageId", "toolCallId", "parentToolCallId"];
// Responses with a place of their own in the conversation.
const placedPattern = /^(onStart|onUserRequest|onGeneratedUserPrompt|onNotice|taskDecision|$)/;
const blockPattern = /^on(?:End)?(Reasoning|Message|ToolExecution)$/;
const commandPattern = /^on(Start|End)?(ToolExecution|Permission(Request|Resolved))$/;
const askPattern = /^on(Permission|Question)(Request|Resolved)?$/;
const retryPattern = /^\[OPERATION\] Retry (\d+) of (\d+)/;
const verdictPattern = /^\[(?:CRITERIA|AVAILABILITY|TASK SUCCEEDED|TASK FAILED)\] (.*)/s;

/** @param {LiveResponse} response */
function blockOf(response) {
	const [, kind] = blockPattern.exec(response.callback ?? "") ?? [];
	return kind && `${kind} ${idOf(response)}`;
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
	/** While the tab is shown. @type {OnResponse | undefined} */
	onResponse;
	/** When a response belongs before those already shown. @type {(() => void) | undefined} */
	onReorder;

	constructor(name = "", label = name) {
		this.name = name;
		this.label = label;
	}

	get responses() {
		return this.#parts.flatMap(part => part.responses);
	}

	/** @type {AddToTab<void>} */
	add(response, owner, beginsPart) {
		(this.#put(response, owner, beginsPart) ? this.onResponse : this.onReorder)?.(response);
	}

	/** False when it belongs before those already shown. @type {AddToTab<boolean>} */
	#put(response, owner, beginsPart) {
		const block = blockOf(response) ?? "";
		const earlier = this.#deltas.get(block);
		const isDelta = "delta" in response;
		if (isDelta && earlier) {
			earlier.delta += response.delta;
			return true;
		}
		const part = this.#partOf(response, owner, beginsPart);
		if (isDelta) {
			const first = { ...response };
			this.#deltas.set(block, first);
			part.responses.push(first);
			return true;
		}
		// The end of a tool call does not repeat the output of the running call.
		if (earlier && response.callback !== "onEndToolExecution") earlier.delta = "";
		this.#deltas.delete(block);
		part.responses.push(response);
		return part === this.#parts.at(-1) || !placedPattern.test(response.callback ?? "");
	}

	/** @type {AddToTab<TabPart>} */
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

const noUsage = { inputTokens: 0, outputTokens: 0, premiumRequests: 0, cost: 0 };

/** @type {AddUsage} */
function addUsage(sum, more) {
	const all = { ...sum };
	for (const name of /** @type {(keyof UsedTokens)[]} */ (Object.keys(all))) all[name] += more[name] ?? 0;
	return all;
}

export class Run {
	/** @type {ShownStatus} */
	status = "Running";
	/** @type {number | undefined} */
	endTime;
	attempt = 1;
	round = 1;
	/** At most. @type {number | undefined} */
	attempts;
	verdict = "";
	reason = "";
	/** What it asked the user for. @type {AskedRequest[]} */
	asked = [];
	/** @type {Evidence[]} */
	evidence = [];
	usage = noUsage;
	driving = new TabLog("Driving", "Overview");
	/** @type {TabLog[]} */
	sessions = [];
	// The page fills it.
	changes = new TabLog("Changes");

	constructor(workId = 0, taskId = "", startTime = 0) {
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

	get needsUser() {
		return !this.isOver && this.asked.some(({ isOpen }) => isOpen);
	}
}

export class JobState {
	/** @type {WorkStatus} */
	status = "Running";
	error = "";
	reason = "";
	/** @type {Callback<"onNotice">[]} */
	notices = [];
	/** @type {number | undefined} */
	startTime;
	/** @type {number | undefined} */
	endTime;
	/** The newest run of each task. @type {Map<number, Run>} */
	runs = new Map();
	/** @type {Run[]} */
	allRuns = [];
	// The page counts the files.
	changed = 0;
	/** @type {Map<string, Run>} */
	#tasks = new Map();
	/** @type {Map<string, RunSession>} */
	#sessions = new Map();
	/** What arrived before its task or session was known. @type {Map<string, JobEvent[]>} */
	#early = new Map();

	// What preparing the worktrees wrote.
	setup = new TabLog("");

	#time = 0;

	// The present of the run: a replay is in the past.
	now = () => Date.now();
	onJob = () => {};
	/** @type {OnWork} */
	onWork = () => {};
	/** @type {OnWork} */
	onTabs = () => {};

	reset() {
		const { now, onJob, onWork, onTabs } = this;
		Object.assign(this, new JobState(), { now, onJob, onWork, onTabs });
		for (const known of [this.#tasks, this.#sessions, this.#early]) known.clear();
	}

	get isOver() {
		return /Succeeded|Failed|Canceled/.test(this.status);
	}

	get canRetry() {
		const hasFailed = this.allRuns.some(
			({ status, evidence }) => status === "Failed" || evidence.some(({ verdict }) => verdict === "failed"),
		);
		return this.status === "Paused" ? hasFailed : /Failed|Canceled/.test(this.status);
	}

	get usage() {
		return this.allRuns.map(({ usage }) => usage).reduce(addUsage, noUsage);
	}

	/** @param {JobEvent} event */
	apply(event) {
		this.#time = event.time ?? this.now();
		if (event.source === "job") this.#applyJob(event);
		else if (event.source === "task") this.#applyTask(event);
		else this.#applySession(event);
	}

	/** @param {WorkStatus} status */
	setStatus(status) {
		if (this.status === status) return;
		this.status = status;
		this.onJob();
	}

	/** @param {JobEvent} event */
	#applyJob(event) {
		this.startTime ??= this.#time;
		if ("jobError" in event) {
			this.error = event.jobError;
			this.#end("Failed");
		} else if (event.callback?.endsWith("ToolExecution")) {
			this.setup.add(event, "", false);
			if (!("delta" in event)) this.onJob();
		} else handle(this.#handlers, event);
	}

	/** @type {Handlers} */
	#handlers = {
		workWaiting: work => this.#addRun(work, "Waiting"),
		workStarted: work => {
			const waiting = this.#tasks.get(work.taskId);
			if (waiting) {
				waiting.status = "Running";
				waiting.startTime = this.#time;
				this.onWork(waiting.workId);
			} else this.#addRun(work, "Running");
			this.#replay(`task ${work.taskId}`);
		},
		workStopped: ({ workId, succeeded, reason = "" }) => {
			const run = this.runs.get(workId);
			if (!run) return;
			run.status = succeeded ? "Succeeded" : "Failed";
			run.reason = reason;
			run.endTime = this.#time;
			this.onWork(workId);
		},
		jobPaused: () => this.setStatus("Paused"),
		jobContinued: () => this.setStatus("Running"),
		onNotice: notice => {
			if (this.notices.some(({ title }) => title === notice.title)) return;
			this.notices.push(notice);
			this.onJob();
		},
		jobSucceeded: () => this.#end("Succeeded"),
		jobFailed: ({ reason = "" }) => {
			this.reason = reason;
			this.#end("Failed");
		},
		jobCanceled: () => this.#end("Canceled"),
	};

	/** @type {AddRun} */
	#addRun({ workId, taskId }, status) {
		const run = new Run(workId, taskId, this.#time);
		run.status = status;
		run.round += this.runs.get(workId)?.round ?? 0;
		this.runs.set(workId, run);
		this.allRuns.push(run);
		this.#tasks.set(taskId, run);
		this.onWork(workId);
		this.onTabs(workId);
	}

	/** @param {WorkStatus} status */
	#end(status) {
		this.endTime = this.#time;
		for (const run of this.runs.values()) {
			if (run.isOver) continue;
			run.status = "Canceled";
			run.endTime = this.#time;
			this.onWork(run.workId);
		}
		this.setStatus(status);
	}

	/** @param {Run} run @param {JobEvent} event */
	#ask({ asked, workId }, event) {
		if (!("requestId" in event) || !askPattern.test(event.callback ?? "")) return;
		const { requestId: id = "" } = event;
		const known = asked.find(one => one.id === id);
		if (known) known.isOpen = false;
		else if (!event.callback?.endsWith("Resolved")) {
			const { question, title } = /** @type {Answer} */ (event);
			asked.push({ id, what: question ?? title, time: this.#time, isOpen: true });
		}
		this.onWork(workId);
	}

	/** @param {JobEvent} event */
	#applyTask(event) {
		const run = this.#tasks.get(event.id);
		if (!run) return this.#keep(`task ${event.id}`, event);
		this.#ask(run, event);
		if (event.callback === "taskDecision") this.#decide(run, event, event.id);
		else if (event.callback === "taskSessionStarted") this.#startSession(run, event);
		else if (event.callback === "taskAttemptEnded") {
			run.evidence.push(event);
			this.onTabs(run.workId);
		} else if ("taskError" in event)
			run.driving.add({ sessionError: event.taskError, time: event.time }, event.id, true);
		// Commands that check the task stand among the decisions.
		else if (commandPattern.test(event.callback ?? "")) run.driving.add(event, event.id, false);
		this.onWork(run.workId);
	}

	/** @type {DecideRun} */
	#decide(run, { reason, time }, taskId) {
		const retry = retryPattern.exec(reason);
		if (retry) {
			run.attempt = Number(retry[1]) + 1;
			run.attempts = Number(retry[2]) + 1;
		}
		run.verdict = verdictPattern.exec(reason)?.[1] ?? run.verdict;
		run.driving.add({ callback: "taskDecision", reason, time }, taskId, true);
	}

	/** @type {StartRunSession} */
	#startSession(run, { sessionId, isDriving }) {
		const tab = isDriving ? run.driving : new TabLog(`Attempt #${run.sessions.length + 1}`);
		if (!isDriving) run.sessions.push(tab);
		this.#sessions.set(sessionId, { run, tab, isDriving });
		this.onTabs(run.workId);
		this.#replay(`session ${sessionId}`);
	}

	/** @param {JobEvent} event */
	#applySession(event) {
		const { id } = event;
		const known = this.#sessions.get(id);
		if (!known) return this.#keep(`session ${id}`, event);
		const { run, tab, isDriving } = known;
		const names = isDriving ? idNames.filter(name => name in event) : [];
		const ids = Object.fromEntries(names.map(name => [name, `${id}/${Reflect.get(event, name)}`]));
		tab.add({ ...event, ...ids }, id, event.callback === "onGeneratedUserPrompt");
		this.#ask(run, event);
		if (event.callback === "onUsage" && !("used" in event)) run.usage = addUsage(run.usage, event);
	}

	/** @type {KeepEvent} */
	#keep(key, event) {
		const kept = this.#early.get(key) ?? [];
		kept.push(event);
		this.#early.set(key, kept);
	}

	#replay(key = "") {
		const kept = this.#early.get(key) ?? [];
		this.#early.delete(key);
		for (const event of kept) this.apply(event);
	}
}
