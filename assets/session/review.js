// The files that a turn, an attempt or a job changed, and comments on their lines, which are sent as one request.
import { api, messageOf, part, withProgress } from "../lib/api.js";
import { parseUnifiedDiff } from "../lib/diff.js";
import { button, byId, element, muted, onSubmit } from "../lib/dom.js";
import { counted } from "../lib/format.js";
import { visibleCode, visibleLine, visibleProse } from "../lib/visibleText.js";
import { isReplay } from "../replay/pageQuery.js";
import { notice } from "../shell/notice.js";
import { difference } from "./diffView.js";

/** The comments that wait to be sent. @type {ReviewComment[]} */
let waiting = [];
/** @type {Promise<void> | undefined} */
let loading;

/** Shows what waits since an earlier visit. @param {string} path of the session or the job in the API */
export function loadComments(path) {
  loading ??= api(`${path}/changes/comments`).then(({ comments }) => showWaiting(path, comments));
  return loading;
}

/** @param {string} path @param {ReviewComment[]} comments */
function showWaiting(path, comments) {
  waiting = comments;
  const count = counted(waiting.length, "comment");
  const send = button(`Send ${count}`, () => sendAll(path, send), { className: "small primary" });
  byId("reviewState").textContent = waiting.length > 0 ? `${count} not sent yet` : "";
  byId("reviewList").replaceChildren(
    ...(waiting.length > 0 ? [send] : []),
    ...waiting.map(one => commentItem(path, one)),
  );
}

/** @param {string} path @param {HTMLElement} send */
async function sendAll(path, send) {
  const state = byId("reviewState");
  try {
    const { sessionId } = await withProgress(send, () => api(`${path}/changes/comments/send`, ""));
    for (const item of document.querySelectorAll("[data-comment]")) item.remove();
    showWaiting(path, []);
    state.textContent = "The comments were sent.";
    // Those on a job go to a session of their own.
    if (sessionId)
      state.append(" ", element("a", { href: `/index.html?session=${part(sessionId)}` }, "Open the session"));
  } catch (error) {
    state.replaceChildren(visibleProse(messageOf(error)));
  }
}

/** @param {string} path @param {ReviewComment} comment */
function commentItem(path, { id, path: file, line, side, quoted, comment }) {
  const place = `${file}:${line}${side === "before" ? " before the change" : ""}`;
  const item = element(
    "div",
    { className: "review-comment", "data-comment": id },
    element("code", "muted", visibleCode(place)),
    button("Delete", remove, { "aria-label": `Delete the comment on ${visibleLine(place)}` }),
    element("code", "one-line", visibleCode(quoted)),
    element("p", {}, visibleProse(comment)),
  );
  async function remove() {
    // One that is gone already is deleted too.
    await api(`${path}/changes/comments/${id}/delete`, "").catch(() => undefined);
    const next = item.closest(".diff-lines") && item.nextElementSibling;
    for (const shown of document.querySelectorAll(`[data-comment="${id}"]`)) shown.remove();
    showWaiting(
      path,
      waiting.filter(one => one.id !== id),
    );
    (next ?? byId("reviewList")).querySelector("button")?.focus();
  }
  return item;
}

/** Opens a form below a line of a diff. @param {string} path @param {Omit<ReviewComment, "id" | "comment">} place @param {HTMLElement} row */
function writeComment(path, place, row) {
  const other = document.getElementById("comment");
  const draft = other?.querySelector("textarea");
  if (draft?.value) return draft.focus();
  other?.remove();
  const text = element("textarea", { maxLength: 10_000, "aria-label": `Comment on line ${place.line}` });
  const problem = element("div", { className: "field-error", role: "alert" });
  const save = element("button", "small primary", "Comment");
  const close = () => {
    form.remove();
    row.querySelector("button")?.focus();
  };
  const form = element(
    "form",
    { id: "comment", className: "row" },
    text,
    problem,
    save,
    button("Cancel", close),
  );
  row.after(form);
  text.focus();
  form.addEventListener("keydown", ({ key }) => key === "Escape" && close());
  async function add() {
    if (text.value.trim() === "") return text.focus();
    const written = { ...place, comment: text.value };
    try {
      const { id } = await withProgress(save, () => api(`${path}/changes/comments`, JSON.stringify(written)));
      showWaiting(path, [...waiting, { id, ...written }]);
      form.after(commentItem(path, { id, ...written }));
      close();
    } catch (error) {
      problem.replaceChildren(visibleProse(messageOf(error)));
    }
  }
  onSubmit("comment", add, text);
}

/** A diff whose line numbers open the form; the arrow keys go from one to the next. @param {string} path @param {string} file @param {string} diff */
function reviewed(path, file, diff) {
  const view = difference(parseUnifiedDiff(diff), undefined, (row, { kind, text, line }) => {
    if (!line || isReplay) return;
    const side = kind === "removed" ? "before" : "after";
    const place = {
      path: file,
      line,
      side: /** @type {"before" | "after"} */ (side),
      quoted: text.slice(0, 2000),
    };
    const number = button(String(line), () => writeComment(path, place, row), {
      className: "diff-number",
      tabIndex: row.parentElement?.querySelector("button") ? -1 : 0,
      "aria-label": `Comment on line ${line}${kind === "removed" ? " before the change" : ""}`,
    });
    row.prepend(number);
    const here = waiting.filter(
      one => one.path === file && one.line === line && one.side === side && one.quoted === place.quoted,
    );
    row.after(...here.map(one => commentItem(path, one)));
  });
  view.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target instanceof HTMLTextAreaElement) return;
    const numbers = [...view.querySelectorAll("button")];
    const next = numbers[numbers.indexOf(/** @type {HTMLButtonElement} */ (event.target)) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  return view;
}

/** @param {string} path @param {string} query @param {FileChange} change */
function fileItem(path, query, { path: file, oldPath, kind, added, deleted, binary }) {
  const content = element("div");
  const from = oldPath === undefined ? [] : [visibleCode(oldPath), " → "];
  const counts = binary ? "binary" : `+${added} −${deleted}`;
  const item = element(
    "details",
    "turn-changes-file",
    element("summary", {}, `${kind} `, ...from, visibleCode(file), " ", muted(counts)),
    content,
  );
  item.addEventListener("toggle", async () => {
    if (!item.open || content.childElementCount > 0) return;
    try {
      const { diff, cut, binary: isBinary } = await api(`${path}/changes/file?${query}&path=${part(file)}`);
      content.replaceChildren(
        isBinary ? muted("A binary file.") : reviewed(path, file, diff),
        ...(cut ? [muted("The diff is longer than what is shown.")] : []),
      );
    } catch (error) {
      content.replaceChildren(notice(messageOf(error), "error"));
    }
  });
  return item;
}

/** The files that changed, and what is not known. @param {string} path @param {string} query whose they are, such as `turn=2` */
export async function changedFiles(path, query) {
  try {
    if (!isReplay) await loadComments(path);
    const { files, repository, problem, left = [] } = await api(`${path}/changes?${query}`);
    return element(
      "div",
      "stack",
      ...(problem ? [notice(problem, "warning")] : []),
      repository === false ? muted("Not in a git repository: this is what editing tools reported.") : "",
      files.length === 0 ? muted("No file changed.") : "",
      ...files.map((/** @type {FileChange} */ file) => fileItem(path, query, file)),
      ...left.map((/** @type {{path: string, why: string}} */ one) =>
        element("div", "muted", visibleCode(one.path), " is left out: ", visibleProse(one.why)),
      ),
    );
  } catch (error) {
    return notice(messageOf(error), "error");
  }
}
