// The only way to call the portal.
import { connection } from "../shell/connection.js";
import { byId } from "./dom.js";
import { visibleProse } from "./visibleText.js";

/** Calls that take longer than this get a progress indication. */
export const PROGRESS_DELAY_MS = 300;

/** Error texts for people, by the name that scripts get. @type {Record<string, string>} */
const sentences = {
  ModelIdNotFound: "This model is not available any more. Choose another one.",
  WorkingDirectoryNotAbsolutePath: "Enter the full path of a folder, starting at the root.",
  WorkingDirectoryNotExists: "There is no such folder on the server. Check the path.",
  SessionNotFound:
    "This session does not exist any more, or it has ended. Start a new one, or reopen it from the list.",
  SessionClosed: "This session has ended.",
  TaskNotFound: "This task does not exist. Reload the page to see the tasks that do.",
  JobNotFound: "This job does not exist any more.",
  UserInputRequired: "This needs your input: describe what to do.",
  RequestNotFound: "This has been settled already.",
  Unreachable: "The server cannot be reached.",
};

export class ApiError extends Error {
  /** @param {string} code @param {string} [message] */
  constructor(code, message) {
    super(sentences[code] ?? message ?? code);
    this.code = code;
  }
}

/** @param {unknown} error */
export const messageOf = error => (error instanceof Error ? error.message : String(error));

/** The function that shows an error at this place, or clears it. @param {string} id @returns {(error?: unknown) => void} */
export const errorAt = id => error => {
  const text = error === undefined ? "" : messageOf(error);
  const place = byId(id);
  place.replaceChildren(...(text === "" ? [] : [visibleProse(text)]));
  place.hidden = text === "";
};

/**
 * Calls `/api/PATH`, with a body as a POST; throws an ApiError for every answer that is an error.
 * @param {string} path
 * @param {string} [body]
 * @returns {Promise<any>}
 */
export async function api(path, body) {
  // A foreign page cannot send this header: it identifies the caller when the browser does not.
  const own = { "X-Portal-Page": "1" };
  const request =
    body === undefined
      ? { headers: own }
      : { method: "POST", body, headers: { ...own, "Content-Type": "text/plain" } };
  const response = await fetch(`/api/${path}`, request).catch(() => undefined);
  if (!response) {
    connection.lost();
    throw new ApiError("Unreachable");
  }
  const answer = await response
    .json()
    .catch(() => ({ error: "BadAnswer", message: `The server answered ${response.status}.` }));
  if (answer !== null && typeof answer.error === "string") throw new ApiError(answer.error, answer.message);
  return answer;
}

/** An id or a name as a part of a path. */
export const part = encodeURIComponent;

/**
 * Shows that work is in progress when it takes long enough to be noticed.
 * @template Result
 * @param {HTMLElement} control
 * @param {() => Promise<Result>} work
 */
export async function withProgress(control, work) {
  const timer = setTimeout(() => control.setAttribute("aria-busy", "true"), PROGRESS_DELAY_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    control.removeAttribute("aria-busy");
  }
}
