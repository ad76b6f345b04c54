import type { RuntimeState } from "../backends/runtime.js";
import type { PortalError } from "../base/portalError.js";
import type { Store, StoreState } from "../store/store.js";

export interface Health {
  status: "ok" | "starting" | "failing";
  store: StoreState;
  runtime: RuntimeState;
  /** What is wrong, and what to do about it. */
  message?: string;
}

export interface HealthParts {
  store: Pick<Store, "state" | "failure">;
  /** The engine that runs jobs. */
  jobs: { failure(): PortalError | undefined };
  runtime: RuntimeState;
}

/** The portal is as healthy as the parts it depends on: a store that can be read but not written is failing. */
export function healthOf({ store, jobs, runtime }: HealthParts): Health {
  const failure = store.failure() ?? jobs.failure();
  if (failure) {
    const state = store.failure() ? "failing" : store.state();
    return { status: "failing", store: state, runtime, message: failure.message };
  }
  const state = store.state();
  const status = state === "ready" ? "ok" : state === "opening" ? "starting" : "failing";
  return { status, store: state, runtime };
}
