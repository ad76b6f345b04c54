import { flag, text } from "../api/schemas.js";
import type { Store } from "../store/store.js";

/** Where something works: `node` has it, and it waits for that node if only that could go on with it and is not running. */
export interface Whereabouts {
  node?: string;
  /** It works in a folder of that node's own disk, and never leaves it. */
  pinned?: true;
  waitingFor?: string;
}

export interface WhereaboutsRow {
  root: string;
  node: string;
  movable: boolean;
  isRunning: boolean;
}

export function whereaboutsOf({ node, movable, isRunning }: WhereaboutsRow): Whereabouts {
  if (movable) return { node };
  return { node, pinned: true, ...(!isRunning && { waitingFor: node }) };
}

/** The fields of an answer that says where something works. */
export const whereaboutsFields = { "node?": text, "pinned?": flag, "waitingFor?": text };

/** What the answers about sessions and jobs say of the node that has each, by root; nothing where there is only one. */
export function whereaboutsIn(store: Pick<Store, "query" | "kind">) {
  return async (roots: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>> => {
    if (store.kind === "embedded" || roots.length === 0) return new Map();
    const rows = await store.query<WhereaboutsRow>(
      `select o.root, o.node, o.movable, exists (select from nodes n
         where n.name = o.node and n.state <> 'gone' and n.lease_until > now()) as "isRunning"
       from owned o where o.root = any($1)`,
      [roots],
    );
    return new Map(rows.map(row => [row.root, whereaboutsOf(row)]));
  };
}

export type FindWhereabouts = ReturnType<typeof whereaboutsIn>;
