// The network: only lib/api.js uses it. An exported file has scripts/exportedFile/answers.js in its place.
import { connection } from "../shell/connection.js";
import { ApiError } from "./apiError.js";

/** @param {string} path @param {string} [body] @returns {Promise<any>} */
export async function call(path, body) {
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
  if (answer !== null && typeof answer.error === "string")
    throw new ApiError(answer.error, answer.message, answer);
  return answer;
}
