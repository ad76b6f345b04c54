import type { ModelCatalog } from "./backends/catalog.js";
import type { Changes } from "./changes/changes.js";
import type { FindWhereabouts } from "./nodes/whereabouts.js";
import type { PermissionPolicy } from "./permissions/approvals.js";
import type { SessionRegistry } from "./sessions/sessionRegistry.js";
import type { LiveLogs } from "./sharedApi.js";
import type { Worktrees } from "./worktrees/worktrees.js";

/** Outer rooms extend this where they use it, so that this file need not know them. */
export interface CurrentPortal {
  catalog: ModelCatalog;
  logs: LiveLogs;
  sessions: SessionRegistry;
  worktrees: Worktrees;
  changes: Changes;
  /** The policy for sessions whose user chose none. */
  permissions: PermissionPolicy;
  whereabouts: FindWhereabouts;
}

/** `helperSessionStart`, `startTask` and the other helpers are plain functions, so they all use this portal. */
let current: CurrentPortal | undefined;

export function setCurrentPortal(portal: CurrentPortal): void {
  current = portal;
}

export function currentPortal(): CurrentPortal {
  if (!current) throw new Error("There is no portal in this process yet: createPortal makes one");
  return current;
}
