import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ownerMarker, ownerVariable, readPsLine, sweepOrphans } from "../../src/backends/orphans.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { lifeline } from "../support/lifeline.js";
import { byPrompt, runShell, startScriptedModel } from "../support/model/scriptedModel.js";
import { processesWith } from "../support/processes.js";

test("the next portal ends a command that outlived a killed one, but never while its portal is alive", async t => {
  const folder = await tempFolder(t);
  const home = join(folder, "copilot");
  const line = await lifeline(t);
  const model = await startScriptedModel(t, byPrompt({ go: [runShell(line.command)] }));
  const script = fileURLToPath(new URL("../support/portal/portalWithCommand.js", import.meta.url));
  const portal = spawn(process.execPath, [script, folder, model.baseUrl, model.apiKey], {
    env: { ...process.env, COPILOT_HOME: home },
    stdio: ["ignore", "inherit", "inherit"],
  });
  defer(t, () => portal.kill("SIGKILL"));
  await line.started;

  const marker = await ownerMarker(folder);
  assert.deepEqual(await sweepOrphans(marker), [], "the portal is alive");
  assert.deepEqual(await sweepOrphans(await ownerMarker(`${folder}-other`)), [], "another folder");
  assert.equal(line.running, true);

  // The runtime may notice that its portal is gone, and end itself and its command; a frozen one cannot.
  for (const pid of await processesWith("COPILOT_HOME", home))
    if (pid !== portal.pid) process.kill(pid, "SIGSTOP");
  const exited = once(portal, "exit");
  portal.kill("SIGKILL");
  await exited;
  assert.equal(line.running, true, "nothing else ends it");
  assert.deepEqual(await sweepOrphans(await ownerMarker(`${folder}-other`)), [], "another folder");
  const ended = await sweepOrphans(marker);
  assert.ok(ended.length > 0);
  await line.ended;
  assert.deepEqual(await sweepOrphans(marker), []);
});

test("without /proc, the owner is read from the output of ps", () => {
  assert.deepEqual(readPsLine(`  71 /bin/bash -c x HOME=/root ${ownerVariable}=abc-12-34/1 LANG=C`), {
    pid: 71,
    owner: "abc-12-34/1",
  });
  assert.equal(readPsLine("  72 /bin/bash -c x HOME=/root"), undefined);
  assert.equal(readPsLine(""), undefined);
});
