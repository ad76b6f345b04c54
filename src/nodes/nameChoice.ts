import type { Sight } from "../store/lock/lockOwner.js";

/** What is known about the node that has the name which another one wants. */
export interface NameHolder {
  /** Whether it runs in the same life of the same machine as the one that asks. */
  readonly isOnThisMachine: boolean;
  /** What this machine sees of its process; of no meaning on another machine. */
  readonly sight: Sight;
  /** By the clock of the database. */
  readonly hasLeaseEnded: boolean;
  /** Whether it has renewed its lease since it was first seen. */
  readonly hasRenewed: boolean;
}

/** `join`: the name is free, or its holder has ended. `wait`: only its lease can tell. `refuse`: it lives. */
export type NameChoice = "join" | "wait" | "refuse";

/** What a node does that wants a name. */
export function chooseName(holder: NameHolder | undefined): NameChoice {
  if (!holder || holder.hasLeaseEnded) return "join";
  // Its process is visible from here: nothing has to be waited for.
  if (holder.isOnThisMachine && holder.sight !== "elsewhere")
    return holder.sight === "gone" ? "join" : "refuse";
  return holder.hasRenewed ? "refuse" : "wait";
}
