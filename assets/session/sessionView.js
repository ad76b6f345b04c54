// A session: the responses above, the request below.

import {
	ApiError,
	api,
	button,
	byId,
	connection,
	copyOf,
	errorAt,
	fill,
	find,
	formatUsage,
	joined,
	nodeSign,
	notify,
	onClick,
	onNodes,
	onPress,
	onSubmit,
	part,
	send as post,
	readEvents,
	setPageState,
	shortPath,
	showFolder,
	showStatus,
	toNode,
	visibleCode,
	visibleLine,
	waitingLine,
	withProgress,
} from "../lib/page.js";
import { focusCards } from "../permissions/cardFocus.js";
import { SessionResponseRenderer } from "../sessionResponse.js";
import { makeSplitter } from "../shell/splitter.js";
import { agentControls } from "./agentControls.js";
import { PendingRequests } from "./pendingRequests.js";
import { requestPictures } from "./pictures.js";
import { sessionMenu } from "./sessionMenu.js";
import { turnChanges } from "./turnChanges.js";

// On a small screen the conversation needs most of the room.
const SMALL_REQUEST_PART_PX = 200;
const SMALL_HEIGHT_PX = 700;
const MAX_RECENT = 1_000;

/** @type {OpenSessionView} */
export function openSessionView(sessionId, showOver) {
	const path = `copilot/session/${part(sessionId)}`;
	const send = byId("send-button");
	const close = byId("close-session-button");
	const prompt = byId("request-textarea");
	const { placeholder } = prompt;
	const task = byId("task-select");
	const policy = byId("policy");
	const showError = errorAt("requestError");
	/** What a request may name. @type {KnownNames} */
	const known = { folder: "", node: "", tasks: [], commands: [] };
	const agent = agentControls(sessionId, commands => {
		known.commands = commands;
	});
	const title = sessionMenu(path, { showOver, showError });
	/** For its log, without pieces. @type {LiveResponse[]} */
	const recent = [];
	/** Loaded when it is opened. @type {ReturnType<OpenDrawer> | undefined} */
	let drawer;
	const renderer = new SessionResponseRenderer(byId("session-part"));
	focusCards(byId("session-part"), prompt);
	const showChanges = turnChanges(path, renderer.addItem);
	const pending = new PendingRequests();
	/** Requests behind another one: each appears in the conversation when it begins. @type {UserRequest[]} */
	const queued = [];
	/** Requests without an answer. @type {Set<string>} */
	const asked = new Set();
	// False as long as what happened earlier is shown.
	let isLive = false;
	let runsTask = false;
	let isSending = false;
	let isClosed = false;
	/** @type {Set<string>} */
	const wordlessTasks = new Set();
	/** By their ids. @type {Map<string | undefined, UserRequest>} */
	const requests = new Map();
	const pictures = requestPictures(path, showError);
	/** Sends again what failed. @type {HTMLElement | undefined} */
	let again;
	let stopReading = () => {};
	let branch = "";

	makeSplitter("resize-bar", innerHeight < SMALL_HEIGHT_PX ? SMALL_REQUEST_PART_PX : undefined);

	function showState() {
		const isBusy = !isClosed && (pending.count > 0 || runsTask);
		const status = isClosed ? "Closed" : asked.size > 0 ? "Needs you" : isBusy ? "Busy" : "Idle";
		const waiting = isBusy && pending.count > 1 ? `, ${pending.count - 1} waiting` : "";
		showStatus(byId("sessionState"), status + waiting, status);
		send.disabled = isBusy || isSending || isClosed;
		for (const id of ["stopTurn", "queue-button"]) byId(id).hidden = !isBusy;
		byId("reopen").hidden = !isClosed;
		for (const control of [send, close]) control.hidden = isClosed;
		for (const control of [byId("agentOptions"), prompt, task, policy, byId("addPicture")])
			control.disabled = isClosed;
		prompt.placeholder = (isClosed && prompt.dataset.closed) || placeholder;
		renderer.setAwaiting(isBusy);
		setPageState(title.get() || "Session", isBusy ? "running" : "");
	}

	/** @param {LiveResponse} response */
	function onResponse(response) {
		if (response.callback === "onUserRequest" && pending.isBehind(response.requestId)) queued.push(response);
		else renderer.processCallback(response);
		agent.show(response);
		showChanges(response);
		if (!("delta" in response)) {
			if (recent.push(response) > MAX_RECENT) recent.shift();
			drawer?.show(response);
		}
		const failed = "sessionError" in response && requests.get(response.requestId);
		if (failed) {
			again?.remove();
			again = button("Send again", () => query(failed).catch(showError));
			renderer.addItem(again);
		}
		if (response.callback === "onPermissionRequest" || response.callback === "onQuestion")
			asked.add(response.requestId);
		else if (response.callback === "onPermissionResolved" || response.callback === "onQuestionResolved")
			asked.delete(response.requestId);
		else if (response.callback === "onUserRequest" || response.callback === "onGeneratedUserPrompt") {
			pending.begin(response.requestId);
			if (response.callback === "onUserRequest") requests.set(response.requestId, response);
			again?.remove();
			if (title.get() === "") title.show(response.prompt.trim().split("\n", 1)[0] ?? "");
		} else if (response.callback === "onSessionInfo") {
			if (response.title) title.show(response.title);
		} else if (response.callback === "onIdle") {
			const { requestId } = response;
			pending.end(requestId);
			const dropped = queued.findIndex(request => request.requestId === requestId);
			const [next] = queued.splice(Math.max(0, dropped), 1);
			if (next && dropped < 0) renderer.processCallback(next);
			if (isLive) api(path).then(showAbout, showError);
			if (isLive && pending.count === 0) notify(`${title.get() || "Session"}: the agent is done`);
		} else return;
		showQueue();
		showState();
	}

	function showQueue() {
		const items = queued.map(request => {
			const item = copyOf("queuedRequest");
			find(item, "span").append(visibleLine(request.prompt.slice(0, 200).replaceAll("\n", " ")));
			for (const control of item.querySelectorAll("button"))
				control.onclick = () => change(request, control).catch(showError);
			return item;
		});
		fill(byId("queue"), ...items);
	}

	/** @type {ChangeQueued} */
	async function change(request, control) {
		const { dropped } = await post(control, `${path}/request/${part(request.requestId)}/drop`);
		if (!dropped) return;
		if (control.value === "edit") {
			keepDraft(joined([prompt.value, request.prompt], "\n"));
			pictures.set([...pictures.get(), ...(request.pictures ?? [])]);
		}
		if (control.value !== "steer") return;
		await api(`${path}/cancel`, "");
		await query(request);
	}

	/** @type {SendQuery} */
	const query = ({ prompt: text, pictures: names = [] }) => api(`${path}/query?pictures=${names}`, text);

	// What is not sent yet survives a reload.
	function keepDraft(text = "") {
		if (prompt.value !== text) prompt.value = text;
		sessionStorage.setItem(path, text);
	}

	function onEnd(error = "") {
		isClosed = true;
		showState();
		if (error === "SessionNotFound") showOver("This session is gone", new ApiError(error).message);
	}

	// Shows the newest page of the log, offers the earlier ones, and goes on live.
	async function read() {
		const page = await api(`${path}/responses`).catch(error => {
			if (error.code === "SessionNotFound") return onEnd(error.code);
			connection.addEventListener("back", read, { once: true });
			connection.lost();
		});
		if (!page) return;
		let { before } = page;
		for (const response of page.responses) onResponse(response);
		if (before !== undefined)
			renderer.offerEarlier(async () => {
				const earlier = await api(`${path}/responses?before=${before}`);
				before = earlier.before;
				return { responses: earlier.responses, more: before !== undefined };
			});
		isLive = true;
		const after = String(page.after);
		stopReading = readEvents({ wanted: { kind: "session", id: sessionId, after }, onResponse, onEnd });
	}

	function showTask(name = "", status = "") {
		byId("sessionTask").hidden = false;
		showStatus(byId("sessionTask"), `${name}: ${status.toLowerCase()}`, status);
		runsTask = status === "Running";
		showState();
	}

	function followTask(id = "", name = "", after = 0) {
		showTask(name, "Running");
		const stop = readEvents({
			wanted: { kind: "task", id, after: String(after) },
			onResponse: response => {
				if (response.callback === "taskDecision") renderer.processCallback(response);
				if ("taskError" in response) renderer.addNotice("error", response.taskError);
				const [, ending] = /^task(Succeeded|Failed)$/.exec(response.callback ?? "") ?? [];
				if (!ending) return;
				stop();
				showTask(name, ending);
			},
			onEnd: () => loadTask().catch(showError),
		});
	}

	async function loadTask() {
		const { task: last } = await api(`${path}/task`);
		if (!last) return;
		showTask(last.taskName, last.status);
		if (!runsTask) return;
		// What it has decided has no place of its own among what is shown.
		const { after } = await api(`copilot/task/${part(last.taskId)}/responses?limit=1`);
		followTask(last.taskId, last.taskName, after);
	}

	// Now, or behind the running one.
	async function sendRequest(isQueued = false) {
		if (send.disabled && (!isQueued || byId("queue-button").hidden)) return;
		const text = prompt.value;
		const taskName = isQueued ? "" : task.value;
		if (text.trim() === "" && !wordlessTasks.has(taskName)) {
			showError("Describe what to do.");
			prompt.focus();
			return;
		}
		isSending = true;
		showError();
		showState();
		try {
			const start = `copilot/task/start/${part(taskName)}/session/${part(sessionId)}`;
			if (taskName === "") {
				await withProgress(send, () => query({ prompt: text, pictures: pictures.get() }));
				pictures.set([]);
			} else followTask((await post(send, start, text)).taskId, taskName);
			keepDraft("");
			task.value = "";
			renderer.scrollToBottom();
		} catch (error) {
			showError(error);
		} finally {
			isSending = false;
			showState();
		}
	}

	async function closeSession() {
		stopReading();
		await api(`${path}/stop`, "").catch(() => undefined);
	}

	for (const tab of document.querySelectorAll("button[aria-controls=drawer]"))
		tab.addEventListener("click", async () => {
			drawer ??= (await import("./drawer.js")).drawer(path, recent);
			drawer.toggle(tab.getAttribute("value") ?? "").catch(showError);
		});
	onSubmit("request-part", () => sendRequest(), prompt);
	onClick("queue-button", () => sendRequest(true));
	prompt.addEventListener("input", () => keepDraft(prompt.value));
	const complete = () =>
		import("./completion.js").then(({ completeRequest }) => completeRequest(prompt, known));
	prompt.addEventListener("input", complete, { once: true });
	prompt.addEventListener("keydown", event => {
		if (event.key === "Enter" && event.shiftKey && (event.ctrlKey || event.metaKey)) sendRequest(true);
	});
	policy.onchange = () => api(`${path}/policy`, { policy: policy.value }).catch(showError);
	onPress("stopTurn", () => api(`${path}/cancel`, ""), showError);
	onPress("reopen", () => api(`${path}/reopen`, "").then(() => location.reload()), showError);
	close.onclick = async () => {
		await withProgress(close, closeSession);
		window.close();
		showOver("The session has ended", "This tab may be closed.", location.href);
	};
	for (const control of document.querySelectorAll(".stop-server"))
		control.onclick = async () => (await import("../shell/stopServer.js")).stopServer(control, closeSession);

	/** @param {Answer} summary */
	function showAbout(summary) {
		const { modelName, modelId, workingDirectory, usage } = summary;
		fill(byId("sessionNode"), nodeSign(summary));
		fill(byId("waiting"), ...waitingLine(summary, path, () => location.reload()));
		const about = joined([visibleLine(modelName ?? modelId), formatUsage(usage)]);
		const on = branch && ` on ${visibleLine(branch)}`;
		const place = byId("sessionModel");
		place.title = visibleLine(workingDirectory);
		showFolder(workingDirectory);
		fill(place, visibleCode(shortPath(workingDirectory)), `${on} · ${about}`);
	}

	async function loadSummary() {
		const summary = await api(path);
		title.show(summary.title || title.get());
		known.folder = summary.workingDirectory;
		known.node = summary.node ?? "";
		pending.know(summary.pendingRequests);
		policy.value = summary.permissions;
		byId("sessionRules").href = `/permissions.html?folder=${part(summary.workingDirectory)}`;
		const isAcp = summary.modelId.startsWith("acp:");
		byId("agentBar").hidden = !isAcp;
		showAbout(summary);
		showState();
		if (summary.worktree) {
			const { worktreeLine } = await import("../shell/worktree.js");
			fill(byId("worktree"), ...worktreeLine(summary.worktree, () => location.reload()));
		}
		if (isAcp && summary.status !== "Closed") agent.know(await api(`${path}/state`));
		const { folders } = await api(`copilot/folders?path=${part(known.folder)}${toNode(known.node)}`);
		branch = folders.find(one => one.path === known.folder)?.branch ?? "";
		showAbout(summary);
	}

	async function loadTasks() {
		const { tasks } = await api("copilot/task");
		for (const { name, requireUserInput } of tasks) {
			task.append(new Option(name));
			const choose = () => {
				task.value = name;
			};
			known.tasks.push({ name, hint: "task", choose });
			if (!requireUserInput) wordlessTasks.add(name);
		}
	}

	// A search leads to a response by its number.
	async function revealResponse(n = 0) {
		const { responses } = await api(`${path}/responses?before=${n + 1}&limit=1`);
		const response = responses.at(-1);
		if (response) await renderer.reveal(response);
	}

	keepDraft(sessionStorage.getItem(path) ?? "");
	showState();
	const wanted = Number(new URLSearchParams(location.search).get("n"));
	read().then(() => (wanted > 0 ? revealResponse(wanted) : undefined), showError);
	onNodes(() => api(path).then(showAbout, showError));
	for (const loaded of [loadSummary(), loadTasks(), loadTask()]) loaded.catch(() => undefined);
	prompt.focus();
}
