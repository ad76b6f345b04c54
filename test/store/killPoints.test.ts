import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { failpoints } from "../../src/base/failpoint.js";
import { openStoreFolder } from "../../src/store/keep/storeFolder.js";
import { openStore } from "../../src/store/store.js";
import { ensureFolder } from "../../src/store/storeFiles.js";
import { tempFolder } from "../support/cleanup.js";
import { chains, dieAtEach, pointsOf } from "../support/kills/killChains.js";
import { silent } from "../support/live/live.js";
import type { Portal } from "../support/portal/portal.js";
import { checkNothingIsLeft } from "../support/store/checkStore.js";

/** The template of a new store has all tables; this one has none. Making one without a template takes eight seconds. */
async function emptyStore(dataDir: string): Promise<void> {
  const folder = join(dataDir, "store");
  await ensureFolder(folder, silent);
  const store = await openStoreFolder(folder, silent);
  await store.query("drop schema dbos cascade; drop schema public cascade; create schema public");
  await store.close();
}

async function checkStore(portal: Portal): Promise<void> {
  await portal.kill("SIGTERM");
  const store = openStore({ dataDir: portal.dataDir, log: silent });
  try {
    await checkNothingIsLeft(store.query);
  } finally {
    await store.close();
  }
}

describe("A crash between two writes", { concurrency: true }, () => {
  for (const [name, deaths] of Object.entries(chains))
    test(`a crash between two writes of ${name} leaves nothing half done`, async t => {
      const dataDir = await tempFolder(t);
      if (deaths[0]?.point.startsWith("schema-step-done")) await emptyStore(dataDir);
      await dieAtEach(t, deaths, { dataDir, check: checkStore });
    });

  test("the tests crash the portal at every named point", () => {
    const tried = Object.values(chains).flatMap(deaths => deaths.flatMap(pointsOf));
    assert.deepEqual(
      // `test/worktrees/kill` has those of worktrees, which need no portal.
      failpoints.filter(point => !tried.includes(point) && !point.startsWith("worktree-")),
      [],
    );
  });
});
