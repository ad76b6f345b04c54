/** A node as the answers of the API show it. Types only: the pages read this file too. */
export interface ShownNode {
  name: string;
  url: string;
  version: string;
  state: ShownState;
  since: string;
  lastSeen: string;
  jobs: number;
  places: number;
  tasks: number;
  waiting: number;
  /** Of the portal, without its agents; an earlier portal does not say it. */
  memoryBytes?: number;
  left: PinnedWork;
  sharedDirs: string[];
  warnings: string[];
}

/** What people see of a node. `notSeen`: it has missed renewals, and may come back. */
export type ShownState = "running" | "draining" | "drained" | "notSeen" | "gone";

/** What is pinned to a node and not over: it waits for the node when that is gone. */
export interface PinnedWork {
  jobs: number;
  sessions: number;
}
