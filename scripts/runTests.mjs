// node scripts/runTests.mjs FILE…: runs test files in the given order, because `node --test` would sort them by name,
// and lists the slowest ones at the end.
import { relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** A file that takes longer hangs; the slowest takes four minutes on an idle machine, and far longer on a busy one. */
const timeout = 30 * 60_000;
/** Most tests wait for the agent runtime's own back-off, so more files run at once than there are cores. */
const concurrency = 5;
const mostFiles = 20;

const files = process.argv.slice(2);
const durationsMs = new Map();

function slowestFiles() {
  const slowest = [...durationsMs].sort(([, a], [, b]) => b - a).slice(0, mostFiles);
  const rows = slowest.map(
    ([file, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${relative("dist", file)}`,
  );
  return `The slowest files:\n${rows.join("\n")}\n`;
}

const tests = run({ files, concurrency, timeout });
tests.on("test:fail", () => {
  process.exitCode = 1;
});
tests.on("test:complete", ({ name, details }) => {
  if (files.includes(name)) durationsMs.set(name, details.duration_ms);
});
const report = tests.compose(new spec());
report.on("end", () => {
  if (files.length > 1) process.stdout.write(slowestFiles());
});
report.pipe(process.stdout);
