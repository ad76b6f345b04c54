import type { LiveLogs } from "../live/liveLogs.js";
import type { Store } from "../store/store.js";
import { NodeProxy } from "./proxy.js";
import { OpenCalls } from "./proxyOpenCalls.js";
import { Owners } from "./proxyOwners.js";
import { Routing, type RoutingParts } from "./proxyRouting.js";
import { StoreReading } from "./proxyStoreReading.js";
import { JoinedStreams } from "./proxyStreams.js";

export interface NodeRoutingParts {
  store: Pick<Store, "query" | "listen">;
  logs: LiveLogs;
  /** All portals on one store have the same. */
  token: string | undefined;
  withoutOwner: RoutingParts["withoutOwner"];
  givingUp: RoutingParts["givingUp"];
  peerNamed: RoutingParts["peerNamed"];
}

/** What a portal on a database server needs to answer for everything that any portal on it owns. */
export function nodeRouting({ store, logs, token, ...without }: NodeRoutingParts) {
  const { node } = logs.ownership;
  const proxy = new NodeProxy({ node, token });
  const owners = new Owners({ store, ownership: logs.ownership });
  const openCalls = new OpenCalls({ store });
  const storeReading = new StoreReading({ owners, logs });
  const parts = { node, proxy, owners, openCalls, logs, storeReading, ...without };
  return { answer: new Routing(parts).answer, divide: new JoinedStreams(parts).divide };
}
