import type { LogKind } from "../live/liveResponse.js";
import type { Ownership } from "../store/ownership.js";
import type { OwnedKind, Root } from "../store/root.js";
import type { Store } from "../store/store.js";
import type { Peer } from "./proxy.js";
import type { Belongs } from "./proxyPlaces.js";

/** Whose something is. */
export interface Owned {
  readonly root: Root;
  /** Its log is closed, and so is everything that the store has of it. */
  readonly isClosed: boolean;
  readonly owner:
    | { readonly at: "here" }
    | { readonly at: "peer"; readonly peer: Peer }
    /** Nobody who lives. `node` has its folder, and only a movable root can go on elsewhere. */
    | { readonly at: "nobody"; readonly node: string; readonly isMovable: boolean };
}

/** What a call belongs to, with its arguments filled in. */
export type Wanted =
  | { readonly to: LogKind; readonly id: string }
  | { readonly to: "request" | "worktree"; readonly id: string };

interface OwnerRow {
  root: string;
  kind: OwnedKind;
  closed: boolean;
  boot: string | null;
  node: string;
  movable: boolean;
  /** The life that answers for it now, if any. */
  living: string | null;
  name: string | null;
  url: string | null;
}

/** Where the root of something is found, by its id. */
const roots: Readonly<Record<"log" | "request" | "worktree", string>> = {
  log: "select root, closed from logs where key = $1 and kind = $2",
  request: "select root, false as closed from waiting where request_id = $1 and $2::text is not null",
  worktree:
    "select split_part(owner, '.', 1) as root, false as closed from worktrees where id = $1 and $2::text is not null",
};

/**
 * The node `n` that answers for the root `o`: the life that owns it, or a later life of the node that it is pinned to.
 * Only the clock of the database decides whether a lease holds. A node of an earlier portal has none.
 */
const livingOwner = `nodes n on n.state <> 'gone' and n.lease_until > now()
  and (n.boot = o.boot or (not o.movable and n.name = o.node))`;

const ownerOf = (found: string) => `
  select o.root, o.kind, f.closed, o.boot::text, o.node, o.movable, n.boot::text as living, n.name, n.url
  from (${found}) f join owned o on o.root = f.root left join ${livingOwner}`;

/** Where the nodes are that answer for these roots, by root. */
export async function urlsOf(
  store: Pick<Store, "query">,
  roots: readonly string[],
): Promise<Map<string, string>> {
  const rows = await store.query<{ root: string; url: string | null }>(
    `select o.root, n.url from owned o join ${livingOwner} where o.root = any($1)`,
    [roots],
  );
  return new Map(rows.map(({ root, url }) => [root, url ?? ""]));
}

/** Whose a row says that it is, for the portal with this boot. */
export function ownedOf(row: OwnerRow, boot: number): Owned {
  const { root: id, kind, closed: isClosed, node, movable: isMovable, name, url } = row;
  const isHere = [row.boot, row.living].some(life => life !== null && Number(life) === boot);
  const peer = name !== null && url !== null ? { name, url } : undefined;
  const owner = isHere
    ? ({ at: "here" } as const)
    : peer
      ? ({ at: "peer", peer } as const)
      : ({ at: "nobody", node, isMovable } as const);
  return { root: { id, kind }, isClosed, owner };
}

/** The arguments of a call, as far as they say what it belongs to; undefined when they do not. */
export function wantedOf(
  belongs: Belongs,
  params: Readonly<Record<string, string>>,
  json: unknown,
): Wanted | undefined {
  if (belongs.to === "request") {
    const { requestId } = Object(json) as { requestId?: unknown };
    return typeof requestId === "string" ? { to: "request", id: requestId } : undefined;
  }
  const id = params[belongs.param];
  return id === undefined ? undefined : { to: belongs.to, id };
}

/** A takeover is announced; what got lost is noticed after this time. */
const maxAgeMs = 1_000;
/** More are asked for within a second only by a flood of requests. */
const maxKnown = 10_000;

export interface OwnersParts {
  store: Pick<Store, "query" | "listen">;
  ownership: Pick<Ownership, "boot" | "owns">;
  nowMs?(): number;
}

/** Who owns what, remembered for a moment: each call of a page asks, and the answer rarely changes. */
export class Owners {
  readonly #parts: OwnersParts;
  readonly #known = new Map<string, { owned: Promise<Owned | undefined>; untilMs: number }>();
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(parts: OwnersParts) {
    this.#parts = parts;
    parts.store.listen("portal_owner", root => void this.#changed(root));
  }

  /** Undefined when there is no such thing. With `anew` the store is asked, whatever was remembered. */
  async find(wanted: Wanted, options: { anew?: boolean } = {}): Promise<Owned | undefined> {
    const owned = await this.#find(wanted, options);
    // What this portal has just adopted need not be adopted again.
    return owned && this.#parts.ownership.owns(owned.root.id) ? { ...owned, owner: { at: "here" } } : owned;
  }

  async #find(wanted: Wanted, { anew = false }): Promise<Owned | undefined> {
    // No row has such an id, and the store cannot be asked for it.
    if (wanted.id.includes("\0")) return undefined;
    const { nowMs = () => performance.now() } = this.#parts;
    const key = `${wanted.to}/${wanted.id}`;
    const known = this.#known.get(key);
    if (known && !anew && known.untilMs > nowMs()) return known.owned;
    const owned = this.#ask(wanted);
    this.#remember(key, owned, nowMs() + maxAgeMs);
    return owned;
  }

  /** Calls back when a root may have a new owner, or none. Returns a function that cancels this. */
  watch(root: string, callback: () => void): () => void {
    const callbacks = this.#watchers.get(root) ?? new Set();
    this.#watchers.set(root, callbacks.add(callback));
    return () => {
      callbacks.delete(callback);
      if (callbacks.size === 0 && this.#watchers.get(root) === callbacks) this.#watchers.delete(root);
    };
  }

  async #ask({ to, id }: Wanted): Promise<Owned | undefined> {
    const { store, ownership } = this.#parts;
    const found = to === "request" || to === "worktree" ? roots[to] : roots.log;
    const [row] = await store.query<OwnerRow>(ownerOf(found), [id, to]);
    return row && ownedOf(row, await ownership.boot());
  }

  #remember(key: string, owned: Promise<Owned | undefined>, untilMs: number): void {
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.delete(key);
    this.#known.set(key, { owned, untilMs });
    const forget = () => {
      if (this.#known.get(key)?.owned === owned) this.#known.delete(key);
    };
    // What does not exist may exist with the next call.
    owned.then(found => found ?? forget(), forget);
  }

  async #changed(root: string): Promise<void> {
    // Which of them belong to the root is not worth knowing: takeovers are rare.
    this.#known.clear();
    const watched = root === "" ? [...this.#watchers.values()] : [this.#watchers.get(root) ?? []];
    for (const callbacks of watched) for (const callback of callbacks) callback();
  }
}
