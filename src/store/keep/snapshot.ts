import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { PortalError } from "../../base/portalError.js";
import { shortReason } from "../failure.js";
import type { Store } from "../store.js";
import { bytesBelow, freeBytes } from "./files.js";

/** Room for what the portal writes meanwhile. */
const spareBytes = 64 * 1024 * 1024;

export const snapshotFolder = (dataDir: string) => join(dataDir, "snapshot");

export async function removeSnapshot(dataDir: string): Promise<void> {
  await rm(snapshotFolder(dataDir), { recursive: true, force: true });
}

/** Removes the snapshot that a killed export left behind. */
export async function removeSnapshotBefore(dataDir: string, before: Date): Promise<void> {
  const found = await stat(snapshotFolder(dataDir)).catch(() => undefined);
  if (found && found.mtime < before) await removeSnapshot(dataDir);
}

/** Copies the store as it is at one moment. There is one copy at a time; the next one replaces it. */
export async function takeSnapshot(store: Pick<Store, "copy">, dataDir: string): Promise<string> {
  const folder = snapshotFolder(dataDir);
  await removeSnapshot(dataDir);
  const neededBytes = (await bytesBelow(join(dataDir, "store"))) + spareBytes;
  if ((await freeBytes(dataDir)) < neededBytes)
    throw PortalError.explained(
      "DiskTooFull",
      `A copy of the store needs ${Math.ceil(neededBytes / 1e6)} MB of free disk.`,
    );
  try {
    await store.copy(folder);
  } catch (error) {
    await removeSnapshot(dataDir);
    if (error instanceof PortalError) throw error;
    throw PortalError.explained("SnapshotFailed", `The store could not be copied: ${shortReason(error)}`);
  }
  return folder;
}
