// The agents page: who there is, how clear a prompt is, who would run, and the run itself.
import { showRuns } from "./agentRuns.js";
import { api, messageOf, part, withProgress } from "./api.js";
import { byId, element } from "./dom.js";
import { notify, setPageState } from "./pageState.js";
import { SessionResponseRenderer } from "./sessionResponse.js";
import { makeSplitter } from "./splitter.js";
import { readEvents } from "./stream.js";

const RUN_PART_PX = 760;
const EVALUATE_DELAY_MS = 200;

const list = byId("list", HTMLElement);
const prompt = byId("prompt", HTMLTextAreaElement);
const run = byId("run", HTMLButtonElement);
const stop = byId("stop", HTMLButtonElement);
const evaluation = byId("evaluation", HTMLElement);
const status = byId("status", HTMLElement);
/** The agents that are pressed, in that order. @type {string[]} */
let chain = [];
/** @type {string | undefined} */
let runId;
let isRunning = false;
let asked = 0;
const refreshRuns = showRuns(byId("runs", HTMLElement), () => runId);

/** @param {unknown} [error] */
function showError(error) {
  byId("error", HTMLElement).textContent = error === undefined ? "" : messageOf(error);
}

/** @param {"" | "Running" | "Succeeded" | "Failed" | "Canceled"} state */
function showState(state) {
  isRunning = state === "Running";
  status.textContent = state;
  status.dataset.status = state;
  stop.hidden = !isRunning;
  showRunButton();
  const pageStates = /** @type {const} */ ({ Running: "running", Succeeded: "succeeded", Failed: "failed" });
  setPageState("Agents", pageStates[/** @type {"Running"} */ (state)] ?? "idle");
  refreshRuns();
}

function showRunButton() {
  run.disabled = isRunning || prompt.value.trim() === "";
  run.textContent = chain.length === 0 ? "Run" : `Run ${chain.join(" → ")}`;
}

function showChain() {
  for (const button of list.querySelectorAll("button")) {
    const name = button.dataset.agent ?? "";
    const at = chain.indexOf(name);
    button.setAttribute("aria-pressed", String(at >= 0));
    const mark = button.querySelector("[data-order]");
    if (mark) mark.textContent = at >= 0 ? `${at + 1}. ` : "";
  }
  showRunButton();
}

/** @param {{name: string, description: string, keywords: string[], path: string, autoSelect: boolean}} agent */
function agentItem({ name, description, keywords, path, autoSelect }) {
  const button = element(
    "button",
    { type: "button", "data-agent": name, "aria-pressed": "false", title: path },
    element("b", {}, element("span", { "data-order": "" }), name),
    element("span", {}, description),
    element(
      "span",
      { className: "muted" },
      [...keywords, ...(autoSelect ? [] : ["only by name"])].join(" · "),
    ),
  );
  button.addEventListener("click", () => {
    chain = chain.includes(name) ? chain.filter(other => other !== name) : [...chain, name];
    showChain();
  });
  return element("li", {}, button);
}

async function loadAgents() {
  const { repoRoot, agents, problems } = await api("copilot/agent");
  byId("repoRoot", HTMLElement).textContent = repoRoot;
  list.replaceChildren(...agents.map(agentItem));
  const empty =
    "There are no agents yet. Agent files are Markdown files in .github/agents/ of the repository.";
  byId("problems", HTMLElement).replaceChildren(
    ...(agents.length === 0 ? [element("p", { className: "notice" }, empty)] : []),
    ...problems.map((/** @type {{file: string, code: string, message: string}} */ { file, code, message }) =>
      element("p", { className: "notice", "data-level": "warning" }, `${file}: ${message} (${code})`),
    ),
  );
  const names = new Set(agents.map((/** @type {{name: string}} */ agent) => agent.name));
  chain = chain.filter(name => names.has(name));
  showChain();
}

/** @param {any} result */
function showEvaluation(result) {
  const percent = Math.round(result.confidence * 100);
  const verdict = `${result.isClear ? "Clear" : "Unclear"}, confidence ${percent} %`;
  const issues = result.issues.length > 0 ? `: ${result.issues.join(", ")}` : "";
  const selected = /** @type {string[]} */ (result.selectedAgents);
  evaluation.replaceChildren(
    element("b", {}, verdict + issues),
    ...(result.suggestions ? [element("span", { className: "muted" }, result.suggestions)] : []),
    element(
      "span",
      {},
      selected.length > 0 ? `Would run: ${selected.join(" → ")}` : "No agent would be chosen.",
    ),
    element(
      "ul",
      { className: "muted" },
      ...result.selectionRationale.map((/** @type {string} */ why) => element("li", {}, why)),
    ),
    ...(result.refinedPrompt === result.originalPrompt.trim()
      ? []
      : [
          element(
            "details",
            {},
            element("summary", {}, "What the agents would be asked"),
            element("pre", {}, result.refinedPrompt),
          ),
        ]),
  );
  for (const button of list.querySelectorAll("button"))
    button.toggleAttribute("data-selected", selected.includes(button.dataset.agent ?? ""));
}

async function evaluate() {
  asked += 1;
  const mine = asked;
  const text = prompt.value;
  if (text.trim() === "") {
    evaluation.replaceChildren();
    return;
  }
  try {
    const result = await api("copilot/agent/evaluate", text);
    // An older question may be answered later.
    if (mine === asked) showEvaluation(result);
  } catch (error) {
    if (mine === asked) showError(error);
  }
}

/** @param {string} id */
function follow(id) {
  runId = id;
  const place = element("div", { id: "responses" });
  byId("responses", HTMLElement).replaceWith(place);
  const renderer = new SessionResponseRenderer(place);
  const tell = (/** @type {string} */ severity, /** @type {string} */ title) =>
    renderer.processCallback({ callback: "onNotice", severity, title });
  showState("Running");
  renderer.setAwaiting(true);

  /** @type {Record<string, (response: any) => void>} */
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
      tell("error", [`${message} (${code})`, details].filter(Boolean).join(" "));
      showState("Failed");
    },
    runCanceled: () => {
      tell("warning", "The run was stopped.");
      showState("Canceled");
    },
  };
  readEvents({
    path: `copilot/run/${part(id)}/events`,
    onResponse: response => {
      const callback = renderer.processCallback(response) ?? "";
      if (Object.hasOwn(told, callback)) told[callback]?.(response);
    },
    onEnd: error => {
      renderer.setAwaiting(false);
      if (error === "RunNotFound") {
        showState("");
        showError("This run is gone: it was deleted, or its address is wrong.");
      } else notify("Agents: the run has ended");
    },
  });
}

async function start() {
  if (run.disabled) return;
  showError();
  run.disabled = true;
  try {
    const agents = chain.length > 0 ? `?agents=${part(chain.join(","))}` : "";
    const { runId: id } = await withProgress(run, () => api(`copilot/run/start${agents}`, prompt.value));
    history.replaceState(null, "", `/agents.html?run=${part(id)}`);
    follow(id);
  } catch (error) {
    showError(error);
    showRunButton();
  }
}

let timer = 0;
prompt.addEventListener("input", () => {
  clearTimeout(timer);
  showError();
  showRunButton();
  timer = setTimeout(evaluate, EVALUATE_DELAY_MS);
});
prompt.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  start();
});
byId("form", HTMLFormElement).addEventListener("submit", event => {
  event.preventDefault();
  start();
});
stop.addEventListener("click", () => {
  if (runId) withProgress(stop, () => api(`copilot/run/${part(runId ?? "")}/stop`, "")).catch(showError);
});
// Agent files are edited elsewhere: who comes back to the page sees them as they are.
addEventListener("focus", () => loadAgents().catch(showError));

makeSplitter(byId("bar", HTMLElement), /** @type {HTMLElement} */ (document.querySelector(".agents-right")), {
  direction: "horizontal",
  initialPx: RUN_PART_PX,
  minPx: 260,
  name: "Width of the run part",
});
loadAgents().catch(showError);
const earlier = new URLSearchParams(location.search).get("run");
if (earlier) {
  follow(earlier);
  api(`copilot/run/${part(earlier)}`).then(
    ({ prompt: text }) => {
      if (prompt.value === "") prompt.value = text;
      showRunButton();
      evaluate();
    },
    () => undefined,
  );
}
prompt.focus();
