import type { Action } from "../../permissions/action.js";
import { confined } from "./confined.js";
import { readConfined, writeConfined } from "./confinedFile.js";
import { diffText, isShownWhole } from "./contentText.js";
import { type Fields, numberOf, textOf } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";

/** Throws when the user, a rule or the policy rejects it. */
type Allow = (action: Action) => Promise<void>;

const maxFileBytes = 10 * 1024 * 1024;
const maxShownChars = 200;
const invalid = (message: string) => new RpcError(errorCode.invalidParams, message);

function failure(error: unknown, shown: string): Error {
  if (error instanceof RpcError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return new RpcError(errorCode.notFound, `Resource not found: ${shown}`);
  return invalid(`${shown} cannot be used (${code ?? "unknown reason"})`);
}

/** The text of a file; throws the reason when the agent cannot have it. */
async function textIn(file: string, shown: string): Promise<string> {
  const bytes = await readConfined(file, maxFileBytes).catch(error => {
    throw failure(error, shown);
  });
  if (bytes === undefined) throw invalid(`${shown} is not a file`);
  if (bytes.length > maxFileBytes) throw invalid(`${shown} is larger than 10 MB`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid(`${shown} is not UTF-8 text`);
  }
}

/** Where the `count`-th line from `start` ends. */
function afterLines(text: string, start: number, count: number): number {
  let at = start;
  for (let line = 0; line < count && at < text.length; line++) {
    const end = text.indexOf("\n", at);
    at = end < 0 ? text.length : end + 1;
  }
  return at;
}

/** `line` counts from 1; lines past the end are empty. */
export function partOf(text: string, line: number | undefined, limit: number | undefined): string {
  const from = afterLines(text, 0, Math.max(1, line ?? 1) - 1);
  return text.slice(from, limit === undefined ? undefined : afterLines(text, from, Math.max(0, limit)));
}

export async function readTextFile(
  folder: string,
  params: Fields,
  allow: Allow,
): Promise<{ content: string }> {
  await confined(folder, params.path);
  const path = textOf(params.path) ?? "";
  await allow({ kind: "read", title: path.slice(0, maxShownChars), paths: [path] });
  // The folder may have changed while the user decided.
  const text = await textIn(await confined(folder, params.path), path.slice(0, maxShownChars));
  return { content: partOf(text, numberOf(params.line), numberOf(params.limit)) };
}

export async function writeTextFile(folder: string, params: Fields, allow: Allow): Promise<object> {
  const content = textOf(params.content);
  if (content === undefined) throw invalid("content must be a string");
  if (content.length > maxFileBytes) throw invalid("content is larger than 10 MB");
  const target = await confined(folder, params.path);
  const path = textOf(params.path) ?? "";
  const shown = path.slice(0, maxShownChars);
  const before = await textIn(target, shown).catch(error => {
    if (error instanceof RpcError && error.code === errorCode.notFound) return null;
    throw error;
  });
  const diffs = [{ path, oldText: before, newText: content }];
  await allow({
    kind: "edit",
    title: shown,
    // Writing changes the target of a link.
    paths: [...new Set([path, target])],
    diff: diffText(diffs),
    ...(!isShownWhole(diffs) && { unclear: "Its difference is too long to be shown." }),
  });
  const file = await confined(folder, params.path);
  if (file !== target) throw invalid(`${shown} has changed meanwhile`);
  try {
    await writeConfined(file, content);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new RpcError(errorCode.internal, `${shown} cannot be written (${code ?? "unknown reason"})`);
  }
  return {};
}
