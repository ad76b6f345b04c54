import type { Route } from "../api/route.js";
import type { Log } from "../base/log.js";
import type { Changes } from "../changes/changes.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import type { LogKind } from "../live/liveResponse.js";
import type { Pictures } from "../sessions/pictures.js";
import type { SessionHost } from "../sessions/sessionHost.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import type { LiveLogs } from "../sharedApi.js";
import { deleteFilesBefore } from "../store/keep/files.js";
import { Janitor } from "../store/keep/janitor.js";
import { defaultRetention, type Retention } from "../store/keep/retention.js";
import { removeSnapshotBefore } from "../store/keep/snapshot.js";
import { locks, whenFree } from "../store/server/serverLocks.js";
import type { Store } from "../store/store.js";
import { storageRoutes } from "./storageRoutes.js";

export interface StoreKeepingParts {
  dataDir: string;
  store: Store;
  logs: LiveLogs;
  sessions: SessionRegistry;
  hostOf(backend: string): SessionHost;
  engine: Pick<JobEngine, "forgetFlows">;
  retention: Partial<Retention> | undefined;
  toolOutputDirectory: string;
  changes: Pick<Changes, "collect">;
  pictures: Pick<Pictures, "delete">;
  log: Log;
}

export interface StoreKeeping {
  routes: Route[];
  close(): Promise<void>;
}

/** Keeps the store from growing forever: a janitor that knows what each part has to forget. */
export function keepStore(parts: StoreKeepingParts): StoreKeeping {
  const { dataDir, store, logs, sessions, hostOf, engine, toolOutputDirectory, changes, pictures, log } =
    parts;
  const retention = { ...defaultRetention, ...parts.retention };
  const janitor = new Janitor({
    store,
    log,
    retention,
    node: logs.ownership.node,
    ...(store.kind === "server" && { whenFree: work => whenFree(store.aside, locks.janitor, work) }),
    deleteLogs: rows => logs.deleteAll(rows.map(row => ({ ...row, kind: row.kind as LogKind }))),
    async closeSession(id) {
      const session = await sessions.wake(id);
      if (!session || session.busy) return false;
      await sessions.stop(session);
      return true;
    },
    async forgetConversation(conversation) {
      await pictures.delete(conversation.id);
      await hostOf(conversation.backend).delete(conversation);
    },
    forgetFlows: ids => engine.forgetFlows(ids),
    async forgetFiles(cutoffs) {
      if (cutoffs.sessions) await deleteFilesBefore(toolOutputDirectory, cutoffs.sessions);
      await removeSnapshotBefore(dataDir, cutoffs.strays);
      await changes.collect(cutoffs.strays);
    },
  });
  janitor.start();
  return {
    routes: storageRoutes({ dataDir, store, janitor, retention }),
    close: () => janitor.close(),
  };
}
