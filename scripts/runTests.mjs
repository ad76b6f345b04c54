// node scripts/runTests.mjs FILE…: runs test files in the given order, because `node --test` would sort them by name,
// those of a folder together, and lists the slowest ones at the end.
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { inGroups, nameOf } from "./testGroups.mjs";

/** A file that takes longer hangs; the slowest takes four minutes on an idle machine, and far longer on a busy one. */
const timeout = 30 * 60_000;
/** Most tests wait for the agent runtime's own back-off, so more files run at once than there are cores. */
const concurrency = 6;
const mostFiles = 20;

const wanted = process.argv.slice(2);
const names = new Set(wanted.map(nameOf));
const durationsMs = new Map();

function slowestFiles() {
  const slowest = [...durationsMs].sort(([, a], [, b]) => b - a).slice(0, mostFiles);
  const rows = slowest.map(([name, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`);
  return `The slowest files:\n${rows.join("\n")}\n`;
}

// Pure tests need none.
const isPure = wanted.every(file => nameOf(file).startsWith("src/"));
const cleanups = isPure ? [] : await startServer();

/** Most portals of the run have their store on one PostgreSQL server, where a start costs a quarter. */
async function startServer() {
  const { startSuiteServer } = await import("../dist/test/support/store/suiteDatabase.js");
  const cleanups = [];
  process.env.TEST_DATABASE_URL = await startSuiteServer({ after: cleanup => cleanups.push(cleanup) });
  return cleanups;
}

const tests = run({ files: await inGroups(wanted), concurrency, timeout });
tests.on("test:fail", () => {
  process.exitCode = 1;
});
// A file is a suite of its group, or a run of its own that is named by its path.
tests.on("test:complete", ({ name, details }) => {
  const file = names.has(name) ? name : nameOf(name);
  if (names.has(file)) durationsMs.set(file, details.duration_ms);
});
const report = tests.compose(new spec());
report.on("end", async () => {
  for (const cleanup of cleanups) await cleanup();
  if (wanted.length > 1) process.stdout.write(slowestFiles());
});
report.pipe(process.stdout);
