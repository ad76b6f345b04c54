import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesSafety } from "../support/nodes/nodesSafety.js";
import { startPostgres } from "../support/store/postgres.js";

test("nothing is lost or done twice, whatever happens to three nodes and their database", async t => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now());
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const events = { kill: 2, freeze: 1, stop: 1, database: 1, cut: 1 };
  const counts = await nodesSafety(t, await startPostgres(t), { seed, jobs: 3, atOnce: 2, events });
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(counts.events, events);
});
