import type { StoreState } from "../store/store.js";

export interface Health {
  status: "ok" | "starting" | "failing";
  store: StoreState;
}

/** The portal is as well as what it stands on. */
export function healthOf(store: StoreState): Health {
  const status = store === "ready" ? "ok" : store === "opening" ? "starting" : "failing";
  return { status, store };
}
