/** Calls the handler of a response; an unknown response is ignored. @param {Handlers} handlers @param {LiveResponse} response */
export function handle(handlers, response) {
  const { callback } = response;
  if (callback === undefined || !Object.hasOwn(handlers, callback)) return;
  const handler = /** @type {(response: LiveResponse) => void} */ (handlers[callback]);
  try {
    handler(response);
  } catch (error) {
    // A response of another version may lack fields: the rest of the log must still be shown.
    console.warn("A response could not be shown", callback, error);
  }
}

/** The id of the block or the request that a response is about. @param {LiveResponse} response */
export function idOf(response) {
  const ids = /** @type {Record<string, unknown>} */ (response);
  return String(ids.messageId ?? ids.toolCallId ?? ids.reasoningId ?? ids.requestId ?? "");
}
