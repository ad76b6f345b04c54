import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { syncFolder, syncTree } from "./diskSync.js";
import { openEngine } from "./engine.js";
import { shortReason } from "./failure.js";
import { takeFromOthers } from "./ownersFiles.js";
import { templatePath, unpackTemplate } from "./template.js";

async function initialise(folder: string, log: Log): Promise<void> {
  const engine = await openEngine(folder, log);
  await engine.close();
}

export function isStoreFolder(folder: string): boolean {
  return existsSync(join(folder, "PG_VERSION"));
}

/** Makes a new store beside its final place and moves it there whole: an interrupted first start leaves nothing. */
export async function ensureFolder(folder: string, log: Log, template = templatePath()): Promise<void> {
  if (isStoreFolder(folder)) {
    removeEngineLock(folder);
    return takeFromOthers(folder);
  }
  removeDrafts(folder, log);
  const draft = `${folder}.new-${randomUUID()}`;
  const fresh = () => {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
  };
  fresh();
  try {
    await unpackTemplate(template, draft);
  } catch (error) {
    log.info({ reason: shortReason(error) }, "the store is made without its template, which takes longer");
    fresh();
    await initialise(draft, log);
  }
  takeFromOthers(draft);
  // The engine syncs what it writes itself and assumes that the rest is on the disk.
  await syncTree(draft);
  failpoint("store-folder-drafted");
  renameSync(draft, folder);
  syncFolder(dirname(folder));
  removeDrafts(folder, log);
}

/**
 * After a power cut or a disk failure this file may be empty, and the engine then refuses to open. The lock of the data
 * folder makes it unnecessary.
 */
function removeEngineLock(folder: string): void {
  rmSync(join(folder, "postmaster.pid"), { force: true });
}

function removeDrafts(folder: string, log: Log): void {
  const prefix = `${basename(folder)}.new`;
  for (const name of readdirSync(dirname(folder)).filter(each => each.startsWith(prefix))) {
    try {
      rmSync(join(dirname(folder), name), { recursive: true, force: true });
    } catch (error) {
      log.debug(
        { reason: shortReason(error) },
        "the remains of an interrupted first start could not be removed; the next start tries again",
      );
    }
  }
}
