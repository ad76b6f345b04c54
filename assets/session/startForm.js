// The form that starts a session, and the history.
import {
	ApiError,
	api,
	button,
	byId,
	element,
	errorAt,
	fill,
	notice,
	onClick,
	onSubmit,
	pageQuery,
	part,
	send,
	toNode,
} from "../lib/page.js";
import { isAgent, modelOptions, offerFolders, rememberFolder } from "../shell/choices.js";
import { placeInbox } from "../shell/inbox.js";
import "../shell/storage.js";
import { followFolder } from "./folderChoice.js";
import { showHistory } from "./history.js";

const PREFERRED_MODEL = "gpt-5.2";
const LAST_MODEL = "lastModel";

const model = byId("model-select");
const workingDirectory = byId("working-dir");
const startButton = byId("start-button");
const choice = followFolder(workingDirectory);
/** @type {ModelChoice[]} */
let models = [];
/** @type {ShowSession} */
let showSession;

/** @type {ShowStartError} */
function showStartError(error) {
	const code = error instanceof ApiError ? error.code : "";
	const isModel = /^(ModelIdNotFound|Agent)/.test(code);
	const isFolder = code.startsWith("WorkingDirectory");
	const place = isModel ? "modelError" : isFolder ? "workingDirectoryError" : "startError";
	for (const name of ["modelError", "workingDirectoryError", "startError"])
		errorAt(name)(name === place ? error : "");
	for (const field of [model, workingDirectory]) {
		const isWrong = error !== undefined && field.getAttribute("aria-describedby")?.includes(place) === true;
		field.ariaInvalid = String(isWrong);
		if (isWrong) field.focus();
	}
	if (code.startsWith("Agent")) offerAgain(restartAgent);
}

/** What to do about the model's error. @param {() => unknown} action */
function offerAgain(action) {
	byId("modelError").append(" ", button("Try again", action));
}

// Only a fresh start notices a new installation or sign-in.
async function restartAgent() {
	const [, agent = ""] = model.value.split(":");
	await api(`acp/agent/${part(agent)}/restart`, "").catch(() => undefined);
	await start();
}

const firstRequest = byId("first-request");
const isolate = byId("isolate");

function showModelHint() {
	const chosen = models.find(one => one.id === model.value);
	const cost = isAgent(chosen)
		? "an agent program"
		: chosen?.multiplier
			? `${chosen.multiplier} × premium request`
			: "no premium request";
	byId("modelHint").textContent = chosen ? `${chosen.id} · ${cost}` : "";
}

async function loadModels() {
	const answer = await api(`copilot/models${toNode(choice.nodeOf(), "?")}`);
	models = answer.models;
	/** @type {Notices} */
	const notices = answer.notices ?? [];
	const hasOnlyDemo = models.every(({ backend }) => backend === "demo");
	const shown = notices.filter(({ level }) => hasOnlyDemo || level !== "info");
	fill(byId("modelNotices"), ...shown.map(({ level, message }) => notice(message, level)));
	fill(model, ...modelOptions(models));
	const wished = [PREFERRED_MODEL, localStorage.getItem(LAST_MODEL)];
	const wanted = wished.find(id => models.some(one => one.id === id));
	if (wanted) model.value = wanted;
	if (models.length === 0) throw new ApiError("NoModel");
	model.disabled = false;
	startButton.disabled = false;
	showModelHint();
}

async function loadDirectory() {
	const { repoRoot } = await api("config");
	const project = pageQuery.get("project");
	// A project is a folder beside the server's repository.
	workingDirectory.value ||= project ? repoRoot.replace(/[^\\/]+[\\/]*$/, project) : repoRoot;
	await choice.load();
}

async function start() {
	if (startButton.disabled) return;
	showStartError();
	if (workingDirectory.value.trim() === "")
		return showStartError(new ApiError("WorkingDirectoryNotAbsolutePath"));
	startButton.disabled = true;
	try {
		const path = `copilot/session/start/${part(model.value)}?${choice.query()}${isolate.checked ? isolate.value : ""}`;
		const { sessionId } = await send(startButton, path, workingDirectory.value.trim());
		localStorage.setItem(LAST_MODEL, model.value);
		rememberFolder(workingDirectory.value.trim());
		// If it cannot be remembered, the form asks again.
		await choice.remember().catch(() => undefined);
		placeInbox();
		history.replaceState(null, "", `/index.html?session=${part(sessionId)}`);
		// As a draft it is kept if it cannot be sent.
		const request = firstRequest.value.trim();
		sessionStorage.setItem(`copilot/session/${part(sessionId)}`, request);
		await showSession(sessionId);
		if (request) byId("request-part").requestSubmit();
	} catch (error) {
		showStartError(error);
	} finally {
		startButton.disabled = false;
	}
}

/** @param {unknown} error */
function showLoadError(error) {
	if (models.length === 0) fill(model, element("option", {}, "No models"));
	errorAt("modelError")(error);
	offerAgain(() => location.reload());
}

/** @param {ShowSession} open */
export async function openStartForm(open) {
	showSession = open;
	onSubmit("startForm", start, firstRequest);
	onClick("jobs-button", () => {
		location.href = `/jobs.html?wb=${part(workingDirectory.value.trim())}${toNode(choice.nodeOf())}`;
	});
	model.onchange = showModelHint;
	offerFolders(workingDirectory, choice.nodeOf);
	byId("node").addEventListener("change", () => loadModels().catch(showLoadError));
	showHistory();
	if (location.hash === "#new") workingDirectory.select();
	const problems = await Promise.allSettled([loadModels(), loadDirectory()]);
	for (const problem of problems) if (problem.status === "rejected") showLoadError(problem.reason);
}
