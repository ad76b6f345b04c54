// The only way to call the portal.
import { ApiError } from "./apiError.js";
import { call } from "./call.js";
import { byId, fill } from "./dom.js";
import { visibleProse } from "./visibleText.js";

// Calls that take longer than this get a progress indication.
const PROGRESS_DELAY_MS = 300;

export { ApiError };

/** Calls `/api/PATH`, with a body as a POST; an error throws an ApiError. @type {Call} */
export const api = call;

// An id or a name as a part of a path.
export const part = encodeURIComponent;

/** @param {unknown} error */
export const messageOf = error => (error instanceof Error ? error.message : String(error));

/** @type {ErrorAt} */
export const errorAt =
	where =>
	(/** @type {unknown} */ error = "") => {
		const text = messageOf(error);
		const place = typeof where === "string" ? byId(where) : where;
		fill(place, text && visibleProse(text));
		place.hidden = text === "";
	};

/** @type {WithProgress} */
export async function withProgress(control, work) {
	const timer = setTimeout(() => control.setAttribute("aria-busy", "true"), PROGRESS_DELAY_MS);
	try {
		return await work();
	} finally {
		clearTimeout(timer);
		control.removeAttribute("aria-busy");
	}
}

/** @type {Send} */
export const send = (control, path, body = "") => withProgress(control, () => api(path, body));

/** @type {OnPress} */
export function onPress(id, action, onError) {
	const control = byId(id);
	control.onclick = () => withProgress(control, action).catch(onError);
}
