// node makeTemplate.js OUT: prepares an empty store with all tables, which saves time at the portal's first start.
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../base/log.js";
import { openEngine } from "./engine.js";
import { poolOf } from "./engineConnection.js";
import { shortReason } from "./failure.js";
import { migrateFlows } from "./flowSchema.js";
import { migrate } from "./migrations.js";
import type { Query } from "./store.js";
import { writeTemplate } from "./template.js";

const [out] = process.argv.slice(2);
if (!out) {
  process.stderr.write("Usage: makeTemplate OUT\n");
  process.exit(1);
}
const work = mkdtempSync(join(tmpdir(), "portal-template-"));
const draft = `${out}.${process.pid}`;
try {
  const log = createLog("error");
  const folder = join(work, "store");
  const engine = await openEngine(folder, log);
  const pool = poolOf(() => engine.connect());
  await migrateFlows(pool, log);
  const query: Query = async <Row extends object>(text: string, values?: unknown[]) =>
    (await pool.query<Row>(text, values)).rows;
  await migrate(async work => {
    await query("begin");
    const result = await work(query);
    await query("commit");
    return result;
  });
  // Nothing creates databases from these two, and their files would be two thirds of the store.
  await query("update pg_database set datistemplate = false");
  for (const name of ["template0", "template1"]) await query(`drop database ${name}`);
  await pool.end();
  await engine.close();
  writeTemplate(draft, folder);
  renameSync(draft, out);
} catch (error) {
  // The set-up does not fail: the portal can also make its store without a template.
  process.stderr.write(`There is no template for the embedded store: ${shortReason(error)}\n`);
} finally {
  rmSync(draft, { force: true });
  rmSync(work, { recursive: true, force: true });
}
