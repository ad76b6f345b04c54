/**
 * Makes the ids of blocks unique within a session: a provider may use the id of a tool call again.
 * `tag` tells the ids of a resumed session from those that the same conversation had before.
 */
export class BlockIds {
  readonly #tag: string;
  readonly #uses = new Map<string, number>();

  constructor(tag: string) {
    this.#tag = tag;
  }

  has(id: string): boolean {
    return this.#uses.has(id);
  }

  next(id: string): string {
    const uses = (this.#uses.get(id) ?? 0) + 1;
    this.#uses.set(id, uses);
    const unique = uses === 1 ? id : `${id}#${uses}`;
    // "a#2" may also be an id that the provider chose.
    if (uses > 1 && this.#uses.has(unique)) return this.next(id);
    if (uses > 1) this.#uses.set(unique, 1);
    return unique + this.#tag;
  }
}
