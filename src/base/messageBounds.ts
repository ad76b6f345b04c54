import { parseJson } from "./json.js";

/** Reading a longer message would block all sessions: 4 MiB of text take about 40 ms. */
export const maxMessageChars = 4 * 1024 * 1024;
/** Deeper than any message of the protocol, and far below the depth at which a recursive function runs out of stack. */
const maxDepth = 64;
/** Small values cost far more than their text: this many take about 30 ms. */
const maxValues = 100_000;

const quote = 0x22;
const backslash = 0x5c;
const separators = new Set([..."[{,"].map(char => char.charCodeAt(0)));

/** Whether JSON text has more values than this, in one pass that builds nothing. */
function hasMoreValuesThan(json: string, max: number): boolean {
  if (json.length <= max) return false;
  let values = 0;
  let inText = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) inText = !inText;
    else if (inText) at += code === backslash ? 1 : 0;
    else if (separators.has(code) && ++values > max) return true;
  }
  return false;
}

/** Why a line from an agent or an editor was not read. */
export class MessageRefused extends Error {
  override readonly name = "MessageRefused";
}

/** Reads one message; throws before it builds anything that could block or end the portal. */
export function parseMessage(line: string): unknown {
  if (line.length <= maxMessageChars && hasMoreValuesThan(line, maxValues))
    throw new MessageRefused(`The message has more than ${maxValues} values`);
  return parseJson(line, { maxDepth, maxChars: maxMessageChars });
}
