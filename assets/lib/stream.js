// One live log from its beginning to its end, whatever happens to the connection.
import { connection } from "../shell/connection.js";
import { nextFrame } from "../shell/frame.js";

// The part of a frame that one batch may take.
const APPLY_BUDGET_MS = 5;
// One of an earlier version may still run: what speaks another way has another name.
const HUB = { name: "events 1", type: /** @type {const} */ ("module") };

/** @type {Map<string, (message: HubMessage) => void>} */
const readers = new Map();
let lastName = 0;
/** @type {MessagePort | undefined} */
let port;

function hub() {
	if (port) return port;
	const made = "SharedWorker" in window ? new SharedWorker("/shell/eventWorker.js", HUB).port : ownHub();
	made.onmessage = (/** @type {MessageEvent<HubMessage>} */ { data }) => readers.get(data.name)?.(data);
	connection.addEventListener("back", () => made.postMessage({ does: "retry" }));
	addEventListener("pagehide", () => made.postMessage({ does: "leave" }));
	// The browser shows a page that it has kept, and that has left.
	addEventListener("pageshow", event => event.persisted && location.reload());
	port = made;
	return made;
}

// Without shared workers each tab reads for itself, and only while it is visible.
function ownHub() {
	const { port1, port2 } = new MessageChannel();
	void import("./eventHub.js").then(({ serve, setPaused }) => {
		serve(port2);
		const look = () => setPaused(document.hidden);
		document.addEventListener("visibilitychange", look);
		look();
	});
	return port1;
}

/** @type {ReadLog} */
export function readEvents({ wanted, onResponse, onEnd }) {
	lastName += 1;
	const name = String(lastName);
	/** @type {string[]} */
	let queue = [];
	/** @type {string | undefined} */
	let ending;

	function apply() {
		const end = performance.now() + APPLY_BUDGET_MS;
		let count = 0;
		for (const event of queue) {
			if (performance.now() >= end) break;
			count += 1;
			onResponse(JSON.parse(event));
		}
		queue = queue.slice(count);
		hub().postMessage({ does: "read", name, count });
		if (queue.length > 0) nextFrame(apply);
		else if (ending !== undefined) onEnd?.(ending);
	}

	readers.set(name, ({ events, error, isLost }) => {
		if (isLost) return void connection.lost();
		for (const event of events) queue.push(event);
		if (error !== undefined) readers.delete(name);
		ending = error;
		nextFrame(apply);
	});
	hub().postMessage({ does: "add", name, wanted });
	return () => {
		readers.delete(name);
		hub().postMessage({ does: "remove", name });
	};
}
