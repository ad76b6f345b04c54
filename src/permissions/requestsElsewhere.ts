import type { Ownership } from "../store/ownership.js";
import type { Store } from "../store/store.js";
import type { InboxItem } from "./waitingRequests.js";

/** The requests that wait for their user at other portals on the same store, oldest first. */
export async function requestsElsewhere(
  store: Pick<Store, "query" | "failure">,
  ownership: Pick<Ownership, "boot">,
): Promise<InboxItem[]> {
  // A portal without a store still shows what waits here.
  if (store.failure()) return [];
  const rows = await store.query<{ request: InboxItem }>(
    `select request from waiting w join owned o on o.root = w.root join nodes n on n.boot = o.boot
     where o.boot <> $1 and n.state <> 'gone' order by w.asked_at, w.request_id`,
    [await ownership.boot()],
  );
  return rows.map(({ request }) => request);
}

/** What waits at other portals, and who wants to hear of it. */
export interface InboxElsewhere {
  list(): Promise<readonly InboxItem[]>;
  /** Calls back when something may have changed there. Returns a function that cancels this. */
  watch(callback: () => void): () => void;
}

export function inboxElsewhere(
  store: Pick<Store, "query" | "failure" | "listen">,
  ownership: Pick<Ownership, "boot">,
): InboxElsewhere {
  const watchers = new Set<() => void>();
  store.listen("portal_inbox", () => {
    for (const callback of watchers) callback();
  });
  return {
    list: () => requestsElsewhere(store, ownership),
    watch(callback) {
      watchers.add(callback);
      return () => watchers.delete(callback);
    },
  };
}
