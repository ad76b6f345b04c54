// A job as a time line: one bar per run of a task, to find the slow branch.
import { element } from "../lib/dom.js";
import { formatDuration } from "../lib/format.js";

const MARKS = 3;

/** The place of each bar. @param {Run[]} runs @param {number} now @returns {TimelineBar[]} */
export function layOutBars(runs, now) {
  const start = Math.min(...runs.map(run => run.startTime));
  const end = Math.max(...runs.map(run => run.endTime ?? now));
  const whole = Math.max(1, end - start);
  const durations = runs.map(run => Math.max(0, (run.endTime ?? now) - run.startTime));
  const longest = Math.max(...durations);
  return runs.map((run, index) => ({
    run,
    left: ((run.startTime - start) / whole) * 100,
    width: ((durations[index] ?? 0) / whole) * 100,
    durationMs: durations[index] ?? 0,
    isSlowest: runs.length > 1 && durations[index] === longest,
  }));
}

export class Timeline extends EventTarget {
  #div;
  #labelOf;
  /** @type {number | undefined} */
  selected;

  /** @param {HTMLElement} div @param {(workId: number) => string} labelOf the name of a task of the job */
  constructor(div, labelOf) {
    super();
    this.#div = div;
    this.#labelOf = labelOf;
    div.classList.add("timeline");
  }

  /** @param {Run[]} runs @param {number} now */
  show(runs, now) {
    if (runs.length === 0) {
      this.#div.replaceChildren(element("p", "muted", "No task has started yet."));
      return;
    }
    const bars = layOutBars(runs, now);
    const wholeMs =
      Math.max(...runs.map(run => run.endTime ?? now)) - Math.min(...runs.map(run => run.startTime));
    const focused =
      document.activeElement instanceof HTMLElement ? document.activeElement.dataset.row : undefined;
    this.#div.replaceChildren(this.#scale(wholeMs), ...bars.map((bar, index) => this.#row(bar, index)));
    if (focused !== undefined)
      /** @type {HTMLElement | null} */ (this.#div.querySelector(`[data-row="${focused}"]`))?.focus();
  }

  /** @param {number} wholeMs */
  #scale(wholeMs) {
    const marks = Array.from({ length: MARKS }, (_, index) => {
      const mark = element("span", {}, index === 0 ? "0" : formatDuration((wholeMs * index) / (MARKS - 1)));
      mark.style.left = `${(index / (MARKS - 1)) * 100}%`;
      return mark;
    });
    return element(
      "div",
      { className: "timeline-scale", "aria-hidden": "true" },
      element("div", {}, ...marks),
    );
  }

  /** @param {TimelineBar} bar @param {number} index */
  #row({ run, left, width, durationMs, isSlowest }, index) {
    const bar = element("span", { className: "timeline-bar", "data-status": run.status });
    bar.style.left = `${left}%`;
    bar.style.width = `${width}%`;
    const attempts = run.attempt > 1 ? ` · ${run.attempt} attempts` : "";
    const name = this.#labelOf(run.workId);
    const row = element(
      "button",
      {
        className: "timeline-row",
        type: "button",
        "data-row": index,
        "data-slowest": isSlowest ? "" : undefined,
        "aria-pressed": String(run.workId === this.selected),
      },
      element("span", { className: "one-line", title: name }, name),
      element("span", "timeline-track", bar),
      element(
        "span",
        "timeline-time",
        `${formatDuration(durationMs)}${attempts}${isSlowest ? " · slowest" : ""}`,
      ),
    );
    row.addEventListener("click", () =>
      this.dispatchEvent(new CustomEvent("select", { detail: run.workId })),
    );
    return row;
  }
}
