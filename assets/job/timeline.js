// A job as a time line: one bar per run of a task, to find the slow branch.
import { button, element, fill, muted } from "../lib/dom.js";
import { formatDuration, joined } from "../lib/format.js";

/** @type {SpanOf} */
function spanOf(runs, now) {
  const start = Math.min(...runs.map(run => run.startTime));
  return { start, wholeMs: Math.max(...runs.map(run => run.endTime ?? now)) - start };
}

/** @type {LayOutBars} */
export function layOutBars(runs, now) {
  const { start, wholeMs } = spanOf(runs, now);
  const percent = (/** @type {number} */ ms) => (ms / Math.max(1, wholeMs)) * 100;
  const durations = runs.map(run => Math.max(0, (run.endTime ?? now) - run.startTime));
  const longest = Math.max(...durations);
  return runs.map((run, index) => {
    const durationMs = durations[index] ?? 0;
    return {
      run,
      left: percent(run.startTime - start),
      width: percent(durationMs),
      durationMs,
      isSlowest: runs.length > 1 && durationMs === longest,
    };
  });
}

export class Timeline {
  #div;
  #options;

  /** @param {HTMLElement} div @param {TimelineOptions} options */
  constructor(div, options) {
    this.#div = div;
    this.#options = options;
    div.classList.add("timeline");
  }

  /** @type {ShowTimeline} */
  show(runs, now) {
    if (runs.length === 0) return void fill(this.#div, muted("No task has started yet."));
    const rows = layOutBars(runs, now).map(bar => this.#row(bar));
    const at = [...this.#div.children].indexOf(/** @type {Element} */ (document.activeElement));
    fill(this.#div, this.#scale(spanOf(runs, now).wholeMs), ...rows);
    // The scale comes first.
    rows[at - 1]?.focus();
  }

  /** @param {number} wholeMs */
  #scale(wholeMs) {
    const marks = [0, 0.5, 1].map(part =>
      element("span", { style: `left: ${part * 100}%` }, part === 0 ? "0" : formatDuration(wholeMs * part)),
    );
    return element("div", { className: "timeline-scale", ariaHidden: "true" }, element("div", {}, ...marks));
  }

  /** @param {TimelineBar} bar */
  #row({ run, left, width, durationMs, isSlowest }) {
    const { labelOf, onSelect, isSelected } = this.#options;
    const style = `left: ${left}%; width: ${width}%`;
    const bar = element("span", { className: "timeline-bar", "data-status": run.status, style });
    const attempts = run.attempt > 1 && `${run.attempt} attempts`;
    const time = joined([formatDuration(durationMs), attempts, isSlowest && "slowest"]);
    const name = labelOf(run.workId);
    const row = button("", () => onSelect(run), {
      className: "timeline-row",
      "data-slowest": isSlowest ? "" : undefined,
      ariaPressed: isSelected(run),
    });
    return fill(
      row,
      element("span", { className: "one-line", title: name }, name),
      element("span", "timeline-track", bar),
      element("span", "timeline-time", time),
    );
  }
}
