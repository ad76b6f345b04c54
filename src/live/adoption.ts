import { failpoint } from "../base/failpoint.js";
import { type Ownership, takenOver, type WonRoot } from "../store/ownership.js";
import type { Root } from "../store/root.js";
import type { Store } from "../store/store.js";
import type { LiveLog } from "./liveLog.js";
import type { LogKind } from "./liveResponse.js";
import type { LogTable } from "./logTable.js";

/** Mends what an earlier owner left of one root, or without one of all roots that this portal owns. */
export type Mender = (root?: string) => Promise<void>;

export interface AdoptionParts {
  store: Pick<Store, "ready" | "patiently"> & Partial<Pick<Store, "wake">>;
  ownership: Ownership;
  table: Pick<LogTable, "withOpenBlocks">;
  open(kind: LogKind, id: string): Promise<LiveLog | undefined>;
  /** Brings the open logs of these roots up to what the store has. */
  catchUp(roots: ReadonlySet<string>): Promise<void>;
}

/**
 * The only way to a root that an earlier boot had: this portal wins it, ends the blocks that nobody writes any more,
 * and then each room mends what belongs to it. Nothing else changes what somebody else has written.
 */
export class Adoption {
  readonly #parts: AdoptionParts;
  readonly #menders: Mender[] = [];
  /** Roots that are being won, and the blocks in their logs ended. */
  readonly #winning = new Map<string, Promise<void>>();
  /** Those who want the same root wait for the same mending. */
  readonly #adopting = new Map<string, Promise<void>>();
  #started: Promise<void> | undefined;
  #lastClaim: Promise<void> = Promise.resolve();

  constructor(parts: AdoptionParts) {
    this.#parts = parts;
  }

  /** Rooms mend in the order in which they come here. */
  mendsWith(mender: Mender): void {
    this.#menders.push(mender);
  }

  /**
   * A start takes over what an earlier boot of this portal left unfinished, however long the store takes. What is
   * finished waits until it is used. After this, each room mends its part.
   */
  start(): Promise<void> {
    const { store, ownership } = this.#parts;
    this.#started ??= store.ready
      .then(() => store.patiently(() => this.#take(() => ownership.claimUnfinished())))
      .then(() => undefined)
      .catch(error => {
        this.#started = undefined;
        throw error;
      });
    return this.#started;
  }

  /** Adopts a root with everything below it. Two calls at once are one. */
  adopt(root: Root): Promise<void> {
    const adopting =
      this.#adopting.get(root.id) ?? this.#adopt(root).finally(() => this.#adopting.delete(root.id));
    this.#adopting.set(root.id, adopting);
    return adopting;
  }

  async #adopt(root: Root): Promise<void> {
    await this.win(root);
    await this.#mend(root.id);
  }

  /** The same for roots that the claim wins while the portal runs; `first` comes before anything of them goes on. */
  async adoptAll(claim: () => Promise<WonRoot[]>, first?: (root: string) => Promise<void>): Promise<void> {
    await this.#started;
    for (const root of await this.#take(claim)) {
      await first?.(root);
      await this.#mend(root);
      this.#parts.ownership.mended(root);
    }
  }

  async #mend(root: string): Promise<void> {
    for (const mend of this.#menders) await mend(root);
  }

  /** Resolves when this portal may write to the logs of a root; rejects when somebody else may. */
  async win(root: Root): Promise<void> {
    const { ownership } = this.#parts;
    await this.#started;
    if (!ownership.owns(root.id) && !this.#winning.has(root.id)) {
      const winning = this.#take(() => ownership.claim([root]))
        .then(() => undefined)
        .finally(() => this.#winning.delete(root.id));
      this.#winning.set(root.id, winning);
    }
    await this.#winning.get(root.id);
    if (!ownership.owns(root.id)) throw takenOver(root.kind, root.id);
  }

  async #take(claim: () => Promise<WonRoot[]>): Promise<string[]> {
    const { store, ownership, table, open } = this.#parts;
    // One after the other: who brings a log up to date that somebody else has just won would undo what that one writes.
    const winning = this.#lastClaim.then(() => this.#claim(claim));
    this.#lastClaim = winning.then(
      () => {},
      () => {},
    );
    const { claimed, won } = await winning;
    try {
      for (const root of won) store.wake?.("portal_owner", root);
      const logs = won.length > 0 ? await table.withOpenBlocks(won) : [];
      for (const { kind, key } of logs) {
        await (await open(kind, key))?.endOpenBlocks();
        failpoint("open-blocks-ended");
      }
      return claimed;
    } catch (error) {
      // They are won again, and mended, when the store can be written.
      for (const root of won) ownership.forget(root);
      throw error;
    }
  }

  async #claim(claim: () => Promise<WonRoot[]>): Promise<{ claimed: string[]; won: string[] }> {
    const { ownership, catchUp } = this.#parts;
    const all = await claim();
    // What somebody has needed meanwhile is in use here, and only has to be mended.
    const won = all.filter(({ root }) => !ownership.owns(root));
    const roots = won.map(({ root }) => root);
    if (roots.length > 0) {
      failpoint("roots-claimed");
      await catchUp(new Set(roots));
      ownership.won(won);
    }
    return { claimed: all.map(({ root }) => root), won: roots };
  }
}
