import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Action } from "../../permissions/action.js";
import { confined } from "./confined.js";
import { unifiedDiff } from "./contentText.js";
import { type Fields, numberOf, textOf } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";

const maxFileBytes = 10 * 1024 * 1024;
const invalid = (message: string) => new RpcError(errorCode.invalidParams, message);

/** The text of a file, or why an agent cannot have it. */
async function textIn(file: string, shown: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new RpcError(errorCode.notFound, `Resource not found: ${shown}`);
  if (!found.isFile()) throw invalid(`${shown} is not a file`);
  if (found.size > maxFileBytes) throw invalid(`${shown} is larger than 10 MB`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch {
    throw invalid(`${shown} is not UTF-8 text`);
  }
}

/** `line` counts from 1; what is past the end is empty. */
export function partOf(text: string, line: number | undefined, limit: number | undefined): string {
  if (line === undefined && limit === undefined) return text;
  const lines = text.split(/(?<=\n)/);
  const from = Math.max(1, line ?? 1) - 1;
  return lines.slice(from, limit === undefined ? undefined : from + Math.max(0, limit)).join("");
}

export async function readTextFile(folder: string, params: Fields): Promise<{ content: string }> {
  const file = await confined(folder, params.path);
  const text = await textIn(file, String(params.path));
  return { content: partOf(text, numberOf(params.line), numberOf(params.limit)) };
}

/** `allow` throws where the user, a rule or the policy rejects it. */
export async function writeTextFile(
  folder: string,
  params: Fields,
  allow: (action: Action) => Promise<void>,
): Promise<object> {
  const content = textOf(params.content);
  if (content === undefined) throw invalid("content must be a string");
  const path = String(params.path);
  const before = await textIn(await confined(folder, params.path), path).catch(error => {
    if (error instanceof RpcError && error.code === errorCode.notFound) return null;
    throw error;
  });
  const diff = unifiedDiff({ path, oldText: before, newText: content });
  await allow({ kind: "edit", title: path, paths: [path], diff });
  // Much may have changed while somebody thought about it.
  const file = await confined(folder, params.path);
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, content, { flag: "wx" });
    const known = await stat(file).catch(() => undefined);
    if (known) await chmod(draft, known.mode);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw new RpcError(
      errorCode.internal,
      `${path} cannot be written (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  return {};
}
