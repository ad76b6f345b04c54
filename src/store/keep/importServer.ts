import type { Log } from "../../base/log.js";
import { StartError } from "../../base/startError.js";
import { storeUnavailable } from "../failure.js";
import { migrateFlows } from "../flowSchema.js";
import { migrate } from "../migrations.js";
import { Keeper } from "../server/keeper.js";
import { parseAddress } from "../server/serverAddress.js";
import { holding, locks, reserve } from "../server/serverLocks.js";
import type { Query } from "../store.js";
import { checkDump } from "./dumpReader.js";
import { type FinishImport, type ImportedStore, readInto } from "./importStore.js";
import { openStoreServer, schemaVersion } from "./storeFolder.js";

export interface ServerImportOptions {
  url: string;
  file: string;
  log: Log;
  finish: FinishImport;
}

/** Another import or portal may be making its tables. */
const schemaTimeoutMs = 60_000;

/** Imports an export into a database without a store, in one transaction. Returns the number of rows. */
export async function importIntoServer({ url, file, log, finish }: ServerImportOptions): Promise<number> {
  const header = await checkDump(file);
  const { config, name } = parseAddress(url);
  // No portal starts on the database meanwhile.
  const keeper = await Keeper.open(config, { onGone: () => {}, onNotified: () => {} });
  const rows = openStoreServer(url);
  try {
    await reserve(keeper.query, name, "alone");
    if ((await schemaVersion(rows.query, "portal_schema")) > 0)
      throw new StartError(`The database ${name} already has a store. Import into a new database.`);
    return await holding(keeper.query, locks.schema, schemaTimeoutMs, async () => {
      // An interrupted import leaves these tables empty, and the next one uses them.
      await migrateFlows(rows.pool, log);
      return rows.transaction(async query => {
        const count = await readInto(query, header, file);
        await migrate(work => work(query));
        await withinTransaction(query, finish);
        return count;
      });
    });
  } finally {
    await rows.close();
    await keeper.end().catch(() => {});
  }
}

/** Everything that `finish` does is part of the transaction. */
async function withinTransaction(query: Query, finish: FinishImport): Promise<void> {
  let failure: ReturnType<ImportedStore["failure"]>;
  const lastWork: (() => Promise<void>)[] = [];
  const watched: Query = async (text, values) =>
    query(text, values).catch(error => {
      failure = storeUnavailable(error, "server");
      throw error;
    }) as never;
  await finish({
    query: watched,
    transaction: work => work(watched),
    ready: Promise.resolve(),
    patiently: work => work(),
    failure: () => failure,
    state: () => (failure ? "failing" : "ready"),
    beforeClose: work => lastWork.push(work),
  });
  for (const work of lastWork) await work();
  // The server would take back everything and say nothing.
  if (failure) throw failure;
}
