import { isAbsolute, relative } from "node:path";
import { diffLines } from "diff";
import type { StoredResponse } from "../live/storedResponse.js";
import type { FileChange } from "./diff.js";

const editingTools = new Set(["create", "edit", "apply_patch", "str_replace_editor", "write", "multi_edit"]);
const editingKinds = new Set(["edit", "delete", "move"]);
/** Longer texts are only named, not counted. */
const maxComparedChars = 200_000;

/** Where there is no repository: the files that editing tools said they changed, in one turn or in all. */
export async function reportedEdits(
  responses: AsyncIterable<StoredResponse>,
  folder: string,
  turn?: number,
): Promise<FileChange[]> {
  const files = new Map<string, FileChange>();
  const calls = new Map<string, FileChange[]>();
  let current = 0;
  for await (const response of responses) {
    if (response.callback === "onUserRequest") current++;
    if (turn !== undefined && current !== turn) continue;
    if (response.callback === "onStartToolExecution")
      calls.set(response.toolCallId, announced(response, folder));
    if (response.callback !== "onEndToolExecution" || response.error || response.interrupted) continue;
    const diffs = response.diffs ?? [];
    const edits =
      diffs.length > 0
        ? diffs.map(diff => compared(shown(diff.path, folder), diff.oldText, diff.newText))
        : (calls.get(response.toolCallId) ?? []);
    for (const edit of edits) files.set(edit.path, together(files.get(edit.path), edit));
  }
  return [...files.values()];
}

type Started = Extract<StoredResponse, { callback: "onStartToolExecution" }>;

function announced({ toolName, toolArguments, kind, locations }: Started, folder: string): FileChange[] {
  const isEdit = kind === undefined ? editingTools.has(toolName) : editingKinds.has(kind);
  if (!isEdit) return [];
  const input = fields(toolArguments);
  const text = (name: string) => (typeof input[name] === "string" ? input[name] : undefined);
  const path = text("path") ?? text("file_path") ?? text("filePath");
  if (path !== undefined && kind !== "delete") {
    const created = text("file_text") ?? text("content");
    const change = compared(
      shown(path, folder),
      toolName === "create" ? null : (text("old_str") ?? ""),
      created ?? text("new_str") ?? "",
    );
    return [change];
  }
  const paths = path === undefined ? (locations ?? []).map(location => location.path) : [path];
  return paths.map(name => ({
    path: shown(name, folder),
    kind: kind === "delete" ? "deleted" : "changed",
    added: 0,
    deleted: 0,
  }));
}

function fields(toolArguments: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(toolArguments));
  } catch {
    return {};
  }
}

function shown(path: string, folder: string): string {
  return isAbsolute(path) ? relative(folder, path) || path : path;
}

function compared(path: string, before: string | null, after: string): FileChange {
  const change: FileChange = { path, kind: before === null ? "added" : "changed", added: 0, deleted: 0 };
  if ((before ?? "").length + after.length > maxComparedChars) return change;
  for (const { added, removed, count } of diffLines(before ?? "", after)) {
    if (added) change.added += count ?? 0;
    if (removed) change.deleted += count ?? 0;
  }
  return change;
}

function together(before: FileChange | undefined, next: FileChange): FileChange {
  if (!before) return next;
  const kind = next.kind === "deleted" || before.kind !== "added" ? next.kind : "added";
  return { ...next, kind, added: before.added + next.added, deleted: before.deleted + next.deleted };
}
