// node makeTemplate.js OUT: prepares an empty store with all its tables, so that the first start of the portal need not.
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../log.js";
import { openDurableJobs } from "./durableJobs.js";
import { writeTemplate } from "./engine.js";
import { shortReason } from "./failure.js";
import { openStore } from "./store.js";

const [out] = process.argv.slice(2);
if (!out) {
  process.stderr.write("Usage: makeTemplate OUT.tgz\n");
  process.exit(1);
}
const work = mkdtempSync(join(tmpdir(), "portal-template-"));
const draft = `${out}.${process.pid}`;
try {
  const log = createLog("error");
  const store = openStore({ dataDir: work, log });
  const jobs = await openDurableJobs({ pool: await store.pool, flows: {}, log });
  await jobs.close();
  await store.close();
  await writeTemplate(draft, join(work, "store"));
  renameSync(draft, out);
} catch (error) {
  // Not a failure of the set-up: the portal makes its store without a template too.
  process.stderr.write(`No template of the embedded store: ${shortReason(error)}\n`);
} finally {
  rmSync(draft, { force: true });
  rmSync(work, { recursive: true, force: true });
}
