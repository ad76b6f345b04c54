// Every live log of all tabs on one connection: a browser opens only six to a host.

// A tab that has so many to read hangs, sleeps or is gone: its log waits until it has read them all.
const MAX_UNREAD = 20_000;
// The server speaks every 15 seconds; a connection may die silently while the machine sleeps.
const MAX_SILENCE_MS = 40_000;
const WATCH_MS = 5_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;

/** @type {Map<string, HubLog>} */
const logs = new Map();
/** @type {AbortController | undefined} */
let current;
let heardAt = 0;
let retryMs = FIRST_RETRY_MS;
let tabs = 0;
let isPaused = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

// Logs that are added together need one new connection.
function connectIn(ms = 0) {
	clearTimeout(timer);
	timer = setTimeout(connect, ms);
}

async function connect() {
	current?.abort();
	const mine = new AbortController();
	current = mine;
	const streams = [...logs.values()].filter(({ isWaiting }) => !isWaiting).map(({ wanted }) => wanted);
	if (isPaused || streams.length === 0) return;
	heardAt = Date.now();
	try {
		const response = await fetch("/api/copilot/events", {
			method: "POST",
			headers: { "X-Portal-Page": "1" },
			body: JSON.stringify({ streams }),
			signal: mine.signal,
		});
		if (!response.ok || !response.body) throw new Error(`The server answered ${response.status}.`);
		await read(response.body.pipeThrough(new TextDecoderStream()).getReader(), () => mine === current);
		if (mine !== current) return;
		connectIn(retryMs);
		retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
	} catch {
		// A connection that another one replaces is not lost.
		if (mine === current)
			for (const log of logs.values()) log.port.postMessage({ name: log.name, isLost: true });
	}
}

/** @type {ReadEvents} */
async function read(reader, isCurrent) {
	let pieces = [""];
	for (;;) {
		const { done, value = "" } = await reader.read();
		// What a replaced connection still has comes again on the new one.
		if (done || !isCurrent()) return;
		heardAt = Date.now();
		const seam = `${pieces.at(-1)?.slice(-1)}${value}`;
		pieces.push(value);
		if (!seam.includes("\n\n")) continue;
		const events = pieces.join("").split("\n\n");
		pieces = [events.pop() ?? ""];
		hand(events.map(fieldsOf));
	}
}

/** @returns {Words} */
function fieldsOf(event = "") {
	return Object.fromEntries(event.split("\n").map(line => line.split(/: (.*)/s)));
}

/** @type {HandOut} */
function hand(events) {
	/** @type {Map<HubLog, HubMessage>} */
	const messages = new Map();
	for (const { stream = "", id = "", event, data = "" } of events) {
		const log = logs.get(stream);
		if (!log) continue;
		const message = messages.get(log) ?? { name: log.name, events: [] };
		messages.set(log, message);
		if (event === "closed") {
			message.error = JSON.parse(data).error;
			logs.delete(stream);
		} else {
			log.wanted.after = id;
			message.events.push(data);
		}
		retryMs = FIRST_RETRY_MS;
	}
	for (const [log, message] of messages) {
		log.unread += message.events.length;
		log.port.postMessage(message);
		if (log.isWaiting || log.unread < MAX_UNREAD) continue;
		log.isWaiting = true;
		connectIn();
	}
}

setInterval(() => {
	if (logs.size > 0 && Date.now() - heardAt > MAX_SILENCE_MS) connectIn();
}, WATCH_MS);

export function setPaused(paused = false) {
	if (paused === isPaused) return;
	isPaused = paused;
	connectIn();
}

/** Reads for a tab, until it says that it leaves. @param {MessagePort} port */
export function serve(port) {
	tabs += 1;
	const tab = `${tabs}-`;
	port.onmessage = (/** @type {MessageEvent<HubRequest>} */ { data }) => {
		const { does, name = "", wanted, count = 0 } = data;
		const stream = `${tab}${name}`;
		if (does === "read") return wasRead(logs.get(stream), count);
		if (wanted)
			logs.set(stream, { name, port, unread: 0, isWaiting: false, wanted: { ...wanted, name: stream } });
		if (does === "remove") logs.delete(stream);
		if (does === "leave") for (const key of logs.keys()) if (key.startsWith(tab)) logs.delete(key);
		connectIn();
	};
}

/** @type {WasRead} */
function wasRead(log, count) {
	if (!log) return;
	log.unread -= count;
	if (!log.isWaiting || log.unread > 0) return;
	log.isWaiting = false;
	connectIn();
}
