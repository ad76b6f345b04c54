// The network, for lib/api.js. An exported file has scripts/exportedFile/answers.js instead.
import { connection } from "../shell/connection.js";
import { ApiError } from "./apiError.js";

/** @type {CallAny} */
export async function call(path, body) {
	const response = await fetch(`/api/${path}`, {
		method: body === undefined ? "GET" : "POST",
		body: typeof body === "object" && !(body instanceof Blob) ? JSON.stringify(body) : body,
		// A foreign page cannot send this header.
		headers: { "X-Portal-Page": "1" },
	}).catch(() => undefined);
	if (!response) {
		connection.lost();
		throw new ApiError("Unreachable");
	}
	if (response.headers.get("content-type")?.startsWith("image/")) return response.blob();
	const answer = await response
		.json()
		.catch(() => ({ error: "BadAnswer", message: `The server answered ${response.status}.` }));
	if (answer !== null && typeof answer.error === "string")
		throw new ApiError(answer.error, answer.message, answer);
	return answer;
}
