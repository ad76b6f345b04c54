import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { PGlite } from "@electric-sql/pglite";
import { createPgConfig, type PGlitePgConfig } from "@electric-sql/pglite/node-postgres";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { syncFolder, syncTree } from "./diskSync.js";
import { errorForClient, isFatal, isStatementError, shortReason } from "./failure.js";
import { OwnersFiles, takeFromOthers } from "./ownersFiles.js";
import { templatePath } from "./template.js";

const run = promisify(execFile);

/**
 * How much PGlite runs a function before V8 optimises it. With the default, V8 optimises a lot while the store opens,
 * which took 0.7 s of processor time; 4,000 statements in a row were no slower with this value.
 */
const tieringBudgetBytes = 200_000_000;
setFlagsFromString(`--wasm-tiering-budget=${tieringBudgetBytes}`);

/** fsync stays on (no -F); the sizes keep memory and the write-ahead log small, and statistics fast. */
const settings = [
  "wal_sync_method=open_datasync",
  "shared_buffers=16MB",
  "max_wal_size=64MB",
  "min_wal_size=32MB",
  "default_statistics_target=10",
];
const startParams = [
  ...PGlite.defaultStartParams.filter(parameter => parameter !== "-F"),
  ...settings.flatMap(setting => ["-c", setting]),
];

/** The one PGlite of a store. When it breaks it is dropped, never closed: closing would write from a broken state. */
export interface Engine {
  readonly config: PGlitePgConfig;
  close(): Promise<void>;
  drop(): Promise<void>;
}

export interface EngineListener {
  /** Called once, when the engine has aborted and no longer answers. */
  onBroken(reason: string): void;
  /** Called when a statement failed through no fault of its own. */
  onTrouble(error: unknown): void;
}

const nobody: EngineListener = { onBroken: () => {}, onTrouble: () => {} };

/** Opens PGlite on a folder. */
export async function openEngine(
  folder: string,
  log: Log,
  { onBroken, onTrouble }: EngineListener = nobody,
): Promise<Engine> {
  let complaint: string | undefined;
  let abortedBy: string | undefined;
  const abort = (reason: string) => {
    if (abortedBy !== undefined) return;
    abortedBy = reason;
    onBroken(reason);
  };
  const onStderr = (text: string) => {
    log.debug({ engine: text.slice(0, 500) }, "store engine");
    complaint = /(?:FATAL|PANIC):\s*(.*)/.exec(text)?.[1] ?? complaint;
    if (/PANIC:|^Aborted\(/.test(text)) abort(shortReason(complaint ?? text));
    return false;
  };
  const db = new PGlite({ fs: new OwnersFiles(folder), startParams, onStderr });
  try {
    await db.waitReady;
  } catch (error) {
    throw new Error(shortReason(complaint ?? error));
  }
  // PGlite swallows its own abort, and a later call may never return: so there are no later calls.
  const guarded: Pick<PGlite, "waitReady" | "execProtocolStream"> = {
    waitReady: db.waitReady,
    execProtocolStream: async (bytes, options) => {
      if (abortedBy !== undefined) throw new Error(abortedBy);
      return db.execProtocolStream(bytes, options);
    },
  };
  const config = createPgConfig(guarded as PGlite);
  translateErrors(config.connection, error => {
    if (isFatal(error)) abort(shortReason(complaint ?? error));
    else if (!isStatementError(error)) onTrouble(error);
  });
  endAtOnce(config.connection);
  return {
    config,
    close: () => db.close(),
    drop: async () => db.fs?.closeFs(),
  };
}

/**
 * Every error passes through here, even that of the statement that broke the engine: the caller learns whether to
 * retry. A closed client no longer listens, and an error event without a listener would end the process.
 */
function translateErrors(connection: PGlitePgConfig["connection"], look: (error: unknown) => void): void {
  const emit = connection.emit.bind(connection);
  connection.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event !== "error" && event !== "errorMessage") return emit(event, ...args);
    const [error] = args;
    look(error);
    return connection.listenerCount(event) > 0 && emit(event, errorForClient(error));
  };
}

/**
 * Clients share one connection in turn. Its own `end` event comes late, when the next client may already listen and
 * would take the event for its own.
 */
function endAtOnce(connection: PGlitePgConfig["connection"]): void {
  connection.end = () => {
    for (const name of connection.eventNames())
      if (name !== "newListener") connection.removeAllListeners(name);
    // The closing client listens for it only after this call.
    queueMicrotask(() => connection.emit("end"));
  };
}

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
