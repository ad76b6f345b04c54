import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { syncFolder, syncTree } from "./diskSync.js";
import { openEngine } from "./engine.js";
import { shortReason } from "./failure.js";
import { takeFromOthers } from "./ownersFiles.js";
import { templatePath } from "./template.js";

const run = promisify(execFile);

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
  // The `tar` of a killed start may still be unpacking: it must not write into this folder.
  const draft = `${folder}.new-${randomUUID()}`;
  const fresh = () => {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
  };
  fresh();
  try {
    if (!existsSync(template)) throw new Error(`${template} does not exist`);
    await unpack(template, draft);
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

/** In its own process group: a Ctrl+C that stops the portal must not end it, or the store is made the long way first. */
async function unpack(archive: string, folder: string): Promise<void> {
  const child = spawn("tar", ["-xzf", archive, "-C", folder], {
    detached: process.platform !== "win32",
    stdio: ["ignore", "ignore", "pipe"],
    windowsHide: true,
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", text => {
    complaint += text;
  });
  const [code, signal] = await once(child, "close");
  if (code !== 0) throw new Error(complaint || `tar ended with ${code ?? signal}`);
}

/** Archives a store that was shut down cleanly. */
export async function writeTemplate(archive: string, folder: string): Promise<void> {
  await run("tar", ["-czf", archive, "-C", folder, "."]);
}
