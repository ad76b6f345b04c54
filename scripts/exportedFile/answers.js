// In place of the network in an exported file: the answers that the page would get are in the file itself.
import { ApiError } from "../../assets/lib/apiError.js";
import { byId } from "../../assets/lib/dom.js";

/** @type {Record<string, any>} */
const answers = JSON.parse(byId("answers").textContent ?? "{}");

/** @param {string} path @returns {Promise<any>} */
export async function call(path) {
  const answer = Object.hasOwn(answers, path) && answers[path];
  if (answer) return answer;
  const why = path.includes("/changes/file?")
    ? "This difference is left out of the exported file: it is too long for it, or nobody recorded it."
    : "This is an exported file: it shows what happened and can do nothing.";
  throw new ApiError("NotInFile", why);
}
