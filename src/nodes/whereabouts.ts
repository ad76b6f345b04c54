import type { Store } from "../store/store.js";

/** Where something works: `node` has it, and it waits for that node if only that could go on with it and is not running. */
export interface Whereabouts {
  node?: string;
  waitingFor?: string;
}

export interface WhereaboutsRow {
  root: string;
  node: string;
  movable: boolean;
  isRunning: boolean;
}

export function whereaboutsOf({ node, movable, isRunning }: WhereaboutsRow): Whereabouts {
  return movable || isRunning ? { node } : { node, waitingFor: node };
}

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
