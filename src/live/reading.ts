import type { PageSize } from "./history.js";
import { type MergeRules, Merger, type ReadResponse } from "./merge.js";
import type { ShownLog } from "./shownLog.js";

export interface ReadOptions {
  /** Also reads the deltas of ended blocks. */
  keepsEnded?: boolean;
  /** The answer is read as a whole up to this size; the rest is left for the next call. */
  wholeAnswerChars?: number;
}

export interface ReadPage {
  readonly responses: readonly ReadResponse[];
  /** Everything up to this number has been read. */
  readonly lastN: number;
}

/** The first record is usually enough; only a run of deltas needs more. */
const firstPageRecords = 16;
const onePageChars = 256 * 1024;
/** Smaller pages ask the store too often; the records of larger ones live long enough to burden the collector. */
const wholeAnswerPage: PageSize = { maxRecords: Number.POSITIVE_INFINITY, maxChars: 1024 * 1024 };

function rulesOf(log: ShownLog, options: ReadOptions): MergeRules {
  return {
    deltaHead: options.keepsEnded ? block => log.deltaHead(block) : block => log.openDeltaHead(block),
    joinsOverOthers: options.wholeAnswerChars !== undefined,
  };
}

/** The current responses above a number, page by page. */
export async function* readLog(
  log: ShownLog,
  after: number,
  options: ReadOptions = {},
): AsyncGenerator<ReadPage, void, void> {
  const last = log.visibleN;
  const merger = new Merger(rulesOf(log, options));
  const { wholeAnswerChars: maxChars = Number.POSITIVE_INFINITY } = options;
  const size = options.wholeAnswerChars === undefined ? undefined : wholeAnswerPage;
  let [lastN, chars] = [after, 0];
  while (lastN < last && chars < maxChars) {
    const records = await log.page(lastN, last, size);
    const end = records.at(-1);
    if (!end) break;
    if (options.keepsEnded) await log.learnHeads(records);
    const responses = merger.push(records);
    lastN = end.n;
    for (const { json } of responses) chars += json.length;
    yield { responses, lastN };
  }
  yield { responses: merger.flush(), lastN };
}

/** The same up to a number, as one page, if memory has all of it. */
export function readRecent(log: ShownLog, after: number, last: number): readonly [ReadPage] | undefined {
  const records = log.recent(after, last);
  if (!records) return undefined;
  const merger = new Merger(rulesOf(log, {}));
  return [{ responses: [...merger.push(records), ...merger.flush()], lastN: last }];
}

/** The first response above a number; undefined when there is none yet. */
export async function readOne(log: ShownLog, after: number): Promise<ReadResponse | undefined> {
  const last = log.visibleN;
  const merger = new Merger(rulesOf(log, { keepsEnded: true }));
  let maxRecords = firstPageRecords;
  for (let at = after; at < last; maxRecords *= 2) {
    const records = await log.page(at, last, { maxRecords, maxChars: onePageChars });
    const end = records.at(-1);
    if (!end) break;
    await log.learnHeads(records);
    const [first] = merger.push(records);
    if (first) return first;
    at = end.n;
  }
  return merger.flush()[0];
}
