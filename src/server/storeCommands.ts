import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import yargs from "yargs";
import { createLog, type Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import { StartError } from "../base/startError.js";
import { LiveLogs } from "../sharedApi.js";
import { pauseEverything, raiseReserved, type Unfinished } from "../store/keep/afterImport.js";
import { exportStore } from "../store/keep/exportStore.js";
import { importStore } from "../store/keep/importStore.js";
import { removeSnapshot, snapshotFolder } from "../store/keep/snapshot.js";
import { openStoreFolder } from "../store/keep/storeFolder.js";
import { lockDataFolder, type Unlock } from "../store/lock/lock.js";
import { openStore } from "../store/store.js";
import { stateFolder } from "./options.js";
import { readAddress } from "./portalAddress.js";

interface StoreCommand {
  file: string;
  dataDir: string;
  goesOn: boolean;
}

const commands: Record<string, (command: StoreCommand, log: Log) => Promise<string>> = {
  export: exportTo,
  import: importFrom,
};

/** Runs `copilot-portal export FILE` and `copilot-portal import FILE`. False for any other command line. */
export async function runStoreCommand(args: readonly string[]): Promise<boolean> {
  const [name = "", ...rest] = args;
  const perform = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!perform) return false;
  const said = await perform(parse(name, rest), createLog("error"));
  process.stdout.write(`${said}\n`);
  return true;
}

function parse(name: string, args: readonly string[]): StoreCommand {
  const parser = yargs([...args])
    .scriptName(`copilot-portal ${name}`)
    .usage(`$0 FILE [options]`)
    .locale("en")
    .version(false)
    .strictOptions()
    .parserConfiguration({ "parse-positional-numbers": false, "duplicate-arguments-array": false })
    .option("data-dir", {
      type: "string",
      requiresArg: true,
      default: stateFolder(process.platform, process.env, homedir()),
      describe: "Where the embedded store lives",
    })
    .option("continue", {
      type: "boolean",
      default: false,
      hidden: name !== "import",
      describe: "Running jobs continue at the next start; without this option they wait to be continued",
    })
    .fail((message, error) => {
      throw new StartError(
        `${(message ?? error.message).replaceAll(/\s+/g, " ")}; copilot-portal ${name} --help lists the options`,
      );
    });
  const { dataDir, continue: goesOn, _: files } = parser.parseSync();
  const [file, ...others] = files.map(String);
  if (!file || others.length > 0) throw new StartError(`copilot-portal ${name} takes one FILE`);
  if (dataDir === "") throw new StartError("--data-dir: the name of the folder is empty");
  if (goesOn && name !== "import") throw new StartError("--continue is for import only");
  // npm changes to the package's folder; the file is relative to the user's folder.
  return { file: resolve(process.env.INIT_CWD ?? "", file), dataDir: resolve(dataDir), goesOn };
}

async function exportTo({ file, dataDir }: StoreCommand, log: Log): Promise<string> {
  const unlock = await lockDataFolder(dataDir).catch((error: unknown) => {
    if (error instanceof PortalError && error.code === "DataFolderInUse") return error;
    throw error;
  });
  const isRunning = unlock instanceof PortalError;
  try {
    if (isRunning) await askForSnapshot(dataDir, unlock);
    const folder = isRunning ? snapshotFolder(dataDir) : join(dataDir, "store");
    const rows = await exportFolder(folder, file, log);
    return `Exported ${rows} rows to ${file}. The file holds everything that was said: keep it safe.`;
  } finally {
    if (isRunning) await removeSnapshot(dataDir);
    else unlock();
  }
}

async function exportFolder(folder: string, file: string, log: Log): Promise<number> {
  if (!existsSync(join(folder, "PG_VERSION"))) throw new StartError(`There is no store in ${folder}.`);
  const store = await openStoreFolder(folder, log);
  try {
    return await exportStore(store, file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    throw /^E[A-Z]+$/.test(code) ? new StartError(`${file} cannot be written (${code}).`) : error;
  } finally {
    await store.close();
  }
}

/** Asks the portal that has the folder open for a copy of its store as it is at one moment. */
async function askForSnapshot(dataDir: string, inUse: PortalError): Promise<void> {
  const url = readAddress(dataDir);
  if (url === undefined) throw inUse;
  const { PORTAL_TOKEN: token } = process.env;
  const answer = await fetch(`${url}/api/copilot/storage/snapshot`, {
    method: "POST",
    headers: token ? { authorization: `Bearer ${token}` } : {},
  }).catch(() => {
    throw new StartError(`${inUse.message} It does not answer at ${url}.`);
  });
  const body = (await answer.json().catch(() => ({}))) as { folder?: string; message?: string };
  if (answer.status === 401)
    throw new StartError(
      `The portal at ${url} asks for its token: put it into PORTAL_TOKEN, or stop the portal.`,
    );
  if (body.folder !== snapshotFolder(dataDir))
    throw new StartError(
      body.message ?? `What answers at ${url} is not the portal that has ${dataDir} open; stop that portal.`,
    );
}

async function importFrom({ file, dataDir, goesOn }: StoreCommand, log: Log): Promise<string> {
  const unlock: Unlock = await lockDataFolder(dataDir);
  let paused: Unfinished[] = [];
  try {
    const rows = await importStore({
      dataDir,
      file,
      log,
      finish: async draft => {
        paused = await finishImport(draft, goesOn, log);
      },
    });
    const jobs = paused.filter(({ kind }) => kind === "job").length;
    const waiting =
      jobs === 0 ? "" : ` ${jobs === 1 ? "One job waits" : `${jobs} jobs wait`} to be continued.`;
    return `Imported ${rows} rows into ${dataDir}.${waiting}`;
  } finally {
    unlock();
  }
}

async function finishImport(dataDir: string, goesOn: boolean, log: Log): Promise<Unfinished[]> {
  const store = openStore({ dataDir, log });
  try {
    await raiseReserved(store.query);
    if (goesOn) return [];
    const unfinished = await store.transaction(pauseEverything);
    const logs = new LiveLogs(store, log);
    for (const each of unfinished) await tellPaused(logs, each);
    return unfinished;
  } finally {
    await store.close();
  }
}

/** Logs what a stopping portal would log. */
async function tellPaused(logs: LiveLogs, { kind, id }: Unfinished): Promise<void> {
  const log = await logs.open(kind, id);
  if (!log || log.closed) return;
  if (kind === "job") return log.append({ callback: "jobPaused" });
  void log.append({ taskError: "The server was stopped before the task had ended." });
  void log.append({ callback: "taskFailed" });
  await log.close();
}
