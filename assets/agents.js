// The agents page: the agents, how clear a prompt is, who would run, and the run.

import {
	ApiError,
	addressOf,
	api,
	byId,
	element,
	errorAt,
	fill,
	filled,
	find,
	handle,
	joined,
	notice,
	notify,
	onPress,
	onSubmit,
	pageQuery,
	part,
	readEvents,
	send,
	setPageState,
	showStatus,
	soon,
	visibleLine,
	visibleProse,
} from "./lib/page.js";
import { showPolicy } from "./permissions/policyWords.js";
import { SessionResponseRenderer } from "./sessionResponse.js";
import { modelOptions, offerFolders, rememberFolder } from "./shell/choices.js";
import { runItem, showRuns } from "./shell/lastRuns.js";
import { makeSplitter } from "./shell/splitter.js";

const EVALUATE_DELAY_MS = 200;

const list = byId("list");
const prompt = byId("prompt");
const run = byId("run");
const folder = byId("folder");
const model = byId("model");
const evaluation = byId("evaluation");
/** The pressed agents, in order. @type {string[]} */
let chain = [];
/** Those that the prompt chooses. @type {string[]} */
let selected = [];
/** @type {string | undefined} */
let runId;
let isRunning = false;
let asked = 0;
const showError = errorAt("error");
const showFolderError = errorAt("folderError");
// Of this page and of MCP clients.
const refreshRuns = showRuns(async () => {
	const { runs } = await api("copilot/run/history?limit=10");
	return runs.map(one => {
		const { runId: id, prompt: text, agents } = one;
		const href = addressOf({ kind: "run", id, title: "" });
		return runItem(one, { href, text, about: [agents.join(" → ")] });
	});
});

/** @param {"" | ShownStatus} state */
function showState(state) {
	isRunning = state === "Running";
	showStatus(byId("status"), state);
	byId("stop").hidden = !isRunning;
	showRunButton();
	setPageState("Agents", state);
	refreshRuns();
}

function showRunButton() {
	run.disabled = isRunning || prompt.value.trim() === "";
	run.textContent = chain.length === 0 ? "Run" : `Run ${visibleLine(chain.join(" → "))}`;
}

function showChain() {
	for (const one of list.querySelectorAll("button")) {
		const at = chain.indexOf(one.dataset.agent ?? "");
		one.ariaPressed = String(at >= 0);
		find(one, "[data-order]").textContent = at >= 0 ? `${at + 1}. ` : "";
	}
	showRunButton();
	showWouldRun();
}

// What is pressed runs, else what the prompt chooses.
function showWouldRun() {
	const wouldRun = chain.length > 0 ? chain : selected;
	const on = model.value && ` on ${model.selectedOptions[0]?.text}`;
	byId("wouldRun").textContent =
		wouldRun.length > 0
			? `Would run: ${visibleLine(wouldRun.join(" → "))}${on}`
			: "No agent would be chosen.";
}

/** @param {AgentAnswer} agent */
function agentItem({ name, description, keywords, path, autoSelect }) {
	const toggle = () => {
		chain = chain.includes(name) ? chain.filter(other => other !== name) : [...chain, name];
		showChain();
	};
	const item = filled("agentItem", {
		"b :last-child": visibleProse(name),
		".about": visibleProse(description),
		".muted": visibleLine(joined([...keywords, !autoSelect && "only by name"])),
	});
	const made = find(item, "button");
	made.onclick = toggle;
	made.dataset.agent = name;
	made.title = visibleLine(path);
	return item;
}

const chosenFolder = () => part(folder.value.trim());

async function loadAgents() {
	const wanted = chosenFolder();
	showFolderError();
	const answer = await api(`copilot/agent?folder=${wanted}`).catch(showFolderError);
	// An older answer may arrive later.
	if (wanted !== chosenFolder()) return;
	/** @type {AgentsAnswer} */
	const { repoRoot, agents, problems } = answer ?? { repoRoot: "", agents: [], problems: [] };
	folder.value ||= repoRoot;
	fill(list, ...agents.map(agentItem));
	byId("noAgents").hidden = !answer || agents.length > 0;
	fill(
		byId("problems"),
		...problems.map(({ file, code, message }) => notice(`${file}: ${message} (${code})`, "warning")),
	);
	chain = chain.filter(name => agents.some(agent => agent.name === name));
	showChain();
}

/** @param {Evaluation} result */
function showEvaluation(result) {
	const { issues, suggestions = "", refinedPrompt, originalPrompt } = result;
	selected = result.selectedAgents;
	const verdict = `${result.isClear ? "Clear" : "Unclear"}, confidence ${Math.round(result.confidence * 100)} %`;
	evaluation.hidden = false;
	byId("verdict").textContent = joined([verdict, issues.join(", ")], ": ");
	byId("suggestions").textContent = suggestions;
	showWouldRun();
	fill(byId("rationale"), ...result.selectionRationale.map(why => element("li", {}, visibleProse(why))));
	byId("refined").hidden = refinedPrompt === originalPrompt.trim();
	byId("refinedPrompt").textContent = refinedPrompt;
	for (const one of list.querySelectorAll("button"))
		one.toggleAttribute("data-selected", selected.includes(one.dataset.agent ?? ""));
}

async function evaluate() {
	const mine = ++asked;
	const text = prompt.value;
	if (text.trim() === "") {
		evaluation.hidden = true;
		return;
	}
	// An older answer may arrive later.
	await api(`copilot/agent/evaluate?folder=${chosenFolder()}`, text).then(
		result => mine === asked && showEvaluation(result),
		error => mine === asked && showError(error),
	);
}

function follow(id = "") {
	runId = id;
	const place = element("div", { id: "responses", className: "rest" });
	byId("responses").replaceWith(place);
	const renderer = new SessionResponseRenderer(place);
	const tell = renderer.addNotice;
	showState("Running");
	renderer.setAwaiting(true);

	/** @type {Handlers} */
	const told = {
		runPlanned: ({ selectedAgents }) => tell("info", `Runs ${selectedAgents.join(" → ")}`),
		runAgentStarted: ({ agent, step }) => tell("info", `Step ${step}: ${agent}`),
		runAgentEnded: ({ agent, error, cached, executionTime }) =>
			error
				? tell("error", `${agent}: ${error.message} (${error.code})`)
				: tell("good", `${agent} is done${cached ? ", known from before" : ` in ${executionTime}`}`),
		runSucceeded: ({ partial }) => {
			if (partial) tell("warning", "Some agents did not complete.");
			showState("Succeeded");
		},
		runFailed: ({ message, code, details }) => {
			tell("error", joined([`${message} (${code})`, details], " "));
			showState("Failed");
		},
		runCanceled: () => {
			tell("warning", "The run was stopped.");
			showState("Canceled");
		},
	};
	readEvents({
		wanted: { kind: "run", id },
		onResponse: response => {
			renderer.processCallback(response);
			handle(told, response);
		},
		onEnd: error => {
			renderer.setAwaiting(false);
			if (error === "RunNotFound") {
				showState("");
				showError(new ApiError(error));
			} else notify("Agents: the run has ended");
		},
	});
}

async function start() {
	if (run.disabled) return;
	showError();
	run.disabled = true;
	try {
		const query = new URLSearchParams({
			agents: chain.join(),
			folder: folder.value.trim(),
			model: model.value,
		});
		const { runId: id } = await send(run, `copilot/run/start?${query}`, prompt.value);
		rememberFolder(folder.value.trim());
		history.replaceState(null, "", `/agents.html?run=${part(id)}`);
		follow(id);
	} catch (error) {
		showError(error);
		showRunButton();
	}
}

const evaluateSoon = soon(evaluate, EVALUATE_DELAY_MS);
prompt.oninput = () => {
	showError();
	showRunButton();
	evaluateSoon();
};
onSubmit("form", start, prompt);
onPress("stop", () => api(`copilot/run/${part(runId ?? "")}/stop`, ""), showError);
// Agent files are edited elsewhere.
addEventListener("focus", loadAgents);
offerFolders(folder);
folder.addEventListener(
	"input",
	soon(() => Promise.all([loadAgents(), evaluate()]), EVALUATE_DELAY_MS),
);
model.onchange = showWouldRun;

makeSplitter("bar");
showPolicy().catch(() => undefined);
api("copilot/models").then(({ models }) => model.append(...modelOptions(models)), showError);
const earlier = pageQuery.get("run");
if (earlier) {
	follow(earlier);
	api(`copilot/run/${part(earlier)}`).then(({ prompt: text, repoRoot }) => {
		prompt.value ||= text;
		folder.value ||= repoRoot;
		showRunButton();
		evaluate();
		loadAgents();
	}, loadAgents);
} else loadAgents();
prompt.focus();
