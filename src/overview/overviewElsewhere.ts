import type { ShownNode } from "../nodes/nodeAnswer.js";
import { requestsElsewhere } from "../permissions/requestsElsewhere.js";
import type { InboxItem } from "../permissions/waitingRequests.js";
import type { Ownership } from "../store/ownership.js";
import type { Store } from "../store/store.js";

/** A session that works at another portal. */
export interface SessionElsewhere {
  readonly id: string;
  /** The task that started it; null when a person did. */
  readonly owner: string | null;
  readonly title: string;
  readonly workingDirectory: string;
  readonly updatedAt: Date;
}

/** A portal, as far as whoever looks for work needs to know it. */
export type SeenNode = Pick<ShownNode, "name" | "state">;

/** What other portals on the same store do and wait for, as far as the store knows. */
export interface Elsewhere {
  readonly sessions: readonly SessionElsewhere[];
  readonly requests: readonly InboxItem[];
  /** The portals, and which of them this is. */
  readonly nodes?: readonly SeenNode[];
  readonly node?: string;
}

export async function overviewElsewhere(
  store: Pick<Store, "query" | "failure">,
  ownership: Pick<Ownership, "boot" | "node">,
  nodes: () => Promise<readonly SeenNode[]>,
): Promise<Elsewhere> {
  const sessions = await store.query<SessionElsewhere>(
    `select s.id, s.owner, s.title, s.working_directory as "workingDirectory", s.updated_at as "updatedAt"
     from sessions s join owned o on o.root = s.root join nodes n on n.boot = o.boot
     where s.status = 'open' and s.pending_requests > 0 and o.boot <> $1 and n.state <> 'gone'
     order by s.updated_at desc, s.id`,
    [await ownership.boot()],
  );
  const requests = await requestsElsewhere(store, ownership);
  return { sessions, requests, nodes: await nodes(), node: ownership.node };
}
