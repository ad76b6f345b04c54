// In place of the network in an exported file: the answers that the page would get are in the file itself.
import { ApiError } from "../../assets/lib/apiError.js";
import { byId } from "../../assets/lib/dom.js";

/** @type {Record<string, any>} */
const answers = JSON.parse(byId("answers").textContent ?? "{}");

/** @param {string} path @returns {Promise<any>} */
export async function call(path) {
  if (Object.hasOwn(answers, path)) return answers[path];
  throw new ApiError("NotInFile", "This is an exported file: it shows what happened and can do nothing.");
}
