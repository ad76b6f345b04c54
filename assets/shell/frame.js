// Work for the next frame: each task once; what a frame has no time for waits for the one after.

// Leaves the browser most of a 16 ms frame for layout and paint.
const FRAME_BUDGET_MS = 8;
// A hidden page gets no frames, and must not pile up work until it is shown.
const HIDDEN_DELAY_MS = 100;

/** @type {Set<() => void>} */
const waiting = new Set();
let scheduled = false;

function schedule() {
	scheduled = true;
	if (document.hidden) setTimeout(run, HIDDEN_DELAY_MS);
	else requestAnimationFrame(run);
}

function run() {
	if (!scheduled) return;
	const end = performance.now() + FRAME_BUDGET_MS;
	try {
		for (const task of waiting) {
			waiting.delete(task);
			task();
			if (performance.now() > end) break;
		}
	} finally {
		scheduled = false;
		if (waiting.size > 0) schedule();
	}
}

document.addEventListener("visibilitychange", () => {
	if (scheduled && document.hidden) setTimeout(run, HIDDEN_DELAY_MS);
});

/** @type {NextFrame} */
export function nextFrame(task) {
	waiting.add(task);
	if (!scheduled) schedule();
}
