// The flow chart of a job: Mermaid lays it out, flowChartMermaid.css colours it, and the user zooms and drags it.
import { chartSource, kindOf, workIdOf } from "./job/chartSource.js";
import { button, element, fill } from "./lib/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const ZOOM_MIN = 0.2;
const ZOOM_MAX = 3;
const ZOOM_STEP = 0.1;
/** The height of the tools below the chart; the same as in flowChartMermaid.css. */
const TOOLS_PX = 56;
/** From this width on, the chart may grow beyond its natural size. */
const WIDE_PX = 2000;
/** A chart that is too large for this zoom is scrolled, not shrunk. */
const READABLE = 0.8;
/** A shorter move is a click, not a drag. */
const DRAG_PX = 4;
/** Two fingers that move apart by this factor zoom by one step. */
const PINCH_STEP = 1.1;

/** The mark beside a node's left border, drawn around 0,0. */
const marks = {
  Waiting: "M0 -7a7 7 0 1 0 0.01 0M0 -4V0L3 2",
  Running: "M-5 -7L7 0L-5 7Z",
  Succeeded: "M-6 0L-2 5L7 -6",
  Failed: "M-5 -5L5 5M5 -5L-5 5",
  Canceled: "M-5 0H5",
};

/** @param {string} name @param {Record<string, string | number>} attributes */
function svgElement(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

let charts = 0;

/** @param {ChartGraph} graph @param {Element} room an element that Mermaid may measure in */
async function layOut(graph, room) {
  const { default: mermaid } = await import("/vendor/mermaid/mermaid.js");
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: "base",
    themeVariables: { fontFamily: getComputedStyle(room).fontFamily, fontSize: "14px" },
    htmlLabels: false,
    flowchart: { htmlLabels: false, curve: "basis", wrappingWidth: 320, padding: 14 },
    maxEdges: 5000,
    maxTextSize: 1_000_000,
  });
  charts += 1;
  const { svg } = await mermaid.render(`chart-${charts}`, chartSource(graph), room);
  const parsed = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  if (!parsed) throw new Error("Mermaid made no chart");
  for (const style of parsed.querySelectorAll("style")) style.remove();
  for (const styled of [parsed, ...parsed.querySelectorAll("[style]")]) styled.removeAttribute("style");
  return document.adoptNode(parsed);
}

/** Fires `select` when the user selects a task; `detail` is its number in the job, or undefined. */
export class FlowChart extends EventTarget {
  #view = element("div", {
    className: "flow-chart-view",
    tabIndex: 0,
    role: "group",
    "aria-label": "Flow chart",
  });
  #zoomLabel = element("output", { className: "flow-chart-zoom", title: "Zoom" });
  /** @type {SVGSVGElement | undefined} */
  #svg;
  #size = { width: 0, height: 0 };
  #zoom = 1;
  /** @type {number | undefined} */
  #selected;
  /** @type {Map<number, SVGGElement>} */
  #nodes = new Map();

  /** @param {HTMLElement} div */
  constructor(div) {
    super();
    div.classList.add("flow-chart");
    const tools = element(
      "div",
      "flow-chart-tools card line",
      button("−", () => this.#zoomBy(-1), { title: "Zoom out", ariaLabel: "Zoom out" }),
      this.#zoomLabel,
      button("+", () => this.#zoomBy(1), { title: "Zoom in", ariaLabel: "Zoom in" }),
      button("Fit", () => this.fit(), { title: "Fit the chart into the window" }),
    );
    div.append(this.#view, tools);
    this.#listenToWheelAndKeys();
    this.#listenToPointers();
  }

  get zoom() {
    return this.#zoom;
  }

  get selected() {
    return this.#selected;
  }

  set selected(workId) {
    this.#selected = workId;
    for (const [id, node] of this.#nodes) {
      node.classList.toggle("selected", id === workId);
      node.setAttribute("aria-pressed", String(id === workId));
    }
  }

  /** @param {ChartGraph} graph */
  async show(graph) {
    const room = element("div", "flow-chart-room");
    fill(this.#view, room);
    const svg = await layOut(graph, room).finally(() => room.remove());
    this.#svg = svg;
    svg.removeAttribute("id");
    svg.setAttribute("aria-roledescription", "flow chart");
    fill(this.#view, svg);
    for (const node of graph.nodes) this.#dressNode(node, svg);
    const { x, y, width, height } = svg.viewBox.baseVal;
    // The marks are outside the nodes, where Mermaid leaves no room.
    this.#size = { width: width + 40, height: height + 16 };
    svg.setAttribute("viewBox", `${x - 32} ${y - 8} ${this.#size.width} ${this.#size.height}`);
    this.selected = this.#selected;
    this.fit();
    const comfortable = this.#view.clientWidth > WIDE_PX ? 1.5 : 1;
    this.zoomTo(Math.min(comfortable, Math.max(READABLE, this.#zoom)));
    this.#view.scrollTo((this.#view.scrollWidth - this.#view.clientWidth) / 2, 0);
  }

  /** Scrolls to a node that is out of sight. @param {number} workId */
  reveal(workId) {
    this.#nodes.get(workId)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {number} workId @param {NodeState} state */
  setState(workId, { status, detail, tip = "" }) {
    const node = this.#nodes.get(workId);
    if (!node) return;
    if (status) node.dataset.status = status;
    else delete node.dataset.status;
    const set = (/** @type {string} */ selector, /** @type {string} */ text) => {
      const found = node.querySelector(selector);
      if (found && found.textContent !== text) found.textContent = text;
    };
    node.querySelector(".mark")?.setAttribute("d", status ? marks[status] : "");
    set(".detail", detail);
    set("title", tip);
  }

  /** @type {Zoom} */
  #zoomBy(steps, at) {
    this.zoomTo(this.#zoom + steps * ZOOM_STEP, at);
  }

  /** @type {Zoom} */
  zoomTo(zoom, at) {
    const next = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, Math.round(zoom * 10) / 10));
    const { left, top, width, height } = this.#view.getBoundingClientRect();
    const x = (at?.x ?? left + width / 2) - left;
    const y = (at?.y ?? top + height / 2) - top;
    const ratio = next / this.#zoom;
    const scrollLeft = (this.#view.scrollLeft + x) * ratio - x;
    const scrollTop = (this.#view.scrollTop + y) * ratio - y;
    this.#zoom = next;
    this.#zoomLabel.textContent = `${Math.round(next * 100)} %`;
    if (this.#svg) {
      this.#svg.style.width = `${this.#size.width * next}px`;
      this.#svg.style.height = `${this.#size.height * next}px`;
    }
    this.#view.scrollTo(scrollLeft, scrollTop);
  }

  /** The largest step at which the whole chart is visible. */
  fit() {
    const { clientWidth, clientHeight } = this.#view;
    if (clientWidth === 0 || this.#size.width === 0) return;
    const zoom = Math.min(clientWidth / this.#size.width, (clientHeight - TOOLS_PX) / this.#size.height);
    this.zoomTo(Math.floor(zoom * 10 + 1e-6) / 10);
  }

  /** @param {ChartNode} node @param {SVGSVGElement} svg */
  #dressNode({ id, hint, label = "" }, svg) {
    const group = /** @type {SVGGElement | null} */ (svg.querySelector(`g.node[id*="-flowchart-n${id}-"]`));
    if (!group) return;
    group.classList.add(kindOf(hint));
    group.querySelector("g.label")?.remove();
    const workId = workIdOf(hint);
    if (workId === undefined) return;
    const { x } = group.getBBox();
    group.append(
      svgElement("text", { class: "name", y: -5 }, label),
      svgElement("text", { class: "detail", y: 15 }),
      svgElement("path", { class: "mark", transform: `translate(${x - 14} 0)` }),
    );
    group.querySelector(".label-container")?.append(svgElement("title", {}));
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.dataset.workId = String(workId);
    this.#nodes.set(workId, group);
  }

  /** @param {EventTarget | null} target */
  #selectAt(target) {
    const node = target instanceof Element ? target.closest("[data-work-id]") : null;
    const workId = node instanceof SVGElement ? Number(node.dataset.workId) : undefined;
    this.selected = workId === this.#selected ? undefined : workId;
    this.dispatchEvent(new CustomEvent("select", { detail: this.#selected }));
  }

  #listenToWheelAndKeys() {
    this.#view.addEventListener(
      "wheel",
      event => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.#zoomBy(-Math.sign(event.deltaY), event);
      },
      { passive: false },
    );
    this.#view.addEventListener("keydown", event => {
      if (event.key === "+" || event.key === "=") this.#zoomBy(1);
      else if (event.key === "-") this.#zoomBy(-1);
      else if (event.key === "0") this.fit();
      else if (event.key === "Enter" || event.key === " ") this.#selectAt(event.target);
      else if (event.key === "Escape") this.#selectAt(null);
      else return;
      event.preventDefault();
    });
  }

  /** One finger or the mouse drags, two fingers pinch; a press that does not move selects. */
  #listenToPointers() {
    /** @type {Map<number, PointerEvent>} */
    const fingers = new Map();
    let moved = 0;
    let apart = 0;
    const distance = () => {
      const [a, b] = [...fingers.values()];
      return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
    };
    this.#view.addEventListener("pointerdown", event => {
      if (event.button !== 0) return;
      if (fingers.size === 0) moved = 0;
      fingers.set(event.pointerId, event);
      apart = distance();
    });
    this.#view.addEventListener("pointermove", event => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      fingers.set(event.pointerId, event);
      moved += Math.abs(event.x - last.x) + Math.abs(event.y - last.y);
      if (moved <= DRAG_PX) return;
      this.#view.setPointerCapture(event.pointerId);
      if (fingers.size === 1) this.#view.scrollBy(last.x - event.x, last.y - event.y);
      else if (distance() > apart * PINCH_STEP || distance() < apart / PINCH_STEP) {
        this.#zoomBy(Math.sign(distance() - apart), event);
        apart = distance();
      }
    });
    const end = (/** @type {PointerEvent} */ event) => {
      if (!fingers.delete(event.pointerId)) return;
      apart = distance();
      if (event.type === "pointerup" && moved <= DRAG_PX && fingers.size === 0) this.#selectAt(event.target);
    };
    this.#view.addEventListener("pointerup", end);
    this.#view.addEventListener("pointercancel", end);
  }
}

/**
 * Draws a chart into an element, as scripts of the first portal do.
 * @param {ChartGraph} graph
 * @param {HTMLElement} container
 * @param {(workId: number | undefined) => void} [onSelect]
 */
export async function renderFlowChartMermaid(graph, container, onSelect) {
  const chart = new FlowChart(container);
  chart.addEventListener("select", event =>
    onSelect?.(/** @type {CustomEvent} */ (event).detail ?? undefined),
  );
  await chart.show(graph);
  return chart;
}

Object.assign(globalThis, { renderFlowChartMermaid });
