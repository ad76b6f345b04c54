// Where the words of a search occur in what was said.
import { api, part } from "../lib/api.js";
import { byId, element, fill } from "../lib/dom.js";
import { counted, formatTime } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";

/** @type {Words} */
const names = {
  request: "Request",
  message: "Message",
  tool: "Tool",
  reason: "Decision",
  title: "Title",
  input: "Job",
};

/** @param {SearchHit} hit */
function addressOf({ source, id, n, title, job }) {
  if (source === "session") return `/index.html?session=${part(id)}${n === undefined ? "" : `&n=${n}`}`;
  if (source === "run") return `/agents.html?run=${part(id)}`;
  const page = (/** @type {string} */ name, /** @type {string} */ jobId) =>
    `/jobTracking.html?jobName=${part(name)}&jobId=${part(jobId)}`;
  if (source === "job") return page(title, id);
  return job && `${page(job.name, job.id)}&task=${part(id)}`;
}

/** The text with its marks; whatever it says, it stays text. @param {SearchHit["snippet"]} snippet */
function marked({ text, marks }) {
  const line = element("span", "search-snippet");
  let at = 0;
  for (const [from, to] of marks) {
    line.append(visibleLine(text.slice(at, from)), element("mark", {}, visibleLine(text.slice(from, to))));
    at = to;
  }
  line.append(visibleLine(text.slice(at)));
  return line;
}

/** @param {SearchHit} hit */
export function hitRow(hit) {
  const title = visibleLine(hit.title || hit.job?.name || "");
  const about = element(
    "span",
    "search-about muted",
    element("span", "history-kind", names[hit.what] ?? hit.what),
    element("b", "one-line", title),
    hit.time === undefined ? "" : formatTime(new Date(hit.time)),
  );
  const href = addressOf(hit);
  return element("li", "search-hit", element(href ? "a" : "div", { href }, about, marked(hit.snippet)));
}

/** The question that was asked last; an answer to an older one may arrive later. */
let asked = "";

/** @param {string} typed */
export async function showHits(typed) {
  asked = typed;
  const none = { hits: [] };
  const path = `copilot/search?q=${part(typed)}&limit=20`;
  const { hits } = typed.trim() === "" ? none : await api(path).catch(() => none);
  if (asked !== typed) return;
  byId("searchHits").hidden = hits.length === 0;
  byId("searchHitsTitle").textContent =
    hits.length === 0 ? "" : `${counted(hits.length, "place")} in what was said`;
  fill(byId("searchHitsList"), ...hits.map(hitRow));
}
