// The controls of an ACP agent: its options, commands and plan, and how full its context is.

import {
	byId,
	element,
	errorAt,
	fill,
	formatCount,
	handle,
	muted,
	nextFrame,
	onPress,
	optionsOf,
	part,
	send,
	visibleLine,
} from "../lib/page.js";

const ROOMY_PX = 1200;

/** @param {SessionOption} option */
const isOfModel = ({ category = "" }) => /^(model|thought)/.test(category);

/** @type {OptionsInOrder} */
function inOrder(options) {
	const models = options.filter(isOfModel);
	return options.flatMap(one => (one === models[0] ? models : isOfModel(one) ? [] : [one]));
}

/** @type {OptionControl} */
function control({ id, name, description = "", type, value, choices = [], confirmed }, wish) {
	const current = String(value ?? "");
	const isListed = choices.some(choice => choice.value === current);
	const listed = isListed ? choices : [{ value: current, name: current }, ...choices];
	const options = listed.map(choice => ({ ...choice, name: visibleLine(choice.name) }));
	const shown = visibleLine(name);
	const about = { "data-option": id, ariaLabel: shown };
	const input =
		type === "boolean"
			? element("input", { type: "checkbox", ...about })
			: element("select", { className: "small", ...about }, ...optionsOf(options));
	const show = () => {
		if (input instanceof HTMLInputElement) input.checked = value === true;
		else input.value = current;
	};
	const remark = confirmed === false && muted("not confirmed");
	const label = element(
		"label",
		{ className: "line", title: visibleLine(description) },
		shown,
		input,
		remark,
	);
	input.onchange = () => {
		const wanted = input instanceof HTMLInputElement ? input.checked : input.value;
		show();
		wish(wanted, label);
	};

	show();
	return label;
}

/** @param {readonly PlanEntry[]} entries */
function showPlan(entries) {
	const done = entries.filter(({ status }) => status === "completed").length;
	const tab = byId("planTab");
	// The first plan opens the drawer where there is room for it.
	if (tab.hidden && byId("drawer").hidden && innerWidth >= ROOMY_PX) tab.click();
	tab.hidden = entries.length === 0;
	tab.textContent = `Plan ${done}/${entries.length}`;
	fill(
		byId("planList"),
		...entries.map(({ content, priority = "", status }) =>
			element("li", { "data-status": status }, `${visibleLine(content)} `, muted(priority)),
		),
	);
}

/** @param {ContextUsage} usage */
function showContext({ used, size, cost }) {
	const meter = byId("contextMeter");
	Object.assign(meter, { max: size, high: size * 0.8, value: used });
	const price = cost?.amount ? ` · ${Number(cost.amount.toFixed(4))} ${cost.currency}` : "";
	meter.nextSibling?.replaceWith(`${formatCount(used)} of ${formatCount(size)} tokens${price}`);
	byId("context").hidden = false;
}

/** @type {AsResponses} */
const asResponses = ({ options, modes, currentModeId, commands, plan, usage = {} }) => [
	{ callback: "onOptions", options },
	{ callback: "onMode", modes, currentModeId },
	{ callback: "onCommands", commands },
	{ callback: "onPlan", entries: plan },
	{ callback: "onUsage", ...usage },
];

/** @type {AgentControls} */
export function agentControls(sessionId, setCommands) {
	const place = byId("agentOptions");
	const showError = errorAt("agentError");
	/** @type {readonly SessionOption[]} */
	let options = [];
	/** @type {KnownMode} */
	let mode = { modes: [] };

	/** @type {Wish} */
	function wish(route, body, label) {
		showError();
		send(label, `copilot/session/${part(sessionId)}/${route}`, body).catch(showError);
	}

	function showOptions() {
		const focused = document.activeElement?.getAttribute("data-option");
		const { modes, currentModeId } = mode;
		const choices = modes.map(one => ({ ...one, value: one.id }));
		/** @type {ShownOption} */
		const separate = { id: "", name: "Mode", type: "select", value: currentModeId, choices };
		const hasMode = modes.length === 0 || options.some(({ category }) => category === "mode");
		fill(
			place,
			!hasMode && control(separate, (modeId, label) => wish("mode", { modeId }, label)),
			...inOrder(options).map(option =>
				control(option, (value, label) => wish("option", { configId: option.id, value }, label)),
			),
		);
		for (const made of place.querySelectorAll("[data-option]"))
			if (made.dataset.option === focused) made.focus();
	}

	/** @type {Handlers} */
	const handlers = {
		onOptions: data => {
			options = data.options;
			nextFrame(showOptions);
		},
		onMode: data => {
			mode = data;
			nextFrame(showOptions);
		},
		onPlan: data => showPlan(data.entries),
		onCommands: data => setCommands(data.commands),
		onUsage: data => {
			if ("used" in data) showContext(data);
		},
	};
	const showTraffic = async () => (await import("../agents/traffic.js")).showTraffic(sessionId);
	onPress("traffic", showTraffic, showError);
	/** The log is newer than any other answer. @type {Set<string | undefined>} */
	const told = new Set();
	return {
		show(response) {
			told.add(response.callback);
			handle(handlers, response);
		},
		// Shows what the agent has said before the part of the log that is known.
		know(state) {
			for (const response of asResponses(state)) if (!told.has(response.callback)) handle(handlers, response);
		},
	};
}
