// Agent programs that speak ACP: their state, last output and earlier sessions.
import {
	api,
	button,
	byId,
	copyOf,
	element,
	fill,
	find,
	formatTime,
	joined,
	messageOf,
	muted,
	notice,
	onPress,
	part,
	repeat,
	showStatus,
	visibleLine,
	withProgress,
} from "../lib/page.js";

const REFRESH_MS = 5_000;
/** The function that shows a program, by its id. @type {Map<string, ShowProgram>} */
const programs = new Map();

/** @type {AddProgram} */
function addProgram(id) {
	const card = copyOf("program");
	const path = `acp/agent/${part(id)}`;
	const place = (name = "") => find(card, `[data-part=${name}]`);
	const put = (name = "", text = "") =>
		Object.assign(place(name), { textContent: text, hidden: text === "" });

	/** @type {ActOnProgram} */
	async function act(control, action) {
		const { dataset } = put("told");
		dataset.level = "good";
		const told = await withProgress(control, action).catch(error => {
			dataset.level = "error";
			return messageOf(error);
		});
		put("told", told);
		refresh();
	}

	async function test() {
		const { version = "", authMethods = [] } = await api(`${path}/test`, "");
		// Other kinds of sign-in need a terminal.
		fill(place("more"), ...authMethods.filter(({ type }) => !type).map(signIn));
		return `It answers. ${version}`;
	}

	/** @param {any} method */
	function signIn({ id: methodId, name }) {
		const made = button(`Sign in: ${visibleLine(String(name))}`, () =>
			act(made, async () => {
				await api(`${path}/authenticate`, { methodId });
				return "Signed in.";
			}),
		);
		return element("li", {}, made);
	}

	async function list() {
		const { sessions } = await api(`${path}/sessions`);
		fill(place("more"), ...sessions.map(sessionItem));
		return sessions.length > 0 ? "" : "It remembers no session.";
	}

	/** @param {any} session */
	function sessionItem({ sessionId, cwd, title, updatedAt }) {
		const load = button("Load", () =>
			act(load, async () => {
				const body = { agentSessionId: sessionId, cwd, replay: true };
				const loaded = await api(`copilot/session/load/${part(`acp:${id}`)}`, body);
				location.href = `/index.html?session=${part(loaded.sessionId)}`;
				return "";
			}),
		);
		const about = muted(`${formatTime(new Date(updatedAt))} ${visibleLine(cwd)}`);
		return element("li", {}, load, ` ${visibleLine(title || sessionId)} `, about);
	}

	/** @type {ProgramActions} */
	const actions = { test, list, restart: () => api(`${path}/restart`, "").then(test) };
	for (const control of card.querySelectorAll("button"))
		control.onclick = () => act(control, actions[control.name] ?? test);
	byId("programs").append(card);
	return agent => {
		const { title, enabled, transport, version, capabilities, sessions, lastError, stderr } = agent;
		const state = enabled ? agent.state : "disabled";
		put("title", title);
		showStatus(place("state"), state);
		put("about", joined([`acp:${id}`, transport, version, `sessions: ${sessions}`]));
		put("lastError", lastError);
		place("restart").textContent = lastError ? "Try again" : "Restart";
		put("capabilities", capabilities && JSON.stringify(capabilities, undefined, 2));
		put("log", stderr.join("\n"));
	};
}

async function refresh() {
	const { agents, problems } = await api("acp/agents");
	byId("noPrograms").hidden = agents.length > 0;
	fill(byId("programProblems"), ...problems.map(problem => notice(problem, "warning")));
	for (const agent of agents) {
		if (!programs.has(agent.id)) programs.set(agent.id, addProgram(agent.id));
		programs.get(agent.id)?.(agent);
	}
}

onPress(
	"reload",
	() => api("acp/reload", "").then(refresh),
	error => fill(byId("programProblems"), notice(messageOf(error), "error")),
);
repeat(refresh, REFRESH_MS);
