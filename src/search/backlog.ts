import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../base/log.js";
import { readChunk } from "../live/chunk.js";
import { chunksAfter } from "../live/logTable.js";
import type { LogRecord } from "../live/record.js";
import { textsIn } from "../live/searchText.js";
import { insertTexts } from "../store/eventLog.js";
import { shortReason } from "../store/failure.js";
import type { Store } from "../store/store.js";

interface Waiting {
  logId: number;
  doneN: number;
  lastN: number;
}

/** One page is a short statement, and the pause after it leaves the store to everything else. */
const pageChars = 256 * 1024;
const pauseMs = 20;
const retryMs = 10_000;

/**
 * Indexes the logs that were written before there was a search: once, in the background, the newest first. A page and
 * how far the log is done are one transaction, so that a kill repeats and leaves out nothing.
 */
export class SearchBacklog {
  readonly #store: Store;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #working: Promise<void> | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  start(): void {
    this.#working = this.#work();
  }

  /** Resolves when everything is indexed or the work was stopped. */
  async done(): Promise<void> {
    await this.#working;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      let waitMs = pauseMs;
      try {
        if (!(await this.indexPage())) return;
      } catch (error) {
        if (this.#store.state() === "closed") return;
        this.#log.warn({ reason: shortReason(error) }, "older logs cannot be indexed at the moment");
        waitMs = retryMs;
      }
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Indexes the next page; false when nothing is left. */
  async indexPage(): Promise<boolean> {
    const [next] = await this.#store.query<Waiting>(
      `select log_id as "logId", done_n as "doneN", last_n as "lastN" from search_backlog order by log_id desc limit 1`,
    );
    if (!next) return false;
    const { logId, doneN, lastN } = next;
    const chunks = (await chunksAfter(this.#store.query, logId, doneN, pageChars)).filter(
      chunk => chunk.lastN <= lastN,
    );
    const records: LogRecord[] = [];
    for (const { lines } of chunks) readChunk(lines, doneN, records, () => {});
    const texts = textsIn(records).map(text => ({ logId, ...text }));
    const last = chunks.at(-1)?.lastN;
    await this.#store.transaction(async query => {
      // The log may have been deleted meanwhile; then its row in the backlog is gone too.
      const step =
        last === undefined || last >= lastN
          ? await query("delete from search_backlog where log_id = $1 returning log_id", [logId])
          : await query("update search_backlog set done_n = $2 where log_id = $1 returning log_id", [
              logId,
              last,
            ]);
      const values: unknown[] = [];
      if (step.length > 0 && texts.length > 0) await query(insertTexts(texts, values), values);
    });
    return true;
  }
}
