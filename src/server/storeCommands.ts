import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import yargs from "yargs";
import { createLog, type Log } from "../base/log.js";
import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";
import { StartError } from "../base/startError.js";
import { checkNodeName, nodeNameOf } from "../nodes/nodeName.js";
import { LiveLogs } from "../sharedApi.js";
import { shortReason } from "../store/failure.js";
import {
  disownEverything,
  pauseEverything,
  raiseBoots,
  raiseReserved,
  type Unfinished,
} from "../store/keep/afterImport.js";
import { exportStore } from "../store/keep/exportStore.js";
import { importIntoServer } from "../store/keep/importServer.js";
import { type FinishImport, type ImportedStore, importStore } from "../store/keep/importStore.js";
import { removeSnapshot, snapshotFolder } from "../store/keep/snapshot.js";
import {
  openStoreFolder,
  openStoreServer,
  type StoredRows,
  schemaVersion,
} from "../store/keep/storeFolder.js";
import { lockDataFolder, type Unlock } from "../store/lock/lock.js";
import { onlyNode } from "../store/ownership.js";
import { checkServer } from "../store/server/checkServer.js";
import { Keeper } from "../store/server/keeper.js";
import { parseAddress } from "../store/server/serverAddress.js";
import { reserve } from "../store/server/serverLocks.js";
import { memoryHere } from "./memoryHere.js";
import { chosenDatabase, databaseOption, stateFolder } from "./options.js";
import { readAddress } from "./portalAddress.js";

interface StoreCommand {
  file: string;
  dataDir: string;
  /** A database on a server, which then is the store; the data folder is not used. */
  databaseUrl: string | undefined;
  goesOn: boolean;
  /** The node that has the folders of what is imported. */
  node: string;
}

const commands: Record<string, (command: StoreCommand, log: Log) => Promise<string>> = {
  export: exportTo,
  import: importFrom,
  restored: afterRestore,
};

/** Runs `copilot-portal export FILE`, `import FILE` and `restored`. False for any other command line. */
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
    .usage(name === "restored" ? "$0 [options]" : "$0 FILE [options]")
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
    .option("database-url", databaseOption)
    .option("continue", {
      type: "boolean",
      default: false,
      hidden: name !== "import",
      describe: "Running jobs continue at the next start; without this option they wait to be continued",
    })
    .option("node", {
      type: "string",
      requiresArg: true,
      hidden: name !== "import",
      describe:
        "The node that goes on with what is imported into a database [default: the name of the machine]",
    })
    .fail((message, error) => {
      throw new StartError(
        `${(message ?? error.message).replaceAll(/\s+/g, " ")}; copilot-portal ${name} --help lists the options`,
      );
    });
  const { dataDir, continue: goesOn, node, _: files, ...given } = parser.parseSync();
  const [file = "", ...others] = files.map(String);
  if (name === "restored" ? file !== "" : !file || others.length > 0)
    throw new StartError(`copilot-portal ${name} takes ${name === "restored" ? "no" : "one"} FILE`);
  if (dataDir === "") throw new StartError("--data-dir: the name of the folder is empty");
  if (goesOn && name !== "import") throw new StartError("--continue is for import only");
  if (node !== undefined && name !== "import") throw new StartError("--node is for import only");
  const databaseUrl = chosenDatabase(given.databaseUrl, process.env);
  // npm changes to the package's folder; the file is relative to the user's folder.
  return {
    file: resolve(process.env.INIT_CWD ?? "", file),
    dataDir: resolve(dataDir),
    databaseUrl,
    goesOn,
    node: nodeOf(node, databaseUrl),
  };
}

/** An embedded store has one portal, whose name is of no meaning. */
function nodeOf(given: string | undefined, databaseUrl: string | undefined): string {
  if (databaseUrl !== undefined)
    return given === undefined ? (nodeNameOf() ?? onlyNode) : checkNodeName(given);
  if (given === undefined) return onlyNode;
  throw new StartError(`--node ${given}: a portal is a node of a database; name it with --database-url`);
}

async function exportTo(command: StoreCommand, log: Log): Promise<string> {
  const { file, databaseUrl } = command;
  const rows = await (databaseUrl === undefined
    ? exportDataFolder(command, log)
    : exportServer(databaseUrl, command));
  return `Exported ${rows} rows to ${file}. The file holds everything that was said: keep it safe.`;
}

/** One transaction sees one moment, so a portal may be at work. */
async function exportServer(url: string, command: StoreCommand): Promise<number> {
  const { name } = parseAddress(url);
  const store = openStoreServer(url);
  try {
    const version = await schemaVersion(store.query, "portal_schema").catch((error: unknown) => {
      throw new StartError(`--database-url: ${name} cannot be reached: ${shortReason(error)}`);
    });
    if (version === 0) throw new StartError(`There is no store in the database ${name}.`);
    return await exportRows(store, command);
  } finally {
    await store.close();
  }
}

async function exportDataFolder(command: StoreCommand, log: Log): Promise<number> {
  const { dataDir } = command;
  const unlock = await lockDataFolder(dataDir).catch((error: unknown) => {
    if (error instanceof PortalError && error.code === "DataFolderInUse") return error;
    throw error;
  });
  const isRunning = unlock instanceof PortalError;
  try {
    if (isRunning) await askForSnapshot(dataDir, unlock);
    const folder = isRunning ? snapshotFolder(dataDir) : join(dataDir, "store");
    return await withFolder(folder, log, store => exportRows(store, command));
  } finally {
    if (isRunning) await removeSnapshot(dataDir);
    else unlock();
  }
}

async function withFolder(folder: string, log: Log, work: Change): Promise<number> {
  if (!existsSync(join(folder, "PG_VERSION"))) throw new StartError(`There is no store in ${folder}.`);
  const store = await openStoreFolder(folder, log);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function exportRows(store: StoredRows, { file, dataDir }: StoreCommand): Promise<number> {
  try {
    return await exportStore(store, file, memoryHere(dataDir, process.env));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (/^E(CONN|PIPE|TIMEDOUT)/.test(code) || /^Connection terminated/.test(messageOf(error)))
      throw new StartError(
        `The database server went away: ${shortReason(error)}. Nothing has been exported.`,
      );
    throw /^E[A-Z]+$/.test(code) ? new StartError(`${file} cannot be written (${code}).`) : error;
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

async function importFrom(command: StoreCommand, log: Log): Promise<string> {
  const { databaseUrl, dataDir } = command;
  let paused: Unfinished[] = [];
  const finish: FinishImport = async store => {
    paused = await finishImport(store, command, log);
  };
  const rows = await (databaseUrl === undefined
    ? importDataFolder(command, log, finish)
    : importServer(databaseUrl, command.file, log, finish));
  const jobs = paused.filter(({ kind }) => kind === "job").length;
  const waiting = jobs === 0 ? "" : ` ${jobs === 1 ? "One job waits" : `${jobs} jobs wait`} to be continued.`;
  const place = databaseUrl === undefined ? dataDir : `the database ${parseAddress(databaseUrl).name}`;
  return `Imported ${rows} rows into ${place}.${waiting}`;
}

/** After a database or a folder was restored from a backup: what was handed out since the backup is not handed out again. */
async function afterRestore({ databaseUrl, dataDir }: StoreCommand, log: Log): Promise<string> {
  const raise = (store: Pick<StoredRows, "transaction">) =>
    store.transaction(async query => {
      await raiseBoots(query);
      return raiseReserved(query);
    });
  const logs = await (databaseUrl === undefined
    ? changeDataFolder(dataDir, log, raise)
    : changeServer(databaseUrl, raise));
  return `Raised the numbers of ${logs} open ${logs === 1 ? "log" : "logs"}. The portals can start now.`;
}

type Change = (store: StoredRows) => Promise<number>;

async function changeDataFolder(dataDir: string, log: Log, change: Change): Promise<number> {
  const unlock = await lockDataFolder(dataDir);
  try {
    return await withFolder(join(dataDir, "store"), log, change);
  } finally {
    unlock();
  }
}

/** No portal may be at work: it would go on with the numbers that it knows. */
async function changeServer(url: string, change: Change): Promise<number> {
  await checkServer(url);
  const { config, name } = parseAddress(url);
  const keeper = await Keeper.open(config, { onGone: () => {}, onNotified: () => {} });
  const store = openStoreServer(url);
  try {
    await reserve(keeper.query, name, "alone");
    if ((await schemaVersion(store.query, "portal_schema")) === 0)
      throw new StartError(`There is no store in the database ${name}.`);
    return await change(store);
  } finally {
    await store.close();
    await keeper.end().catch(() => {});
  }
}

async function importDataFolder({ file, dataDir }: StoreCommand, log: Log, finish: FinishImport) {
  const unlock: Unlock = await lockDataFolder(dataDir);
  try {
    return await importStore({ dataDir, file, log, finish });
  } finally {
    unlock();
  }
}

async function importServer(url: string, file: string, log: Log, finish: FinishImport) {
  await checkServer(url);
  return importIntoServer({ url, file, log, finish });
}

async function finishImport(
  store: ImportedStore,
  { goesOn, node }: StoreCommand,
  log: Log,
): Promise<Unfinished[]> {
  await raiseReserved(store.query);
  await disownEverything(store.query, onlyNode);
  const unfinished = goesOn ? [] : await store.transaction(pauseEverything);
  const logs = new LiveLogs(store, log);
  for (const each of unfinished) await tellPaused(logs, each);
  // After the logs, which registered before: whoever writes to a log owns it.
  store.beforeClose(() => disownEverything(store.query, node));
  return unfinished;
}

/** Logs what a stopping portal would log. */
async function tellPaused(logs: LiveLogs, { kind, id }: Unfinished): Promise<void> {
  const log = await logs.openOwned(kind, id);
  if (!log || log.closed) return;
  if (kind === "job") return log.append({ callback: "jobPaused" });
  void log.append({ taskError: "The server was stopped before the task had ended." });
  void log.append({ callback: "taskFailed" });
  await log.close();
}
