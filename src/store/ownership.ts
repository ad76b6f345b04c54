import { failpoint } from "../base/failpoint.js";
import { packageVersion } from "../base/paths.js";
import { PortalError } from "../base/portalError.js";
import { flowVersion } from "./durableJobs.js";
import type { OwnedKind, Root } from "./root.js";
import type { Store } from "./store.js";

/** The name of the only portal on an embedded store. */
export const onlyNode = "local";

export interface OwnershipOptions {
  /** The name of this portal among those on the same store. */
  node?: string;
  /** Other portals write to the store too: a write holds its roots, so that a takeover waits for it. */
  isShared?: boolean;
  /** Begins a life of this portal; by default whoever begins is the only one on the store. */
  begin?: () => Promise<number>;
  /** Whether what works in this folder can move to another node. */
  isMovable?: (folder: string) => Promise<boolean>;
  /** The hash of the settings that a node must have to go on with what begins here. */
  settings?: string;
}

/** A root that can move, with something to go on with, whose owner is gone. */
export interface FreeOwned {
  root: string;
  kind: OwnedKind;
  boot: number | null;
  node: string;
  needs: string | null;
  takeovers: number;
  progress: number;
  ended: number;
}

/** Such a root as it is taken, with its new counts. */
export type FreeChoice = Pick<FreeOwned, "root" | "boot" | "takeovers" | "progress">;

/** A root that this boot has won. */
export interface WonRoot {
  readonly root: string;
  readonly movable: boolean;
}

/** A condition: no living boot has the root. */
const hasNoOwner = (owned: string) =>
  `not exists (select from nodes n where n.boot = ${owned}.boot and n.state <> 'gone')`;

/** What a portal that took over may do: the earlier boot is over, and the root may leave its node or never did. */
const isFree = `${hasNoOwner("owned")}
  and (owned.movable or owned.node = excluded.node)`;

/** Names a root whose owner has changed, or that waits for one. */
export const ownerChannel = "portal_owner";

/** A node that takes over more at once would hold up its own work. */
const mostAtOnce = 100;

const takeOver = `on conflict (root) do update set boot = excluded.boot, node = excluded.node, since = now()
  where owned.boot = excluded.boot or (${isFree}) returning root, movable`;

/** The error of a fence; no other statement with a fence divides. */
const divisionByZero = "22012";

const kindOfOwner = "case when owner is null then 'session' when owner like '%.%' then 'job' else 'task' end";

/** The roots that an earlier boot of any portal left with something to end or to go on with. */
export const unfinished = `
  select root, ${kindOfOwner} as kind from sessions where status = 'open' and pending_requests > 0 union
  select id, 'job' from jobs
    where status in ('Running', 'Paused') or (status = 'Canceled' and ended_at is null) or deleting union
  select root, 'job' from logs where kind = 'job' and not closed union
  select id, 'task' from tasks where status = 'Running' union
  select id, 'run' from runs where status = 'Running' union
  select root, case when root = key then kind else 'job' end from logs where not closed and open_from > 0`;

/**
 * Which roots this portal owns. A boot is one life of a portal: a number that is never used twice. Every write names
 * it, so that nothing of an earlier owner is stored after a takeover.
 */
export class Ownership {
  readonly #store: Pick<Store, "query" | "transaction">;
  readonly #node: string;
  readonly #lock: string;
  readonly #options: OwnershipOptions;
  /** Whether each of them can move to another node. */
  readonly #owned = new Map<string, boolean>();
  /** Those that were left with the lease, until the next life has mended them. */
  readonly #leftOnes = new Set<string>();
  readonly #onLost = new Set<(root: string) => void>();
  #boot: Promise<number> | undefined;

  constructor(store: Pick<Store, "query" | "transaction">, options: OwnershipOptions = {}) {
    this.#store = store;
    this.#options = options;
    this.#node = options.node ?? onlyNode;
    this.#lock = options.isShared ? " for share" : "";
  }

  /** The number of this life; it begins with the first question. Fails as the store does, and is then asked again. */
  boot(): Promise<number> {
    this.#boot ??= this.#begin().catch(error => {
      this.#boot = undefined;
      throw error;
    });
    return this.#boot;
  }

  get node(): string {
    return this.#node;
  }

  /** The same process goes on with another number: its lease had run out. Whoever writes meanwhile waits for it. */
  goesOn(boot: Promise<number>): void {
    this.#boot = boot;
  }

  /** Whether this boot has won the root and has not lost it. */
  owns(root: string): boolean {
    return this.#owned.has(root);
  }

  /** Whether this boot owns the root, and another node may go on with it one day. */
  canMove(root: string): boolean {
    return this.#owned.get(root) === true;
  }

  /** Takes over those roots that nobody alive owns; returns those that this boot now owns. */
  async claim(roots: readonly Root[]): Promise<WonRoot[]> {
    return this.#store.query<WonRoot>(
      `insert into owned (root, kind, boot, node)
       select root, kind, $3, $4 from unnest($1::text[], $2::text[]) as r(root, kind) ${takeOver}`,
      [roots.map(({ id }) => id), roots.map(({ kind }) => kind), await this.boot(), this.#node],
    );
  }

  /**
   * Takes over all roots of this node that have something to mend, in one statement: the others wait until they are
   * used. Those that this boot has already won are left out, unless they wait to be mended since an earlier one.
   */
  async claimUnfinished(): Promise<WonRoot[]> {
    const rows = await this.#store.query<WonRoot>(
      `insert into owned (root, kind, boot, node)
       select distinct on (root) root, kind, $1::bigint, $2 from (${unfinished}) as u(root, kind)
       where not exists (select from owned o where o.root = u.root and o.node <> $2) ${takeOver}`,
      [await this.boot(), this.#node],
    );
    return rows.filter(({ root }) => !this.owns(root) || this.#leftOnes.has(root));
  }

  /** The roots that can move, with something to go on with, whose owner is gone. */
  async free(): Promise<FreeOwned[]> {
    const rows = await this.#store.query<FreeOwned & { boot: string | null }>(
      `select o.root, o.kind, o.boot::text, o.node, o.needs, o.takeovers, o.progress,
         (select count(*)::int from logs l where l.root = o.root and l.kind = 'task' and l.closed) as ended
       from owned o
       where o.movable and ${hasNoOwner("o")} and o.root in (select root from (${unfinished}) as u(root, kind))
       order by o.since, o.root limit ${mostAtOnce}`,
    );
    return rows.map(row => ({ ...row, boot: row.boot === null ? null : Number(row.boot) }));
  }

  /** Takes over one of those, unless somebody else was faster. */
  async takeFree({ root, boot, takeovers, progress }: FreeChoice): Promise<WonRoot[]> {
    return this.#store.query<WonRoot>(
      `update owned set boot = $1, node = $2, takeovers = $5, progress = $6, since = now()
       where root = $3 and boot is not distinct from $4::bigint and ${hasNoOwner("owned")}
       returning root, movable, pg_notify('${ownerChannel}', root)`,
      [await this.boot(), this.#node, root, boot, takeovers, progress],
    );
  }

  /** Takes over from a node that never comes back whatever has to be ended; the rest is this node's from now on too. */
  async takeNode(name: string): Promise<(WonRoot & Root)[]> {
    const values = [await this.boot(), this.#node, name];
    const rows = await this.#store.query<WonRoot & Root>(
      `update owned set boot = $1, node = $2, since = now() where node = $3 and ${hasNoOwner("owned")} and root in
         (select root from (${unfinished}) as u(root, kind) union all
          select id from sessions where status = 'open' and owner is null)
       returning root, movable, root as id, kind`,
      values,
    );
    await this.#store.query(
      `update owned set boot = null, node = $1 where node = $2 and ${hasNoOwner("owned")}`,
      values.slice(1),
    );
    return rows;
  }

  /** Takes over a pinned root whose node is not running: its user has given it up. */
  async takeAbandoned(root: string): Promise<WonRoot[]> {
    return this.#store.query<WonRoot>(
      `update owned set boot = $1, since = now() where root = $2 and not exists (select from nodes n
         where n.state <> 'gone' and n.lease_until > now() and (n.boot = owned.boot or n.name = owned.node))
       returning root, movable`,
      [await this.boot(), root],
    );
  }

  /** Gives such a root back to its node, where its folder is. */
  async giveBack(root: string): Promise<void> {
    this.lost(root);
    await this.#store.query("update owned set boot = null where root = $1 and boot = $2", [
      root,
      await this.boot(),
    ]);
  }

  /** Notes that these roots are owned and mended: from now on they may be written. */
  won(roots: readonly WonRoot[]): void {
    for (const { root, movable } of roots) this.#owned.set(root, movable);
  }

  /** From now on the root needs something of this machine, and never leaves it. */
  async pin(root: string): Promise<void> {
    if (!this.#owned.get(root)) return;
    await this.#store.query("update owned set movable = false where root = $1 and boot = $2", [
      root,
      await this.boot(),
    ]);
    this.#owned.set(root, false);
  }

  /** From now on any node may take the root; whoever works on it here has to stop. False when it cannot move. */
  async handOver(root: string): Promise<boolean> {
    if (!this.canMove(root)) return false;
    await this.#store.query(
      `update owned set boot = null, since = now() where root = $1 and boot = $2 and movable
       returning pg_notify('${ownerChannel}', root)`,
      [root, await this.boot()],
    );
    this.lost(root);
    return true;
  }

  /** Whoever works on what can move has to stop: others may go on with it. */
  leaveMovable(): string[] {
    const roots = [...this.#owned].flatMap(([root, movable]) => (movable ? [root] : []));
    for (const root of roots) {
      this.#leftOnes.add(root);
      this.lost(root);
    }
    return roots;
  }

  /** Notes that nothing of an earlier life is left to be mended in a root. */
  mended(root: string): void {
    this.#leftOnes.delete(root);
  }

  /** Notes that a root does not exist any more. */
  forget(root: string): void {
    this.#owned.delete(root);
  }

  /** Another portal has taken the root over: whoever works on it here has to stop. */
  lost(root: string): void {
    if (!this.#owned.delete(root)) return;
    for (const callback of this.#onLost) callback(root);
  }

  onLost(callback: (root: string) => void): void {
    this.#onLost.add(callback);
  }

  /** Which of these roots this boot, or an earlier one, still owns in the store. */
  async still(roots: readonly string[], boot = this.boot()): Promise<Set<string>> {
    const rows = await this.#store.query<{ root: string }>(
      "select root from owned where root = any($1) and boot = $2",
      [roots, await boot],
    );
    return new Set(rows.map(({ root }) => root));
  }

  /**
   * Two parts of a `with`, whose values are added. Reading the one row of `fence` fails unless this boot, or an earlier
   * one, owns all of these roots; that takes back the whole statement, so no other part of it needs a condition.
   */
  async fence(roots: readonly string[], values: unknown[], boot = this.boot()): Promise<string> {
    const [all, own] = [values.push(roots), values.push(await boot)];
    return `mine as (select root from owned where root = any($${all}) and boot = $${own}${this.#lock}),
      fence as materialized (select 1 / (count(*) = ${roots.length})::int as ok from mine)`;
  }

  /** A condition: this boot owns the root in this column. Its value is added. */
  async owner(column: string, values: unknown[]): Promise<string> {
    return `exists (select from owned where root = ${column} and boot = $${values.push(await this.boot())}${this.#lock})`;
  }

  /** Whether what works in this folder can move to another node. */
  async isMovable(folder: unknown): Promise<boolean> {
    return typeof folder === "string" && ((await this.#options.isMovable?.(folder)) ?? false);
  }

  /** The parts of a `with` that make a root, unless it exists, and then as `mine` has it if it is this boot's. */
  async made({ id, kind }: Root, movable: boolean, values: unknown[]): Promise<string> {
    const needs = movable ? (this.#options.settings ?? null) : null;
    const places = [id, kind, await this.boot(), this.#node, movable, needs].map(
      value => `$${values.push(value)}`,
    );
    const [root, , boot] = places;
    return `made as (insert into owned (root, kind, boot, node, movable, needs) values (${places.join(", ")})
        on conflict do nothing returning root),
      known as (select root from owned where root = ${root} and boot = ${boot}${this.#lock}),
      mine as (select root from made union all select root from known)`;
  }

  async #begin(): Promise<number> {
    const boot = await (this.#options.begin?.() ?? this.#beginAlone());
    failpoint("boot-begun");
    return boot;
  }

  /** Whoever begins holds the lock of the store: no earlier boot of this name lives. */
  #beginAlone(): Promise<number> {
    return this.#store.transaction(async query => {
      await query("update nodes set state = 'gone' where name = $1 and state <> 'gone'", [this.#node]);
      const [row] = await query<{ boot: string }>(
        "insert into nodes (name, version, flow_version, pid) values ($1, $2, $3, $4) returning boot",
        [this.#node, packageVersion, flowVersion, process.pid],
      );
      return Number(row?.boot);
    });
  }
}

/** Whether a statement failed at its `fence`. */
export function isFenced(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === divisionByZero;
}

/** Says that somebody else has the root, to whoever wants to write. */
export function takenOver(kind: string, id: string): PortalError {
  return PortalError.unavailable("TakenOver", `Another portal has taken over the ${kind} ${id}.`);
}
