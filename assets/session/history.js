// Jobs, sessions and runs: those that need the user, those that run, and the others, newest first.
import {
	addressOf,
	api,
	ask,
	askText,
	byId,
	copyOf,
	element,
	errorAt,
	fill,
	find,
	firstLine,
	formatDuration,
	formatTime,
	formatUsage,
	nodeSign,
	onClick,
	onNodes,
	onOverview,
	onPress,
	part,
	showStatus,
	visibleLine,
	waitingLine,
	withProgress,
} from "../lib/page.js";
import { placeInbox } from "../shell/inbox.js";
import { worktreeLine } from "../shell/worktree.js";

const PAGE_SIZE = 20;
// What runs may change five times a second.
const REFRESH_MS = 2_000;

/** @type {WordsOf} */
const words = {
	session: ({ title, modelId, modelName = modelId }) => [title || "(nothing asked yet)", modelName],
	job: ({ jobName, userInput }) => [jobName, firstLine(userInput)],
	run: ({ prompt, agents }) => [firstLine(prompt), agents.join(", ")],
};

/** @type {ItemOf} */
function itemOf(kind, answer) {
	const { workingDirectory, repoRoot = workingDirectory, worktree, lastTime, reason, usage } = answer;
	const [name = "", about] = words[kind]?.(answer) ?? [];
	const id = answer[`${kind}Id`];
	return {
		endTime: lastTime,
		...answer,
		kind,
		id,
		name: visibleLine(name),
		// The user's folder, not its worktree.
		about: [about, worktree?.workingDirectory ?? repoRoot, reason ?? "", formatUsage(usage)],
		address: addressOf({ kind, id, title: name }),
	};
}

/** What is active, by its id. @type {Map<string, ActiveItem>} */
const active = new Map();

/** @type {ActiveRow} */
const activeItem = item => ({
	...item,
	name: visibleLine(item.title),
	status: item.state === "paused" ? "Paused" : "Running",
	startTime: item.since,
	about: [item.workingDirectory],
	address: addressOf(item),
});

/** @type {WorktreeItem} */
const worktreeItem = ({ id, name, kind, title = "", startTime, worktree }) => ({
	kind: "worktree",
	id,
	name: visibleLine(title || name),
	status: "Waiting",
	startTime,
	about: [worktree.workingDirectory, kind ? "" : "deleted, but what it did waits"],
	address: kind ? addressOf({ kind, id, title }) : "",
	worktree,
});

/** @type {Listed} */
async function* listed(kind) {
	const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
	for (;;) {
		const answer = await api(`copilot/${kind}/history?${query}`).catch(() => ({}));
		for (const one of answer[`${kind}s`] ?? []) yield itemOf(kind, one);
		if (answer.next === undefined) return;
		query.set("before", answer.next);
	}
}

// All kinds together, newest first.
async function* newestFirst() {
	const sources = Object.keys(words).map(listed);
	const heads = await Promise.all(
		sources.map(async source => ({ source, item: (await source.next()).value })),
	);
	for (;;) {
		heads.sort((a, b) => (b.item?.startTime ?? "").localeCompare(a.item?.startTime ?? ""));
		const [head] = heads;
		const item = head?.item;
		if (!item) return;
		head.item = (await head.source.next()).value;
		yield { item, hasMore: heads.some(other => other.item) };
	}
}

const isRunning = (status = "") => status === "Running" || status === "Busy";

async function startJob(path = "", title = "") {
	const { jobId } = await api(`copilot/${path}`, "");
	location.href = addressOf({ kind: "job", id: jobId, title });
}

/** @type {ActionsOf} */
function actionsOf({ kind, id, name, status, address, waitingFor }) {
	const isSession = kind === "session";
	const isPaused = status === "Paused";
	const hasEnded = !isRunning(status) && !isPaused;
	const call = (does = "", body = "") => api(`copilot/${kind}/${part(id)}/${does}`, body);
	const reopen = () =>
		call("reopen").then(() => {
			location.href = address;
		});
	const rename = async () => {
		const title = await askText("Name of the session", name);
		return title !== undefined && call("rename", title);
	};
	const remove = async () => (await ask(`Delete “${name}” for good?`, "Delete")) && call("delete");
	return {
		continue: isPaused && (() => call("continue")),
		stop: !hasEnded && !waitingFor && (() => call(isSession ? "cancel" : "stop")),
		retry: status === "Failed" && kind === "job" && (() => startJob(`job/${part(id)}/retry`, name)),
		again: hasEnded && kind === "job" && (() => startJob(`job/${part(id)}/again`, name)),
		reopen: status === "Closed" && reopen,
		rename: isSession && rename,
		delete: (isSession || hasEnded) && remove,
	};
}

/** @param {HistoryItem} item */
const worktreesOf = item => [item.worktree, ...(item.branchWorktrees ?? [])];

/** @type {GroupOf} */
function groupOf(item) {
	const state = active.get(item.id)?.state;
	if (state === "waiting" || item.status === "Paused") return 0;
	if (state || isRunning(item.status)) return 1;
	return worktreesOf(item).some(worktree => worktree?.state === "waiting") ? 0 : 2;
}

/** @type {HistoryRow} */
function row(item, refresh) {
	const { kind, id, name, startTime, endTime, address } = item;
	const { state, doing = "" } = active.get(id) ?? {};
	const status = item.waitingFor ? "Waiting" : state === "waiting" ? "Needs you" : item.status;
	const end = endTime && !isRunning(status) ? new Date(endTime) : new Date();
	const start = new Date(startTime);
	const details = [formatTime(start), formatDuration(Number(end) - Number(start)), doing, ...item.about];
	const made = copyOf("historyItem");
	find(made, ".history-kind").append(kind);
	Object.assign(find(made, "b"), { textContent: name, title: name });
	showStatus(find(made, ".status"), status);
	find(made, ".history-details").append(
		nodeSign(item),
		...details.filter(Boolean).map(text => element("span", {}, visibleLine(text))),
	);
	for (const [value, act] of Object.entries(actionsOf(item))) {
		const control = find(made, `[value=${value}]`);
		control.hidden = !act;
		if (act) control.onclick = () => withProgress(control, act).then(refresh, showProblem);
	}
	for (const link of made.querySelectorAll("a")) {
		const { format } = link.dataset;
		link.href = format ? `/api/copilot/${kind}/${part(id)}/export?format=${format}` : address;
		if (format === "") link.href += "&replay";
		link.hidden = !address || (format !== undefined && kind === "run");
	}
	made.append(...waitingLine(item, `copilot/${kind}/${part(id)}`, refresh));
	const named = made.querySelectorAll("[data-label]");
	for (const control of named) control.ariaLabel = `${control.dataset.label} ${name}`;
	if (kind === "worktree") find(made, ".menu").remove();
	if (!isRunning(status))
		made.append(...worktreesOf(item).flatMap(worktree => worktreeLine(worktree, refresh)));
	return made;
}

const showProblem = errorAt("historyError");

export function showHistory() {
	const place = byId("running-jobs-list");
	/** @type {HistoryItem[]} */
	let shown = [];
	let items = newestFirst();

	// More, or from the newest on.
	async function load(isMore = false) {
		if (!isMore) items = newestFirst();
		const mine = items;
		const page = [];
		let next = await mine.next();
		while (next.value) {
			page.push(next.value.item);
			if (page.length === PAGE_SIZE || !next.value.hasMore) break;
			next = await mine.next();
		}
		const { worktrees = [] } = await api("copilot/worktree").catch(() => ({}));
		// An older answer may arrive later.
		if (mine !== items) return;
		shown = isMore ? [...shown, ...page] : page;
		byId("historyMore").hidden = !next.value?.hasMore;
		showProblem();
		for (const id of ["welcome", "historyEmpty"]) byId(id).hidden = shown.length > 0;
		byId("tryItLater").hidden = shown.length === 0;
		if (place.querySelector("details[open]")) return;
		const known = new Set();
		for (const item of shown) {
			// The newest that worked in it.
			if (known.has(item.worktree?.id)) delete item.worktree;
			for (const one of [item, ...worktreesOf(item)]) known.add(one?.id);
		}
		const older = [...active.values()].filter(({ id }) => !known.has(id)).map(activeItem);
		const others = [];
		for (const one of worktrees)
			if (!known.has(one.worktree.id) && !active.has(one.id)) others.push(worktreeItem(one));
		const all = [...older, ...others, ...shown];
		const focused = place.querySelector(":focus")?.ariaLabel;
		for (const [i, group] of [...place.children].entries()) {
			const rows = all.filter(item => groupOf(item) === i).map(item => row(item, () => load()));
			fill(find(group, "ul"), ...rows);
		}
		if (focused) find(place, `[aria-label="${CSS.escape(focused)}"], h3`).focus();
	}

	for (const id of ["tryIt", "tryItLater"])
		onPress(id, () => startJob("try-it", "Try it"), errorAt("tryItError"));
	onClick("historyMore", () => load(true));
	onClick("refresh-button", () => load());
	placeInbox(byId("inbox"));
	onNodes(() => load());
	let isDue = false;
	onOverview(overview => {
		active.clear();
		for (const item of overview.active) active.set(item.id, item);
		if (isDue) return;
		isDue = true;
		setTimeout(() => {
			isDue = false;
			// What became of a worktree stays in sight.
			if (shown.length <= PAGE_SIZE && !place.querySelector(".worktree :focus")) load();
		}, REFRESH_MS);
	});
	load();
}
