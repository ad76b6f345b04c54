// The footer of the start page: what the portal keeps on disk, how long, and what is due to go.
import { api, ask, byId, counted, errorAt, formatSize, onPress } from "../lib/page.js";

// The server does not count beyond this.
const MAX_COUNT = 10_000;

const details = byId("storage");
const clean = byId("cleanUp");
const showError = errorAt("storageError");
let due = "";

/** @type {RemovedIn} */
function removedIn({ jobs, tasks, sessions, runs }) {
	const parts = Object.entries({ job: jobs, task: tasks, session: sessions, run: runs })
		.filter(([, count]) => count > 0)
		.map(([name, count]) => (count < MAX_COUNT ? "" : "at least ") + counted(count, name));
	return new Intl.ListFormat("en-GB").format(parts);
}

/** @param {StorageAnswer} storage */
function describe({ storeBytes, toolOutputBytes, freeBytes, retention, unusedDays }) {
	const kept = Object.entries(retention).map(
		([name, days]) => `${name} ${days === 0 ? "forever" : `for ${counted(days, "day")}`}`,
	);
	const closed =
		retention.sessions === 0 ? "" : ` Sessions that nobody used for ${unusedDays} days are closed.`;
	const sizes = `${formatSize(storeBytes + toolOutputBytes)} on disk, ${formatSize(freeBytes)} free.`;
	return `${sizes} What has ended is kept: ${kept.join(", ")}.${closed}`;
}

/** @param {string} [result] of the last clean-up */
async function show(result) {
	const storage = await api("copilot/storage");
	due = removedIn(storage.due);
	byId("storageText").textContent = describe(storage);
	byId("storageState").textContent =
		result ?? (due ? `Due for removal: ${due}.` : "Nothing is due for removal.");
	clean.disabled = due === "";
}

// A call removes as much as it can in a few seconds.
async function cleanUp() {
	const what = due;
	if (!(await ask(`Remove ${what} for good, with everything in them?`, "Remove"))) return;
	let answer;
	do answer = await api("copilot/storage/clean", "");
	while (removedIn(answer.due) && removedIn(answer.removed));
	await show(`Removed ${what}.`);
}

onPress("cleanUp", cleanUp, showError);
details.ontoggle = () => {
	if (details.open) show().catch(showError);
};
