import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";

interface Answer {
  models: { id: string; backend: string; multiplier: number }[];
  notices: { level: string; message: string }[];
}

describe("The demo model", () => {
  test("the demo model is listed when there is no other, and the notices say what is missing and how to get it", async t => {
    const portal = await startPortal(t);
    const { body } = await portal.api<Answer>("copilot/models");
    assert.deepEqual(
      body.models.map(({ id, backend, multiplier }) => ({ id, backend, multiplier })),
      [{ id: "demo", backend: "demo", multiplier: 0 }],
    );
    assert.match(body.notices.map(({ message }) => message).join("\n"), /not signed in[\s\S]*demo model/);
  });

  test("the demo model is listed beside others with --demo", async t => {
    const portal = await startPortal(t, { model: await startScriptedModel(t, {}), args: ["--demo"] });
    const { body } = await portal.api<Answer>("copilot/models");
    assert.deepEqual(
      body.models.map(({ id }) => id),
      ["gpt-5.1-mini", "demo"],
    );
  });
});
