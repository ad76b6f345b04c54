import { join } from "node:path";
import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, number, object, text } from "../api/schemas.js";
import { bytesBelow, freeBytes } from "../store/keep/files.js";
import type { Janitor } from "../store/keep/janitor.js";
import { type Retention, unusedDays } from "../store/keep/retention.js";
import { takeSnapshot } from "../store/keep/snapshot.js";
import type { Store } from "../store/store.js";

export interface StorageRoutesParts {
  dataDir: string;
  store: Pick<Store, "copy" | "sizeBytes">;
  janitor: Pick<Janitor, "due" | "clean">;
  retention: Retention;
}

/** Longer work is answered with what is left, so that the caller sees progress. */
const cleanTimeLimitMs = 5_000;

const amounts = object({
  jobs: number,
  tasks: number,
  sessions: number,
  runs: number,
  unused: number,
  cursors: number,
});

export function storageRoutes({ dataDir, store, janitor, retention }: StorageRoutesParts): Route[] {
  return [
    defineRoute({
      path: "copilot/storage",
      methods: ["GET"],
      reads: true,
      summary: "How much the portal keeps on disk, for how long, and what has been kept long enough",
      answers: {
        json: object({
          dataDir: text,
          storeBytes: number,
          toolOutputBytes: number,
          freeBytes: number,
          retention: object({ jobs: number, sessions: number, runs: number }),
          unusedDays: number,
          due: amounts,
        }),
      },
      handler: async () => ({
        dataDir,
        storeBytes: await store.sizeBytes(),
        toolOutputBytes: await bytesBelow(join(dataDir, "tool-output")),
        freeBytes: await freeBytes(dataDir),
        retention,
        unusedDays,
        due: await janitor.due(),
      }),
    }),
    defineRoute({
      path: "copilot/storage/clean",
      methods: ["POST"],
      summary: "Remove now what has been kept long enough",
      description: "Takes a few seconds at most; `due` is what is left, and can be removed by another call.",
      answers: { json: object({ removed: amounts, due: amounts }) },
      handler: async () => {
        const removed = await janitor.clean(cleanTimeLimitMs);
        return { removed, due: await janitor.due() };
      },
    }),
    defineRoute({
      path: "copilot/storage/snapshot",
      methods: ["POST"],
      summary: "Copy the store as it is at this moment, for `copilot-portal export`",
      description: "Requests wait while the files are copied. The next copy takes the place of this one.",
      answers: { json: either(object({ folder: text }), domainError("DiskTooFull", "SnapshotFailed")) },
      handler: async () => ({ folder: await takeSnapshot(store, dataDir) }),
    }),
  ];
}
