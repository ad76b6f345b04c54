// The flow chart of a job as the server lays it out; the user zooms and drags it.
import { api, copyOf, element, fill, find, nextFrame, scrollable } from "./lib/page.js";

const ZOOM_MIN = 0.2;
const ZOOM_MAX = 3;
const ZOOM_STEP = 0.1;
// The same as in flowChartMermaid.css.
const TOOLS_PX = 56;
const WIDE_PX = 1400;
// A chart that is too large for this zoom is scrolled, not shrunk.
const READABLE = 0.8;
const PER_FRAME = 60;
const LINE_CHARS = 33;
// A shorter move is a click, not a drag.
const DRAG_PX = 4;
// Of the distance of two fingers, for one step.
const PINCH_STEP = 1.1;

const marks = {
	Waiting: "M0-7a7 7 0 1 0 .01 0M0-4V0L3 2",
	Running: "M0-7A7 7 0 1 1-7 0",
	"Needs you": "M0-7V2M0 6.5V7",
	Succeeded: "M-6 0-2 5 7-6",
	Failed: "M-5-5 5 5M5-5-5 5",
	Canceled: "M-5 0H5",
};

/** @param {ChartHint} hint */
export const kindOf = hint => (typeof hint === "string" ? hint : hint[0]);

/** @type {WorkIdOf} */
export const workIdOf = hint => (typeof hint === "string" ? undefined : hint[1]);

/** @type {DrawSvg} */
function draw(name, attributes, ...content) {
	const made = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", name));
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
	made.append(...content);
	return made;
}

/** @param {ChartBox} box */
function shapeOf({ node, width, height }) {
	const [x, y] = [width / 2, height / 2];
	const kind = kindOf(node.hint);
	if (kind === "LoopEnd") return draw("circle", { r: x });
	if (kind === "TaskNode") return draw("rect", { x: -x, y: -y, width, height, rx: 6 });
	// Half of its upper side.
	const top = x - (kind === "CondNode" ? 14 : kind === "CondEnd" ? x : 0);
	return draw("polygon", { points: `${-x} 0 ${-top} ${-y} ${top} ${-y} ${x} 0 ${top} ${y} ${-top} ${y}` });
}

/** @param {DrawnArrow} arrow */
const drawArrow = ({ path, label, x, y }) => [
	draw("path", { class: "flowchart-link", d: path }),
	...(label ? [draw("text", { class: "edgeLabel", x, y }, label)] : []),
];

const frame = () => new Promise(start => nextFrame(() => start(undefined)));

const cut = (text = "") => (text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS - 1)}…` : text);

// Fires `select` when the user selects a task; `detail` is its number in the job. Then `leave`, for a place beside the nodes.
export class FlowChart extends EventTarget {
	#view = scrollable("flow-chart-view", "Flow chart");
	#zoomLabel = element("output");
	#svg = draw("svg", {});
	#size = { width: 0, height: 0 };
	zoom = 1;
	/** @type {number | undefined} */
	#selected;
	/** @type {Map<number, SVGElement>} */
	#nodes = new Map();
	/** Also of those that are not drawn yet. @type {Map<number, NodeState>} */
	#states = new Map();
	/** Those that do not show their state yet. @type {Set<number>} */
	#stale = new Set();

	/** @param {HTMLElement} div */
	constructor(div) {
		super();
		div.classList.add("flow-chart");
		div.append(this.#view);
		if (document.getElementById("chartTools")) this.#addTools(div);
		this.#listenToWheelAndKeys();
		this.#listenToPointers();
	}

	/** @param {HTMLElement} div */
	#addTools(div) {
		const tools = copyOf("chartTools");
		this.#zoomLabel = find(tools, "output");
		for (const one of tools.querySelectorAll("button"))
			one.onclick = () => (one.value ? this.#zoomBy(Number(one.value)) : this.fit());
		div.append(tools);
	}

	get selected() {
		return this.#selected;
	}

	set selected(workId) {
		this.#selected = workId;
		for (const [id, node] of this.#nodes) {
			node.classList.toggle("selected", id === workId);
			node.ariaPressed = String(id === workId);
		}
	}

	/** Some nodes in each frame: it takes long to lay out their texts. @param {ChartGraph} graph */
	async show({ nodes, layout }) {
		const { nodes: places, arrows, ...size } = layout ?? (await api("copilot/chart", { nodes }));
		this.#size = size;
		const svg = draw("svg", { viewBox: `0 0 ${size.width} ${size.height}` });
		this.#svg = svg;
		this.fit();
		const comfortable = this.#view.clientWidth > WIDE_PX ? 1.5 : 1;
		this.zoomTo(Math.min(comfortable, Math.max(READABLE, this.zoom)));
		fill(this.#view, svg);
		this.#view.scrollTo((this.#view.scrollWidth - this.#view.clientWidth) / 2, 0);
		const boxes = nodes.flatMap((node, n) => (places[n] ? { node, ...places[n] } : []));
		const parts = [...boxes, ...arrows];
		for (let n = 0; n < parts.length; n += PER_FRAME) {
			await frame();
			const some = parts.slice(n, n + PER_FRAME);
			svg.append(...some.flatMap(one => ("path" in one ? drawArrow(one) : this.#drawNode(one))));
		}
		this.selected = this.#selected;
	}

	reveal(workId = 0) {
		this.#nodes.get(workId)?.scrollIntoView({ block: "center", inline: "center" });
	}

	/** @param {number} workId @param {NodeState} state */
	setState(workId, state) {
		this.#states.set(workId, state);
		this.#stale.add(workId);
		if (this.#stale.size === 1) this.#showStates();
	}

	// As slowly as they are drawn.
	async #showStates() {
		while (this.#stale.size > 0) {
			await frame();
			for (const workId of [...this.#stale].slice(0, PER_FRAME / 2)) this.#showState(workId);
		}
	}

	#showState(workId = 0) {
		this.#stale.delete(workId);
		const node = this.#nodes.get(workId);
		if (!node) return;
		/** @type {NodeState} */
		const { status, detail, said = "", tip = "" } = this.#states.get(workId) ?? { detail: "" };
		if (status) node.dataset.status = status;
		else delete node.dataset.status;
		node.toggleAttribute("data-said", said !== "");
		node.querySelector(".mark")?.setAttribute("d", status ? marks[status] : "");
		for (const [selector, text] of Object.entries({ ".detail": detail, ".said": cut(said), title: tip })) {
			const found = node.querySelector(selector);
			if (found && found.textContent !== text) found.textContent = text;
		}
	}

	/** @type {Zoom} */
	#zoomBy(steps, at) {
		this.zoomTo(this.zoom + steps * ZOOM_STEP, at);
	}

	/** @type {Zoom} */
	zoomTo(zoom, at) {
		const next = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, Math.round(zoom * 10) / 10));
		const { left, top, width, height } = this.#view.getBoundingClientRect();
		const x = (at?.x ?? left + width / 2) - left;
		const y = (at?.y ?? top + height / 2) - top;
		const ratio = next / this.zoom;
		const scrollLeft = (this.#view.scrollLeft + x) * ratio - x;
		const scrollTop = (this.#view.scrollTop + y) * ratio - y;
		this.zoom = next;
		this.#zoomLabel.textContent = `${Math.round(next * 100)} %`;
		this.#svg.style.width = `${this.#size.width * next}px`;
		this.#svg.style.height = `${this.#size.height * next}px`;
		this.#view.scrollTo(scrollLeft, scrollTop);
	}

	fit() {
		const { clientWidth, clientHeight } = this.#view;
		if (clientWidth === 0 || this.#size.width === 0) return;
		const zoom = Math.min(clientWidth / this.#size.width, (clientHeight - TOOLS_PX) / this.#size.height);
		this.zoomTo(Math.floor(zoom * 10 + 1e-6) / 10);
	}

	/** @param {ChartBox} box */
	#drawNode(box) {
		const { hint, label = "" } = box.node;
		const shape = shapeOf(box);
		const group = draw(
			"g",
			{ class: `node ${kindOf(hint)}`, transform: `translate(${box.x} ${box.y})` },
			shape,
		);
		const workId = workIdOf(hint);
		if (workId === undefined) return group;
		shape.classList.add("label-container");
		shape.append(draw("title", {}));
		group.append(
			draw("text", { class: "name", y: -13 }, label),
			draw("text", { class: "detail", y: 6 }),
			draw("text", { class: "said", y: 23 }),
			draw("g", { transform: `translate(${-box.width / 2 - 15})` }, draw("path", { class: "mark" })),
		);
		Object.assign(group, { role: "button", tabIndex: 0 }).dataset.workId = String(workId);
		this.#nodes.set(workId, group);
		this.#showState(workId);
		return group;
	}

	/** @param {EventTarget | null} target */
	#selectAt(target) {
		const node = target instanceof Element ? target.closest("[data-work-id]") : null;
		const workId = node instanceof SVGElement ? Number(node.dataset.workId) : undefined;
		this.selected = workId === this.#selected ? undefined : workId;
		this.dispatchEvent(new CustomEvent("select", { detail: this.#selected }));
		if (!node) this.dispatchEvent(new Event("leave"));
	}

	#listenToWheelAndKeys() {
		this.#view.onwheel = event => {
			if (!event.ctrlKey) return;
			event.preventDefault();
			this.#zoomBy(-Math.sign(event.deltaY), event);
		};
		this.#view.onkeydown = event => {
			const { key, target } = event;
			if (key === "+" || key === "=") this.#zoomBy(1);
			else if (key === "-") this.#zoomBy(-1);
			else if (key === "0") this.fit();
			else if (key === "Enter" || key === " ") this.#selectAt(target);
			else return;
			event.preventDefault();
		};
	}

	// One pointer drags, two pinch; a press that does not move selects.
	#listenToPointers() {
		const view = this.#view;
		/** @type {Map<number, PointerEvent>} */
		const fingers = new Map();
		let moved = 0;
		let apart = 0;
		const distance = () => {
			const [a, b] = fingers.values();
			return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
		};
		view.onpointerdown = event => {
			if (event.button !== 0) return;
			if (fingers.size === 0) moved = 0;
			fingers.set(event.pointerId, event);
			apart = distance();
		};
		view.onpointermove = event => {
			const last = fingers.get(event.pointerId);
			if (!last) return;
			fingers.set(event.pointerId, event);
			moved += Math.abs(event.x - last.x) + Math.abs(event.y - last.y);
			if (moved <= DRAG_PX) return;
			view.setPointerCapture(event.pointerId);
			const ratio = distance() / apart;
			if (fingers.size === 1) view.scrollBy(last.x - event.x, last.y - event.y);
			else if (ratio > PINCH_STEP || ratio < 1 / PINCH_STEP) {
				this.#zoomBy(Math.sign(ratio - 1), event);
				apart = distance();
			}
		};
		view.onpointerup = view.onpointercancel = event => {
			if (!fingers.delete(event.pointerId)) return;
			apart = distance();
			if (event.type === "pointerup" && moved <= DRAG_PX && fingers.size === 0) this.#selectAt(event.target);
		};
	}
}

/** @type {RenderChart} */
export async function renderFlowChartMermaid(graph, container, onSelect) {
	const chart = new FlowChart(container);
	chart.addEventListener("select", () => onSelect?.(chart.selected));
	await chart.show(graph);
	return chart;
}

Object.assign(globalThis, { renderFlowChartMermaid });
