import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { ChangeAnswer } from "../../src/changes/changes.js";
import { fakeAgent, portalWithAgent, steps } from "../support/acp/acp.js";

test("What an ACP agent changes without asking is shown as that of every other agent, and can be undone", async t => {
  const fake = fakeAgent({}, { clientFs: true, policy: "approve-all" });
  const { workingDirectory, start } = await portalWithAgent(t, { acpAgents: { fake } });
  execFileSync("git", ["-C", workingDirectory, "init", "-q"]);
  await writeFile(join(workingDirectory, ".git", "info", "exclude"), "go\n");
  const session = await start();
  const path = join(workingDirectory, "written.txt");
  await session.query(
    steps(
      { message: "Wait." },
      { until: "go" },
      { ask: "fs/write_text_file", params: { path, content: "x\n" } },
    ),
  );
  await session.waitFor("onStartMessage");
  await session.call("changes");
  await writeFile(join(workingDirectory, "go"), "");
  await session.untilIdle();
  const { files } = await session.call<ChangeAnswer>("changes?turn=1");
  assert.deepEqual(files, [{ path: "written.txt", kind: "added", added: 1, deleted: 0 }]);
  const undone = await session.call("changes/undo", { method: "POST", body: JSON.stringify({ turn: 1 }) });
  assert.deepEqual(undone, { undo: 1, restored: ["written.txt"], kept: [] });
});
