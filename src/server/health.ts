import type { RuntimeState } from "../backends/runtime.js";
import type { PortalError } from "../base/portalError.js";
import type { ShownState } from "../nodes/nodeAnswer.js";
import type { LeaseState } from "../nodes/thisNode.js";
import type { Store, StoreState } from "../store/store.js";

export interface Health {
  status: "ok" | "starting" | "failing";
  store: StoreState;
  runtime: RuntimeState;
  /** What is wrong, and what to do about it. */
  message?: string;
  /** The name of this portal among those on the same database. */
  node: string;
  /** Those that are known; none while the store cannot be read. */
  nodes: { name: string; state: ShownState }[];
  /** Without others there is none. */
  lease: LeaseState;
}

export interface HealthParts {
  store: Pick<Store, "state" | "failure">;
  /** The engine that runs jobs. */
  jobs: { failure(): PortalError | undefined };
  runtime: RuntimeState;
  node: Pick<Health, "node" | "nodes" | "lease">;
}

const leaseLost =
  "The lease of this node has run out, because it could not reach the database in time: what can move to other nodes was left. The node keeps trying to get a new one.";

/** The portal is as healthy as the parts it depends on: a store that can be read but not written is failing. */
export function healthOf({ store, jobs, runtime, node }: HealthParts): Health {
  const failure = store.failure() ?? jobs.failure();
  if (failure) {
    const state = store.failure() ? "failing" : store.state();
    return { status: "failing", store: state, runtime, message: failure.message, ...node };
  }
  const state = store.state();
  const status = state === "ready" ? "ok" : state === "opening" ? "starting" : "failing";
  if (node.lease === "lost") return { status: "failing", store: state, runtime, message: leaseLost, ...node };
  return { status, store: state, runtime, ...node };
}
