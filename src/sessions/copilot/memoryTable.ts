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

/** What agents remember, as the store keeps it for the other nodes. It goes with the row of its session. */
export class MemoryTable {
  readonly #store: Pick<Store, "query">;
  readonly #ownership: Pick<Ownership, "fence">;

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
  async append(root: string, sessionId: string, { file, at, bytes }: MemoryPart): Promise<void> {
    const values: unknown[] = [sessionId, file];
    const places: string[] = [];
    const kept: number[] = [];
    for (let from = 0; from < bytes.length; from += maxRowBytes) {
      kept.push(at + from);
      const part = bytes.subarray(from, from + maxRowBytes);
      places.push(`($1, $2, $${values.push(at + from)}::bigint, $${values.push(part)}::bytea)`);
    }
    await this.#write(root, values, [
      `insert into agent_memory (session_id, file, at, bytes) values ${places.join(", ")}
       on conflict (session_id, file, at) do update set bytes = excluded.bytes`,
      `delete from agent_memory where session_id = $1 and file = $2
         and at >= $${values.push(at)} and not at = any($${values.push(kept)}::bigint[])`,
    ]);
  }

  async forget(root: string, sessionId: string): Promise<void> {
    await this.#write(root, [sessionId], ["delete from agent_memory where session_id = $1"]);
  }

  async #write(root: string, values: unknown[], parts: readonly string[]): Promise<void> {
    const fence = await this.#ownership.fence([root], values);
    const written = parts.map((part, i) => `w${i} as (${part})`);
    await this.#store.query(`with ${[...written, fence].join(", ")} select ok from fence`, values);
  }
}
