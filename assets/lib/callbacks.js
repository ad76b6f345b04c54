// The responses of live logs, as src/live/callbacks.ts describes them.

/** @typedef {import("../../src/live/callbacks.js").LiveResponse} LiveResponse */
/** @typedef {import("../../src/live/callbacks.js").CallbackName} CallbackName */
/** @typedef {{[Name in CallbackName]?: (response: import("../../src/live/callbacks.js").Callback<Name>) => void}} Handlers */

/** Calls what handles a response; one that nobody knows is left alone. @param {Handlers} handlers @param {LiveResponse} response */
export function handle(handlers, response) {
  const { callback } = response;
  if (callback === undefined || !Object.hasOwn(handlers, callback)) return;
  const handler = /** @type {(response: LiveResponse) => void} */ (handlers[callback]);
  try {
    handler(response);
  } catch (error) {
    // One of another version may lack what its callback has here: the rest of the log is shown all the same.
    console.warn("A response could not be shown", callback, error);
  }
}
