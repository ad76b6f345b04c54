// node makeTemplate.js OUT: prepares an empty store with the tables of the durable engine, so that the first start of
// the portal need not. The portal's own tables are not in it: they are quickly made, and change more often.
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createLog } from "../base/log.js";
import { openDurableJobs } from "./durableJobs.js";
import { openEngine, writeTemplate } from "./engine.js";
import { shortReason } from "./failure.js";

const [out] = process.argv.slice(2);
if (!out) {
  process.stderr.write("Usage: makeTemplate OUT.tgz\n");
  process.exit(1);
}
const work = mkdtempSync(join(tmpdir(), "portal-template-"));
const draft = `${out}.${process.pid}`;
try {
  const log = createLog("error");
  const folder = join(work, "store");
  const engine = await openEngine(folder, log);
  const pool = new pg.Pool({ ...engine.config, max: 1 });
  const jobs = await openDurableJobs({ pool, flows: {}, log });
  await jobs.close();
  await pool.end();
  await engine.close();
  await writeTemplate(draft, folder);
  renameSync(draft, out);
} catch (error) {
  // Not a failure of the set-up: the portal makes its store without a template too.
  process.stderr.write(`No template of the embedded store: ${shortReason(error)}\n`);
} finally {
  rmSync(draft, { force: true });
  rmSync(work, { recursive: true, force: true });
}
