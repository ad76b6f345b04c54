import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { storeUnavailable } from "../../store/failure.js";
import { patience } from "../../store/patience.js";
import { AgentMemory } from "./agentMemory.js";

test("a session whose store fails for a moment while it opens does not fail: it asks again what its agent remembers", async () => {
  let asked = 0;
  const memory = new AgentMemory({
    store: {
      patiently: patience(() => false),
      query: async () => {
        if (asked++ === 0) throw storeUnavailable("a blip");
        return [];
      },
    },
    ownership: { canMove: () => true, onLost: () => {}, fence: async () => "" },
    home: "/nowhere",
    log: pino({ level: "silent" }),
  });
  await memory.recall({ sessionId: "s", owner: null });
  assert.equal(asked, 2);
});
