import {
  type ChangeRouteParts,
  changesOfJob,
  changesOfSession,
  recordsOfJob,
  selected,
} from "./changeAnswers.js";
import type { ChangeRecord } from "./changeRecords.js";
import type { ChangeRange, Changes } from "./changes.js";
import type { FileChange, FileDiff } from "./diff.js";

/** What the page of an exported session or job asks for about changes, by its path below `/api/`. */
export interface ExportedChanges {
  session(id: string): Promise<Record<string, unknown>>;
  job(id: string, workIds: readonly number[]): Promise<Record<string, unknown>>;
}

/** An exported file is passed on and opens at once, so it has no more than this of the differences. */
const maxDiffChars = 200_000;
export const maxAllChars = 1_000_000;
const maxDiffs = 200;

/** The lists and differences of one exported file. */
export class ChangesInFile {
  readonly answers: Record<string, unknown> = {};
  readonly #changes: Pick<Changes, "range" | "file">;
  readonly #path: string;
  #charsLeft = maxAllChars;
  #diffsLeft: number;

  constructor(changes: Pick<Changes, "range" | "file">, path: string, diffs = maxDiffs) {
    this.#changes = changes;
    this.#path = path;
    this.#diffsLeft = diffs;
  }

  /** A list, and the differences of its files, which are made when the file has come to them. */
  async add(
    query: string,
    list: { files: readonly FileChange[] },
    records: readonly ChangeRecord[],
  ): Promise<void> {
    this.answers[`${this.#path}?${query}`] = list;
    const range = await this.#changes.range(records);
    for (const file of range ? list.files : [])
      this.answers[`${this.#path}/file?${query}&path=${encodeURIComponent(file.path)}`] = () =>
        range && this.#difference(range, file);
  }

  /** Null where it is left out. */
  async #difference(range: ChangeRange, { path, added, deleted }: FileChange): Promise<FileDiff | null> {
    const maxChars = Math.min(maxDiffChars, this.#charsLeft);
    // Each line has a character at least.
    if (this.#diffsLeft === 0 || added + deleted > maxChars) return null;
    this.#diffsLeft--;
    const found = await this.#changes.file(range, path, false).catch(() => undefined);
    if (!found || found.diff.length > maxChars) return null;
    this.#charsLeft -= found.diff.length;
    return found;
  }
}

export function exportedChanges(parts: ChangeRouteParts): ExportedChanges {
  return {
    async session(id) {
      const path = `copilot/session/${encodeURIComponent(id)}/changes`;
      const inFile = new ChangesInFile(parts.changes, path);
      const whole = await changesOfSession(parts, id);
      for (const { turn, files } of "turns" in whole ? whole.turns : [])
        if (files > 0) {
          const list = await changesOfSession(parts, id, turn);
          await inFile.add(`turn=${turn}`, list, (await selected(parts, id, turn)).records);
        }
      return { [path]: whole, ...inFile.answers };
    },
    async job(id, workIds) {
      const inFile = new ChangesInFile(parts.changes, `copilot/job/${encodeURIComponent(id)}/changes`);
      const add = async (query: string, which: { workId?: number; attempt?: number }) =>
        inFile.add(query, await changesOfJob(parts, id, which), await recordsOfJob(parts, id, which));
      await add("", {});
      for (const workId of new Set(workIds)) {
        const attempts = (await recordsOfJob(parts, id, { workId })).map(record => record.number);
        await add(`workId=${workId}`, { workId });
        for (const attempt of attempts.some(number => number > 1) ? new Set(attempts) : [])
          await add(`workId=${workId}&attempt=${attempt}`, { workId, attempt });
      }
      return inFile.answers;
    },
  };
}
