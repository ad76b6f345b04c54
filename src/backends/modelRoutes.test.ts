import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { Call } from "../api/route.js";
import { type Backend, BackendUnavailable } from "./backend.js";
import { createCatalog } from "./catalog.js";
import { modelRoutes } from "./modelRoutes.js";

const log = pino({ level: "silent" });
const good: Backend = {
  kind: "provider",
  name: "own",
  list: async () => [{ id: "m", name: "M", multiplier: 0 }],
};
const away: Backend = {
  kind: "provider",
  name: "away",
  list: () => Promise.reject(BackendUnavailable.failing("It is away.")),
};

const answerOf = (...backends: Backend[]) =>
  modelRoutes(createCatalog({ backends, log }))[0]?.handler({} as Call);

test("copilot/models has notices only where there are some", async () => {
  const models = [{ id: "m", name: "M", multiplier: 0, backend: "provider" }];
  assert.deepEqual(await answerOf(good), { models });
  assert.deepEqual(await answerOf(good, away), {
    models,
    notices: [{ level: "error", message: "It is away." }],
  });
});
