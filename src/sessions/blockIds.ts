/**
 * Makes block ids unique within a session, since a provider may reuse the id of a tool call.
 * `tag` separates the ids of a resumed session from earlier ones in the same conversation.
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
