// node dist/test/support/jobs/recordHistories.js: runs a job of each kind on a real portal and writes its records to
// test/histories/RELEASE/. Run it once, before each release; the histories of earlier releases stay unchanged.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { pino } from "pino";
import { packageVersion } from "../../../src/base/paths.js";
import { LiveLogs } from "../../../src/sharedApi.js";
import { openStore } from "../../../src/store/store.js";
import { historiesFolder } from "./history.js";
import { historyOfJob, historyOfTask } from "./historyOfRun.js";
import { historyEntry, historyRuns } from "./historyRuns.js";
import { portalWithEntry } from "./jobs.js";

const cleanups: (() => unknown)[] = [];
const scope = { after: (cleanup: () => unknown) => cleanups.push(cleanup) } as unknown as TestContext;
const folder = join(historiesFolder, packageVersion);
const log = pino({ level: "silent" });

try {
  const jobsPortal = await portalWithEntry(scope, historyEntry);
  const ids = new Map<string, string>();
  for (const [name, { run }] of Object.entries(historyRuns)) {
    process.stderr.write(`Running ${name} …\n`);
    ids.set(name, await run(jobsPortal));
  }
  await jobsPortal.portal.stop();
  const store = openStore({ dataDir: jobsPortal.portal.dataDir, log });
  const logs = new LiveLogs(store, log);
  await store.ready;
  await mkdir(folder, { recursive: true });
  for (const [name, { about, isTask }] of Object.entries(historyRuns)) {
    const history = await (isTask ? historyOfTask : historyOfJob)(store, logs, ids.get(name) ?? "", about);
    await writeFile(join(folder, `${name}.json`), `${JSON.stringify(history, null, 2)}\n`);
  }
  await store.close();
} finally {
  for (const cleanup of cleanups) await cleanup();
}
