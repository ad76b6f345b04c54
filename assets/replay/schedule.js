// When each response of a stored run is played. Pure functions.

// Nobody wants to watch an agent wait longer.
const LONGEST_IDLE_MS = 2_000;
// A run without times plays at an even pace.
const EVEN_STEP_MS = 500;

/** @type {ScheduleOf} */
export function scheduleOf(times) {
	const isTimed = times.some(time => time !== undefined);
	const at = [];
	let last = times.find(time => time !== undefined) ?? 0;
	let played = 0;
	for (const [index, given] of times.entries()) {
		const time = Math.max(last, given ?? last);
		if (index > 0) played += isTimed ? Math.min(time - last, LONGEST_IDLE_MS) : EVEN_STEP_MS;
		at.push(played);
		last = time;
	}
	return { at, durationMs: played, isTimed };
}

/** @type {ReplayInOrder} */
export function inOrder(items) {
	/** @type {Map<string, number>} */
	const last = new Map();
	return items
		.map(item => {
			const log = `${item.source}/${item.id}`;
			const time = Math.max(item.time ?? 0, last.get(log) ?? 0);
			last.set(log, time);
			return { item, time };
		})
		.sort((a, b) => a.time - b.time)
		.map(({ item }) => item);
}

/** @type {CountAt} */
export const countAt = (at, ms) => at.findLastIndex(time => time <= ms) + 1;
