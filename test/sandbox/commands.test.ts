import assert from "node:assert/strict";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ownerMarker } from "../../src/backends/orphans.js";
import { portalCommands } from "../../src/commands/portalCommands.js";
import { Sandboxes } from "../../src/sandbox/sandboxes.js";
import { tempFolder } from "../support/cleanup.js";
import { canary } from "../support/portal/sandbox.js";

test("A command that checks a task sees no more in a sandbox than an agent does", async t => {
  const home = await tempFolder(t, "sandbox-home");
  const dataDir = await tempFolder(t, "sandbox-data");
  const workingDirectory = join(home, "mine");
  await mkdir(workingDirectory);
  await writeFile(join(home, "secret"), canary);
  const env = { PATH: process.env.PATH, HOME: home };
  const sandboxes = new Sandboxes({ dataDir, configFile: undefined, settings: {}, env });
  const commands = portalCommands({ env, marker: await ownerMarker(dataDir), sandboxes, sandbox: true });
  const run = (by: "user" | "agent", sandbox?: boolean) =>
    commands.run(
      {
        run: [`cat '${join(home, "secret")}'; touch ${by}; pwd`],
        shell: true,
        timeoutMs: 60_000,
        by,
      },
      { workingDirectory, sandbox },
    );
  for (const by of ["user", "agent"] as const) {
    const end = await run(by);
    assert.equal(end.exitCode, 0, end.tail);
    assert.ok(end.tail.endsWith(workingDirectory), end.tail);
    assert.ok(!end.tail.includes(canary), end.tail);
    await access(join(workingDirectory, by));
  }
  assert.ok(
    (await run("user", false)).tail.includes(canary),
    "a session without a sandbox has checks without one",
  );
});
