/** @type {Handle} */
export function handle(handlers, response) {
	const { callback } = response;
	if (callback === undefined || !Object.hasOwn(handlers, callback)) return;
	const handler = /** @type {OnResponse} */ (handlers[callback]);
	try {
		handler(response);
	} catch (error) {
		// One of another version may lack fields: the rest must still be shown.
		console.warn("A response could not be shown", callback, error);
	}
}

/** @type {IdOf} */
export function idOf(response) {
	const ids = /** @type {Answer} */ (response);
	return String(ids.messageId ?? ids.toolCallId ?? ids.reasoningId ?? ids.requestId ?? "");
}
