import { isRecord } from "../base/json.js";
import type { LiveResponse } from "../live/callbacks.js";

/** Fits into one line of a list. */
const maxChars = 80;

/** The arguments that say most about a call, the most telling first. */
const telling = ["command", "path", "filePath", "file_path", "pattern", "query", "url", "description"];

const inOneLine = (text: string) =>
  text
    .slice(0, 10 * maxChars)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, maxChars);

function argumentOf(toolArguments: string): string {
  // A file that is to be written says nothing here, and may be large.
  if (toolArguments.length > 10_000) return "";
  try {
    const given: unknown = JSON.parse(toolArguments);
    if (!isRecord(given)) return "";
    const name = telling.find(each => typeof given[each] === "string");
    return name ? String(given[name]) : "";
  } catch {
    return "";
  }
}

/** What a session does from this response on, in a few words; undefined when the response does not change that. */
export function doingOf(response: LiveResponse): string | undefined {
  switch (response.callback) {
    case "onStartToolExecution": {
      const argument = argumentOf(response.toolArguments);
      return inOneLine(argument ? `${response.toolName}: ${argument}` : response.toolName);
    }
    case "onPermissionRequest":
      return inOneLine(`asks for ${response.title}`);
    case "onQuestion":
      return inOneLine(`asks: ${response.question}`);
    case "onStartMessage":
      return "writes";
    case "onAgentStart":
    case "onStartReasoning":
    case "onEndToolExecution":
    case "onPermissionResolved":
    case "onQuestionResolved":
      return "thinks";
    default:
      return undefined;
  }
}
