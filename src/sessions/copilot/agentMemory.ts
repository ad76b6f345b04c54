import { createHash } from "node:crypto";
import type { Log } from "../../base/log.js";
import { shortReason } from "../../store/failure.js";
import { isFenced, type Ownership } from "../../store/ownership.js";
import { rootOf } from "../../store/root.js";
import type { Store } from "../../store/store.js";
import { type MemoryFile, maxMemoryBytes, memoryFiles, readMemory, writeMemory } from "./memoryFiles.js";
import { type KeptFile, keptOf, newPart, nothingKept } from "./memoryPart.js";
import { MemoryTable } from "./memoryTable.js";

/** A conversation of the Copilot runtime. */
export interface Conversation {
  readonly sessionId: string;
  /** The task that the session belongs to. */
  readonly owner: string | null;
  /** The folder in which a runtime in a sandbox keeps its conversations. */
  readonly home?: string | undefined;
}

/** What is stored of a conversation. */
interface Kept {
  readonly root: string;
  readonly files: Map<MemoryFile, KeptFile>;
  isTooLong: boolean;
}

export interface AgentMemoryParts {
  store: Pick<Store, "query" | "patiently">;
  ownership: Pick<Ownership, "fence" | "canMove" | "onLost">;
  /** Where the runtime keeps its conversations when it is in no sandbox. */
  home: string;
  log: Log;
}

/** The runtime tells of a tool or a turn a moment before it writes it to its file; on a busy machine that takes longer. */
const looksAfterMs = [200, 1_000, 5_000] as const;
/** About a kilobyte each; of any other conversation the store is asked. */
const maxRemembered = 1_000;

/**
 * The memory of agents on the Copilot runtime, for the nodes that may go on with their sessions. The owner stores what
 * is new of a conversation's files; the next owner puts them in their place. Only sessions that can move are stored.
 */
export class AgentMemory {
  readonly #parts: AgentMemoryParts;
  readonly #table: MemoryTable;
  /** Of the conversations that this node runs, by session, the last used ones last. */
  readonly #kept = new Map<string, Kept>();
  readonly #soon = new Map<string, { look: number; timer: NodeJS.Timeout }>();
  readonly #keeping = new Map<string, { running: Promise<void>; next?: Promise<void> }>();

  constructor(parts: AgentMemoryParts) {
    this.#parts = parts;
    this.#table = new MemoryTable(parts.store, parts.ownership);
    parts.ownership.onLost(lost => {
      for (const [sessionId, { root }] of this.#kept) if (root === lost) this.#kept.delete(sessionId);
    });
  }

  /**
   * Brings the files to this node before the runtime reads them. A file that begins with what is stored stays: it may
   * have more. Every other one is behind, or went another way before this node was lost.
   */
  async recall(conversation: Conversation): Promise<void> {
    const { sessionId, home = this.#parts.home } = conversation;
    // What cannot move is stored only if it was imported.
    const isStored = this.#parts.ownership.canMove(rootIdOf(conversation));
    if (!isStored && (await readMemory(home, sessionId, "events.jsonl"))) return;
    const recalled = async (file: MemoryFile) => {
      const bytes = await this.#table.read(sessionId, file);
      return (await writeMemory(home, sessionId, file, bytes)) ? bytes : undefined;
    };
    await this.#parts.store.patiently(() => this.#known(conversation, recalled));
  }

  /** Stores what is new in a moment, when the runtime has written it. */
  keepSoon(conversation: Conversation): void {
    if (!this.#parts.ownership.canMove(rootIdOf(conversation))) return;
    const soon = this.#soon.get(conversation.sessionId);
    if (soon?.look === 0) return;
    clearTimeout(soon?.timer);
    this.#lookLater(conversation, 0);
  }

  /** A look that finds nothing new costs the store nothing. */
  #lookLater(conversation: Conversation, look: number): void {
    const { sessionId } = conversation;
    const afterMs = looksAfterMs[look];
    if (afterMs === undefined) return void this.#soon.delete(sessionId);
    const timer = setTimeout(() => {
      void this.keep(conversation);
      this.#lookLater(conversation, look + 1);
    }, afterMs).unref();
    this.#soon.set(sessionId, { look, timer });
  }

  /** Stores what is new, however long the store takes. Calls while one runs are answered by one more. */
  keep(conversation: Conversation): Promise<void> {
    const { sessionId } = conversation;
    if (!this.#parts.ownership.canMove(rootIdOf(conversation))) return Promise.resolve();
    const now = this.#keeping.get(sessionId);
    if (!now) {
      const running = this.#keepSafely(conversation).finally(() => this.#keeping.delete(sessionId));
      this.#keeping.set(sessionId, { running });
      return running;
    }
    now.next ??= now.running.then(() => this.keep(conversation));
    return now.next;
  }

  /** A turn does not fail because its memory could not be stored. */
  async #keepSafely(conversation: Conversation): Promise<void> {
    const { store, ownership, log } = this.#parts;
    const { sessionId } = conversation;
    const root = rootIdOf(conversation);
    try {
      await store.patiently(async () => {
        if (ownership.canMove(root)) await this.#keep(conversation);
      });
    } catch (error) {
      this.#kept.delete(sessionId);
      // Another node goes on with it.
      if (isFenced(error)) return;
      log.warn({ sessionId, reason: shortReason(error) }, "what an agent remembers could not be stored");
    }
  }

  async #keep(conversation: Conversation): Promise<void> {
    const { sessionId, home = this.#parts.home } = conversation;
    const kept = await this.#known(conversation, async () => undefined);
    if (kept.isTooLong) return;
    const stored: Promise<void>[] = [];
    for (const file of memoryFiles) {
      const before = kept.files.get(file) ?? nothingKept;
      const found = await readMemory(home, sessionId, file, before.length - before.tail.length);
      if (!found) continue;
      if (found.size > maxMemoryBytes) return this.#giveUp(sessionId, kept);
      const part =
        newPart(found.bytes, before) ??
        newPart((await readMemory(home, sessionId, file))?.bytes ?? Buffer.alloc(0), nothingKept);
      if (!part || part.bytes.length === 0) continue;
      const written = this.#table.append(kept.root, sessionId, { file, ...part });
      stored.push(written.then(() => void kept.files.set(file, keptOf(part, before))));
    }
    await Promise.all(stored);
  }

  async #giveUp(sessionId: string, kept: Kept): Promise<void> {
    await this.#table.forget(kept.root, sessionId);
    kept.isTooLong = true;
    this.#parts.log.warn(
      { sessionId, maxMemoryBytes },
      "a conversation is too long to go along to other nodes: it would begin anew there",
    );
  }

  /** What is stored of a conversation. `missing` may bring a file that is not here as it is stored. */
  async #known(
    conversation: Conversation,
    missing: (file: MemoryFile) => Promise<Buffer | undefined>,
  ): Promise<Kept> {
    const { sessionId, home = this.#parts.home } = conversation;
    const kept = this.#kept.get(sessionId) ?? {
      root: rootIdOf(conversation),
      files: new Map<MemoryFile, KeptFile>(),
      isTooLong: false,
    };
    if (!this.#kept.delete(sessionId))
      for (const [file, { length, hash }] of await this.#table.stored(sessionId)) {
        const here = (await readMemory(home, sessionId, file))?.bytes.subarray(0, length);
        const bytes = here && hashOf(here) === hash ? here : await missing(file);
        if (bytes) kept.files.set(file, keptOf({ at: 0, bytes }));
      }
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= maxRemembered) this.#kept.delete(oldest);
    this.#kept.set(sessionId, kept);
    return kept;
  }
}

const rootIdOf = ({ sessionId, owner }: Conversation) => rootOf("session", sessionId, owner).id;
const hashOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
