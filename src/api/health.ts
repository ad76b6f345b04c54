import type { RuntimeState } from "../backends/runtime.js";
import type { StoreState } from "../store/store.js";

export interface Health {
  status: "ok" | "starting" | "failing";
  store: StoreState;
  runtime: RuntimeState;
}

/** The portal is as well as what it stands on. */
export function healthOf(store: StoreState, runtime: RuntimeState): Health {
  const status = store === "ready" ? "ok" : store === "opening" ? "starting" : "failing";
  return { status, store, runtime };
}
