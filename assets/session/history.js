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
	formatChanges,
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
// Of each kind; the search finds the others.
const MAX_LISTED = 200;
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
	const { workingDirectory, repoRoot = workingDirectory, worktree, lastTime, changes, usage } = answer;
	const [name = "", about] = words[kind]?.(answer) ?? [];
	const id = answer[`${kind}Id`];
	return {
		endTime: lastTime,
		...answer,
		kind,
		id,
		name: visibleLine(name),
		// The user's folder, not its worktree.
		about: [
			about,
			worktree?.workingDirectory ?? repoRoot,
			answer.reason ?? answer.lastWords,
			changes && formatChanges(changes),
			formatUsage(usage),
		],
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
async function listed(kind, limit) {
	const answer = await api(`copilot/${kind}/history?limit=${limit}`).catch(() => ({}));
	return (answer[`${kind}s`] ?? []).map((/** @type {Answer} */ one) => itemOf(kind, one));
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
		...details.filter(Boolean).map(text => element("span", "one-line", visibleLine(text))),
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
	let limit = PAGE_SIZE;
	let asked = 0;

	async function load() {
		const mine = ++asked;
		const most = Math.min(limit + 1, MAX_LISTED);
		const lists = await Promise.all(Object.keys(words).map(kind => listed(kind, most)));
		const { worktrees = [] } = await api("copilot/worktree").catch(() => ({}));
		// An older answer may arrive later.
		if (mine !== asked) return;
		const newest = lists.flat().sort((a, b) => b.startTime.localeCompare(a.startTime));
		const shown = newest.slice(0, limit);
		byId("historyMore").hidden = newest.length <= limit;
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
			const rows = all.filter(item => groupOf(item) === i).map(item => row(item, load));
			fill(find(group, "ul"), ...rows);
		}
		if (focused) find(place, `[aria-label="${CSS.escape(focused)}"], h3`).focus();
	}

	for (const id of ["tryIt", "tryItLater"])
		onPress(id, () => startJob("try-it", "Try it"), errorAt("tryItError"));
	onClick("historyMore", () => {
		limit += PAGE_SIZE;
		return load();
	});
	onClick("refresh-button", load);
	placeInbox(byId("inbox"));
	onNodes(load);
	let isDue = false;
	onOverview(overview => {
		active.clear();
		for (const item of overview.active) active.set(item.id, item);
		if (isDue) return;
		isDue = true;
		setTimeout(() => {
			isDue = false;
			// What became of a worktree stays in sight.
			if (!place.querySelector(".worktree :focus")) load();
		}, REFRESH_MS);
	});
	load();
}
