import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../src/store/store.js";
import { silent } from "../support/live/live.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { type Portal, startPortal } from "../support/portal/portal.js";
import { oldThings } from "../support/store/oldStore.js";

const browserOf = sharedBrowser();

async function jobsOf(portal: Portal): Promise<string[]> {
  const { jobs } = (await portal.api<{ jobs: { jobId: string }[] }>("copilot/job/history")).body;
  return jobs.map(({ jobId }) => jobId);
}

test("The footer of the start page shows the size on disk and the expired part, and removes that part after a question", async t => {
  const portal = await startPortal(t, { store: "embedded" });
  await portal.api("copilot/job/running");
  await portal.stop();
  const store = openStore({ dataDir: portal.dataDir, log: silent });
  const things = oldThings(store);
  await things.job("old", 100);
  await things.session("old session", 100);
  await things.session("another", 100);
  await things.job("young", 2);
  await store.close();
  await portal.restart();
  const browser = await browserOf();

  await inEveryTheme(browser, portal.url, async page => {
    await page.getByText("Storage", { exact: true }).click();
    await page.getByText("Due for removal: 1 job and 2 sessions.").waitFor();
    await page
      .getByText(
        /^\d+ MB on disk, .* free\. What has ended is kept: jobs for 90 days, sessions for 90 days, runs for 30 days\./,
      )
      .waitFor();
  });

  const { page } = await openPage(t, browser, portal.url);
  await page.getByText("Storage", { exact: true }).click();
  await page.getByRole("button", { name: "Clean up" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Remove 1 job and 2 sessions for good, with everything in them?").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(await jobsOf(portal), ["young", "old"]);

  await page.getByRole("button", { name: "Clean up" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("Removed 1 job and 2 sessions.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Clean up" }).isDisabled(), true);
  assert.deepEqual(await jobsOf(portal), ["young"]);
});
