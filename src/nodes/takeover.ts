import type { OwnedKind } from "../store/root.js";

/** A movable root with something to go on with, whose owner is gone. */
export interface FreeRoot {
  readonly root: string;
  readonly kind: OwnedKind;
  /** The life that had it; null when that has handed it over. */
  readonly boot: number | null;
  /** The node that had it. */
  readonly node: string;
  /** What a node has to offer to go on with it: the hash of its settings. */
  readonly needs: string | null;
  /** How often it was taken over since a task of it has last ended. */
  readonly takeovers: number;
  /** How many of its tasks had ended when it was last taken over. */
  readonly progress: number;
  /** How many of its tasks have ended now. */
  readonly ended: number;
}

export interface Taker {
  readonly settings: string;
  /** How many more jobs it may run. */
  readonly freePlaces: number;
}

/** A root to take, with its new counts; `isPoison` when it has to end instead of going on. */
export interface Taken {
  readonly root: string;
  readonly kind: OwnedKind;
  readonly boot: number | null;
  readonly node: string;
  readonly takeovers: number;
  readonly progress: number;
  readonly isPoison: boolean;
}

/** So many nodes in a row may be lost while a job runs. */
const mostTakeovers = 5;

export const poisonReason = "Five nodes were lost while this job ran.";

/** Which of these roots a node takes over. Those that it leaves wait for another node. */
export function chooseRoots(roots: readonly FreeRoot[], { settings, freePlaces }: Taker): Taken[] {
  let places = freePlaces;
  const taken: Taken[] = [];
  for (const free of roots) {
    const { root, kind, boot, node } = free;
    if (free.needs !== null && free.needs !== settings) continue;
    const counts = countsOf(free);
    const isPoison = kind === "job" && counts.takeovers >= mostTakeovers;
    // Only a job that goes on needs a place; the others are only brought to their end.
    if (kind === "job" && !isPoison && places-- <= 0) continue;
    taken.push({ root, kind, boot, node, ...counts, isPoison });
  }
  return taken;
}

/** A node that hands over has not been lost, and a task that has ended is progress. */
function countsOf({ boot, takeovers, progress, ended }: FreeRoot): Pick<Taken, "takeovers" | "progress"> {
  const before = ended > progress ? 0 : takeovers;
  return { takeovers: boot === null ? before : before + 1, progress: ended };
}
