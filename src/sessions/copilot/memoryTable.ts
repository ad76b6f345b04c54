import { setTimeout as sleep } from "node:timers/promises";
import { type Deferred, deferred } from "../../base/deferred.js";
import type { Ownership } from "../../store/ownership.js";
import type { Store } from "../../store/store.js";
import { type MemoryFile, memoryFiles } from "./memoryFiles.js";

/** How much of a file is stored, and the SHA-256 of that. */
export interface StoredMemory {
  readonly length: number;
  readonly hash: string;
}

/** What is new of a file. */
export interface MemoryPart {
  readonly file: MemoryFile;
  /** The place of its first byte in the file; 0 replaces whatever is stored. */
  readonly at: number;
  readonly bytes: Buffer;
}

/** An export has a row in one line, as text of twice this length. */
export const maxRowBytes = 1024 * 1024;

/** What is new of one file, and who waits for it to be stored. */
interface Waiting extends Deferred {
  readonly root: string;
  readonly sessionId: string;
  readonly part: MemoryPart;
}

/** Sessions that end their turns together are one write: a write begins this long after the last one, or later. */
const pauseMs = 50;
const maxWriteBytes = 4 * maxRowBytes;

/** What agents remember, as the store keeps it for the other nodes. It goes with the row of its session. */
export class MemoryTable {
  readonly #store: Pick<Store, "query">;
  readonly #ownership: Pick<Ownership, "fence">;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(store: Pick<Store, "query">, ownership: Pick<Ownership, "fence">) {
    this.#store = store;
    this.#ownership = ownership;
  }

  async stored(sessionId: string): Promise<Map<MemoryFile, StoredMemory>> {
    const rows = await this.#store.query<StoredMemory & { file: MemoryFile }>(
      `select file, sum(length(bytes))::int as length, encode(sha256(string_agg(bytes, '' order by at)), 'hex') as hash
       from agent_memory where session_id = $1 and file = any($2) group by file`,
      [sessionId, memoryFiles],
    );
    return new Map(rows.map(({ file, length, hash }) => [file, { length, hash }]));
  }

  async read(sessionId: string, file: MemoryFile): Promise<Buffer> {
    const rows = await this.#store.query<{ bytes: Uint8Array }>(
      "select bytes from agent_memory where session_id = $1 and file = $2 order by at",
      [sessionId, file],
    );
    return Buffer.concat(rows.map(({ bytes }) => bytes));
  }

  /** Fails at the fence when another portal has the root. An answer may be lost, so this can be repeated. */
  append(root: string, sessionId: string, part: MemoryPart): Promise<void> {
    const waiting = { root, sessionId, part, ...deferred() };
    this.#waiting.push(waiting);
    if (!this.#isWriting) void this.#writeWaiting();
    return waiting.promise;
  }

  async #writeWaiting(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const nextMs = performance.now() + pauseMs;
      const sizes = this.#waiting.map(({ part }) => part.bytes.length);
      await this.#writeTogether(this.#waiting.splice(0, countWithin(sizes, maxWriteBytes)));
      await sleep(nextMs - performance.now(), undefined, { ref: false });
    }
    this.#isWriting = false;
  }

  /** One that fails must not keep the others from being stored. */
  async #writeTogether(parts: readonly Waiting[]): Promise<void> {
    try {
      await this.#append(parts);
      for (const { resolve } of parts) resolve();
    } catch (error) {
      if (parts.length > 1) for (const part of parts) await this.#writeTogether([part]);
      else parts[0]?.reject(error as Error);
    }
  }

  async #append(parts: readonly Waiting[]): Promise<void> {
    const values: unknown[] = [];
    const rows: string[] = [];
    const replaced: string[] = [];
    for (const { sessionId, part } of parts) {
      const { file, at, bytes } = part;
      const [session, name] = [`$${values.push(sessionId)}::text`, `$${values.push(file)}::text`];
      const kept: number[] = [];
      for (let from = 0; from < bytes.length; from += maxRowBytes) {
        kept.push(at + from);
        const row = [at + from, bytes.subarray(from, from + maxRowBytes)].map(value => values.push(value));
        rows.push(`(${session}, ${name}, $${row[0]}::bigint, $${row[1]}::bytea)`);
      }
      replaced.push(`(${session}, ${name}, $${values.push(at)}::bigint, $${values.push(kept)}::bigint[])`);
    }
    await this.#write([...new Set(parts.map(({ root }) => root))], values, [
      `insert into agent_memory (session_id, file, at, bytes) values ${rows.join(", ")}
       on conflict (session_id, file, at) do update set bytes = excluded.bytes`,
      `delete from agent_memory m using (values ${replaced.join(", ")}) as p(session_id, file, at, kept)
       where m.session_id = p.session_id and m.file = p.file and m.at >= p.at and not m.at = any(p.kept)`,
    ]);
  }

  async forget(root: string, sessionId: string): Promise<void> {
    await this.#write([root], [sessionId], ["delete from agent_memory where session_id = $1"]);
  }

  async #write(roots: readonly string[], values: unknown[], parts: readonly string[]): Promise<void> {
    const fence = await this.#ownership.fence(roots, values);
    const written = parts.map((part, i) => `w${i} as (${part})`);
    await this.#store.query(`with ${[...written, fence].join(", ")} select ok from fence`, values);
  }
}

/** How many of the first together have no more than this size; one at least. */
function countWithin(sizes: readonly number[], most: number): number {
  let sum = 0;
  const tooMany = sizes.findIndex((size, place) => {
    sum += size;
    return place > 0 && sum > most;
  });
  return tooMany === -1 ? sizes.length : tooMany;
}
