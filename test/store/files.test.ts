import assert from "node:assert/strict";
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../support/cleanup.js";
import { startPortal } from "../support/portal/portal.js";

/** Everything in the data folder that another user could read, write or list. */
async function openToOthers(dataDir: string): Promise<string[]> {
  const names = await readdir(dataDir, { recursive: true });
  assert.ok(names.length > 500, "the store exists");
  const modes = await Promise.all(
    names.map(async name => ({ name, mode: (await stat(join(dataDir, name))).mode & 0o777 })),
  );
  return modes
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ name, mode }) => `${mode.toString(8)} ${name}`);
}

describe("What the portal keeps on the disk", () => {
  test("only the user can read the portal's files, whatever the umask, and open files are closed to others", async t => {
    const umask = process.umask(0);
    t.after(() => process.umask(umask));
    const dataDir = join(await tempFolder(t), "data");
    await mkdir(join(dataDir, "tool-output"), { recursive: true, mode: 0o755 });
    await writeFile(join(dataDir, "tool-output", "old.txt"), "what a command printed");
    await writeFile(join(dataDir, "portal.url"), "http://localhost:1\n");
    const portal = await startPortal(t, { dataDir });
    const start = () => portal.api("copilot/session/start/demo", { body: dataDir });
    await start();
    assert.deepEqual(await openToOthers(dataDir), []);

    await portal.kill("SIGTERM");
    for (const name of ["store", "store/PG_VERSION", "store/base", "portal.url"])
      await chmod(join(dataDir, name), 0o777);
    await portal.restart();
    await start();
    assert.deepEqual(await openToOthers(dataDir), []);
  });
});
