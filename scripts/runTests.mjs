// node scripts/runTests.mjs FILE…: runs test files in the order given, which `node --test` would sort by name.
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** A file that takes longer hangs; the longest takes two minutes on a quiet machine. */
const timeout = 14 * 60_000;
/** Most tests wait for the agent runtime's own back-off, so more of them run at once than there are cores. */
const concurrency = 5;

const tests = run({ files: process.argv.slice(2), concurrency, timeout });
tests.on("test:fail", () => {
  process.exitCode = 1;
});
tests.compose(new spec()).pipe(process.stdout);
