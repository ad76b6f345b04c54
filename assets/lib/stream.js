// One live log, from its beginning to its end, whatever happens to the connection in between.
import { connection } from "../shell/connection.js";
import { nextFrame } from "../shell/frame.js";

/** The part of a frame that one batch may take. */
const APPLY_BUDGET_MS = 5;
/** A clock that jumped means that the machine slept, so the connection may be dead without an error. */
const WATCH_MS = 5_000;
const SLEPT_MS = 20_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;

/**
 * @template {LiveResponse} [Response=LiveResponse]
 * @param {StreamOptions<Response>} options
 * @returns {() => void} stops reading
 */
export function readEvents({ path, after, onResponse, onEnd }) {
  /** @type {EventSource | undefined} */
  let source;
  let last = after === undefined ? "" : String(after);
  let retryMs = FIRST_RETRY_MS;
  let isOver = false;
  /** @type {Response[]} */
  let queue = [];
  /** @type {string | undefined} */
  let ending;

  function apply() {
    const end = performance.now() + APPLY_BUDGET_MS;
    let done = 0;
    for (const response of queue) {
      if (performance.now() >= end) break;
      done++;
      onResponse(response);
    }
    queue = done === queue.length ? [] : queue.slice(done);
    if (queue.length > 0) nextFrame(apply);
    else if (ending !== undefined) onEnd?.(ending);
  }

  /** @param {string} error */
  function finish(error) {
    stop();
    ending = error;
    nextFrame(apply);
  }

  function address() {
    const place = last === "" ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(last)}`;
    return `/api/${path}${place}`;
  }

  function open() {
    source?.close();
    if (isOver) return;
    source = new EventSource(address());
    source.addEventListener("message", event => {
      last = event.lastEventId;
      retryMs = FIRST_RETRY_MS;
      queue.push(JSON.parse(event.data));
      nextFrame(apply);
    });
    source.addEventListener("closed", event => finish(JSON.parse(event.data).error));
    source.addEventListener("error", onError);
  }

  /** An EventSource hides the error and gives up on a server that is still starting, so this asks instead. */
  async function onError() {
    source?.close();
    const asking = new AbortController();
    const response = await fetch(address(), { signal: asking.signal }).catch(() => undefined);
    if (isOver) return asking.abort();
    if (response?.headers.get("content-type")?.startsWith("text/event-stream")) {
      asking.abort();
      setTimeout(open, retryMs);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
      return;
    }
    const answer = await response?.json().catch(() => undefined);
    if (response?.ok && /NotFound$/.test(answer?.error)) finish(answer.error);
    else connection.lost();
  }

  let lastTick = Date.now();
  const watch = setInterval(() => {
    const slept = Date.now() - lastTick > SLEPT_MS;
    lastTick = Date.now();
    if (slept) open();
  }, WATCH_MS);

  function stop() {
    isOver = true;
    source?.close();
    clearInterval(watch);
    connection.removeEventListener("back", open);
  }

  connection.addEventListener("back", open);
  open();
  return stop;
}
