import type { Browser, Page } from "playwright-core";
import { createLog } from "../../src/base/log.js";
import { openStore, type Store } from "../../src/store/store.js";
import { type Scope, tempFolder } from "../../test/support/cleanup.js";
import { timed } from "./turns.js";

const opens = 5;
/** A chart that takes longer is a figure too. */
const patienceMs = 300_000;

/** A data folder that an earlier portal left. */
export async function folderWith(scope: Scope, write: (store: Pick<Store, "query">) => Promise<unknown>) {
  const dataDir = await tempFolder(scope, "bench-long");
  const store = openStore({ dataDir, log: createLog("silent") });
  await store.transaction(query => write({ query }));
  // A portal does this when it is idle.
  await store.query("vacuum (analyze)");
  await store.close();
  return dataDir;
}

/** How long a page takes from its address to what it has to show. */
export async function openMs(browser: Browser, url: string, isShown: (page: Page) => Promise<unknown>) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const times: number[] = [];
  for (let turn = 0; turn <= opens; turn++) {
    const ms = await timed(async () => {
      await page.goto(url, { waitUntil: "commit" });
      await isShown(page);
    });
    // The first one fills the cache of the browser.
    if (turn > 0) times.push(ms);
  }
  await context.close();
  return times;
}
