export interface JsonBounds {
  /** How deep lists and objects may be nested; 1 is a list of plain values. */
  maxDepth?: number;
  maxChars?: number;
}

export type JsonProblem = "too-long" | "too-deep" | "not-json";

/** Deeper than any real data, and far below the depth at which a recursive function runs out of stack. */
export const defaultMaxDepth = 100;
const defaultMaxChars = 16 * 1024 * 1024;

/** Text from outside that is not JSON, or more JSON than anyone needs. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  readonly problem: JsonProblem;

  private constructor(problem: JsonProblem, message: string) {
    super(message);
    this.problem = problem;
  }

  static tooLong(maxChars: number): JsonError {
    return new JsonError("too-long", `The JSON has more than ${maxChars} characters`);
  }

  static tooDeep(maxDepth: number): JsonError {
    return new JsonError("too-deep", `The JSON is nested more than ${maxDepth} levels deep`);
  }

  static notJson(): JsonError {
    return new JsonError("not-json", "The text is not JSON");
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** Where a text that begins at `start` ends: at its closing quote, or at the end of the JSON. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === quote) return at;
  }
  return json.length;
}

/** Whether lists and objects are nested deeper than this, in one pass that builds nothing. */
export function isDeeperThan(json: string, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfText(json, at);
    else if (code === openList || code === openObject) depth++;
    else if (code === closeList || code === closeObject) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** Whether a value is what JSON calls an object: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads JSON from outside; its bounds make every later walk through the value safe. */
export function parseJson(json: string, bounds: JsonBounds = {}): unknown {
  const { maxDepth = defaultMaxDepth, maxChars = defaultMaxChars } = bounds;
  if (json.length > maxChars) throw JsonError.tooLong(maxChars);
  if (isDeeperThan(json, maxDepth)) throw JsonError.tooDeep(maxDepth);
  try {
    return JSON.parse(json);
  } catch {
    throw JsonError.notJson();
  }
}
