// The only way to call the portal.
import { ApiError } from "./apiError.js";
import { call } from "./call.js";
import { byId } from "./dom.js";
import { visibleProse } from "./visibleText.js";

/** Calls that take longer than this get a progress indication. */
export const PROGRESS_DELAY_MS = 300;

export { ApiError };

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
 * @type {(path: string, body?: string) => Promise<any>}
 */
export const api = call;

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
