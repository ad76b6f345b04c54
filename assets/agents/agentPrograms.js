// Agent programs that speak ACP: the state of each, its last output, and its earlier sessions.
import { api, messageOf, part, withProgress } from "../lib/api.js";
import { button, byId, element, muted, showStatus } from "../lib/dom.js";
import { formatTime } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { notice } from "../shell/notice.js";

const REFRESH_MS = 5_000;
/** The function that shows a program, by its id. @type {Map<string, (agent: any) => void>} */
const programs = new Map();

/** @param {string} id */
function addProgram(id) {
  const { content } = byId("program", HTMLTemplateElement);
  const card = /** @type {HTMLElement} */ (content.firstElementChild?.cloneNode(true));
  const path = `acp/agent/${part(id)}`;
  const find = (/** @type {string} */ name) =>
    /** @type {HTMLElement} */ (card.querySelector(`[data-part=${name}]`));
  const put = (/** @type {string} */ name, text = "") =>
    Object.assign(find(name), { textContent: text, hidden: text === "" });

  /** @param {HTMLElement} control @param {() => Promise<string>} action what it did, in words */
  async function act(control, action) {
    put("told");
    find("told").dataset.level = "good";
    const told = await withProgress(control, action).catch(error => {
      find("told").dataset.level = "error";
      return messageOf(error);
    });
    put("told", told);
    refresh();
  }

  async function test() {
    const { version = "", authMethods = [] } = await api(`${path}/test`, "");
    // Other kinds of sign-in need a terminal.
    const methods = authMethods.filter((/** @type {any} */ method) => !method.type);
    find("more").replaceChildren(...methods.map(signIn));
    return `It answers. ${version}`;
  }

  /** @param {any} method */
  function signIn({ id: methodId, name }) {
    const made = button(`Sign in: ${visibleLine(String(name))}`, () =>
      act(made, async () => {
        await api(`${path}/authenticate`, JSON.stringify({ methodId }));
        return "Signed in.";
      }),
    );
    return element("li", {}, made);
  }

  async function list() {
    const { sessions } = await api(`${path}/sessions`);
    find("more").replaceChildren(...sessions.map(sessionItem));
    return sessions.length > 0 ? "" : "It remembers no session.";
  }

  /** @param {any} session */
  function sessionItem({ sessionId, cwd, title, updatedAt }) {
    const load = button("Load", () =>
      act(load, async () => {
        const body = JSON.stringify({ agentSessionId: sessionId, cwd, replay: true });
        const loaded = await api(`copilot/session/load/${part(`acp:${id}`)}`, body);
        location.href = `/index.html?session=${part(loaded.sessionId)}`;
        return "";
      }),
    );
    return element(
      "li",
      {},
      load,
      ` ${visibleLine(title || sessionId)} `,
      muted(`${formatTime(new Date(updatedAt))} ${visibleLine(cwd)}`),
    );
  }

  /** @type {Record<string, () => Promise<string>>} */
  const actions = { test, list, restart: () => api(`${path}/restart`, "").then(test) };
  for (const control of card.querySelectorAll("button"))
    control.addEventListener("click", () => act(control, actions[control.name] ?? test));
  byId("programs").append(card);
  return (/** @type {any} */ agent) => {
    const { title, enabled, transport, version, capabilities, sessions, lastError, stderr } = agent;
    const state = enabled ? agent.state : "disabled";
    put("title", title);
    showStatus(find("state"), state);
    put("about", [`acp:${id}`, transport, version, `sessions: ${sessions}`].filter(Boolean).join(" · "));
    put("lastError", lastError);
    find("restart").textContent = lastError ? "Try again" : "Restart";
    put("capabilities", capabilities && JSON.stringify(capabilities, undefined, 2));
    put("log", stderr.join("\n"));
  };
}

async function refresh() {
  const { agents, problems } = await api("acp/agents");
  byId("noPrograms").hidden = agents.length > 0;
  byId("programProblems").replaceChildren(
    ...problems.map((/** @type {string} */ problem) => notice(problem, "warning")),
  );
  for (const agent of agents) {
    if (!programs.has(agent.id)) programs.set(agent.id, addProgram(agent.id));
    programs.get(agent.id)?.(agent);
  }
}

const reload = byId("reload");
reload.addEventListener("click", () => withProgress(reload, () => api("acp/reload", "")).then(refresh));
setInterval(() => {
  if (!document.hidden) refresh();
}, REFRESH_MS);
refresh();
