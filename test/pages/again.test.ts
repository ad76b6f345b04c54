import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser, Locator } from "playwright-core";
import { tempFolder } from "../support/cleanup.js";
import { sharedPortalWithEntry } from "../support/jobs/jobs.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { entry } from "../support/pages/jobPages.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

interface Styles {
  getComputedStyle(e: unknown): { getPropertyValue(name: string): string };
}

const portalOf = sharedPortalWithEntry(entry);

const colourOf = (place: Locator) =>
  place.evaluate(span =>
    (span.ownerDocument.defaultView as unknown as Styles).getComputedStyle(span).getPropertyValue("color"),
  );

/** Opens what `export?format=html` answers, from the disk. */
async function openExported(t: TestContext, url: string) {
  const file = join(await tempFolder(t, "portal-export"), "exported.html");
  await writeFile(file, await (await fetch(url)).text());
  const { page, problems } = await openPage(t, browser, pathToFileURL(file).href);
  t.after(() => assert.deepEqual(problems, []));
  return page;
}

test("A failed job says why, shows the evidence of its attempts, and runs again from its page", async t => {
  const { portal, runJob, workingDirectory } = await portalOf(t);
  execFileSync("git", ["-C", workingDirectory, "init", "-q"]);
  const { jobId } = await runJob("fragile");
  const address = `${portal.url}/jobTracking.html?jobName=fragile&jobId=${jobId}`;
  const { page, problems } = await openPage(t, browser, address);
  t.after(() => assert.deepEqual(problems, []));
  await page.getByText("JOB: FAILED").waitFor();
  assert.equal(await page.locator("#reason").textContent(), "fragile: tests: exit code 1");

  const detail = page.locator('.node[data-work-id="1"] .said');
  assert.equal(await detail.textContent(), "tests: exit code 1");
  await page.locator('.node[data-work-id="1"]').click();
  const attempts = page.locator(".evidence-attempt");
  await attempts.nth(1).waitFor();
  assert.deepEqual(await attempts.locator("h3").allTextContents(), ["Attempt 1 failed", "Attempt 2 failed"]);
  await attempts.first().locator("summary").click();
  assert.equal(await attempts.first().locator(".evidence-said").textContent(), "<b>2 tests fail</b>");
  await page.locator('.node[data-work-id="0"]').click();
  await page.getByText("Attempt 1 succeeded").waitFor();
  assert.match((await attempts.first().locator("p").textContent()) ?? "", /1 command/);
  await page.locator('.node[data-work-id="0"] .said', { hasText: /^\+1 −0$/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#panel p", { hasText: /^Failed after .* · 1 changed file/ }).waitFor();
  await page.locator("#views").getByRole("button", { name: "Changes" }).click();
  await page.locator("#changes summary", { hasText: /^added made\.txt \+1 −0$/ }).click();
  await page.locator("#changes .diff-line.added", { hasText: /hello$/ }).waitFor();
  await page.locator("#views").getByRole("button", { name: "Chart" }).click();
  await page.locator('.node[data-work-id="0"]').click();
  await page.getByRole("tab", { name: "1 file changed, +1 −0" }).click();
  await page.locator("#tabPanel").getByText("added made.txt +1 −0").click();
  await page.getByRole("button", { name: "Comment on line 1" }).click();
  await page.keyboard.type("Say good morning");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Send 1 comment" }).click();
  const review = page.getByRole("link", { name: "Open the session" });
  const sessionId = new URL((await review.getAttribute("href")) ?? "", address).searchParams.get("session");
  const asked = await portal.api<{ title: string }>(`copilot/session/${sessionId}`);
  assert.match(asked.body.title, /^I have reviewed the changes/);
  await inEveryTheme(
    browser,
    address,
    async shown => {
      await shown.getByText("JOB: FAILED").waitFor();
      // A phone shows the time line first.
      await shown.locator('.node[data-work-id="1"], .timeline-row:has-text("fragile")').first().click();
      await shown.locator(".evidence-attempt summary").first().click();
    },
    async shown => {
      await shown.getByRole("tab", { name: "Changes" }).click();
      await shown.getByText("No file changed.").nth(2).waitFor();
      const headings = await shown.locator("#tabPanel h3").allTextContents();
      assert.deepEqual(headings, ["All attempts", "Attempt 1", "Attempt 2"]);
    },
  );

  await writeFile(join(workingDirectory, "repaired"), "");
  await page.getByRole("button", { name: "Retry failed" }).click();
  await page.getByText("JOB: SUCCEEDED").waitFor();
  const retried = new URL(page.url()).searchParams.get("jobId") ?? "";
  assert.notEqual(retried, jobId);
  assert.equal(await page.locator("#reason").isVisible(), false);
  assert.equal(await page.getByRole("button", { name: "Retry failed" }).isVisible(), false);

  await page.locator('.node[data-work-id="1"]').click();
  await page.getByRole("button", { name: "Retry from here" }).click();
  await page.waitForURL(url => ![jobId, retried].includes(url.searchParams.get("jobId") ?? ""));
  await page.getByText("JOB: SUCCEEDED").waitFor();
  await page.getByRole("link", { name: "Retry of an earlier job" }).click();
  await page.waitForURL(url => url.searchParams.get("jobId") === retried);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("dialog").getByText("1 of 2 tasks differ.").waitFor();
  const compared = page.getByRole("dialog").locator("tbody tr");
  assert.equal(await compared.first().locator("td").first().textContent(), "makes");
  // How long they take is up to the machine.
  assert.match(
    (await compared.last().locator("td").first().textContent()) ?? "",
    /^fragilediffers: verdict, attempts(, time)?$/,
  );
  assert.match(
    (await compared.last().textContent()) ?? "",
    /succeeded1 attempt.*failed2 attempts.*exit code 1/,
  );
  await page.getByLabel("The other job").selectOption({ index: 0 });
  await page.getByRole("columnheader", { name: "The other: succeeded" }).waitFor();
  await inEveryTheme(browser, page.url(), async shown => {
    await shown.getByRole("button", { name: "Compare" }).click();
    await shown.getByText("1 of 2 tasks differ.").waitFor();
  });
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.getByRole("link", { name: "Retry of an earlier job" }).click();
  await page.getByText("JOB: FAILED").waitFor();
  assert.equal(new URL(page.url()).searchParams.get("jobId"), jobId);
  await page.getByRole("link", { name: "Retry 1" }).waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("link", { name: "Repeats an earlier job" }).waitFor();

  await page.goto(`${portal.url}/jobTracking.html?jobName=fragile&wb=${workingDirectory}`);
  await page.getByText("fragile, after each attempt: printf '\\033[31m<b>2 tests fail</b>").waitFor();
  await page.goto(portal.url);
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.getByRole("searchbox").fill("retry budget spent");
  await page.locator("#found a:has(.search-snippet)").first().click();
  await page.locator("#rightTitle", { hasText: "fragile" }).waitFor();

  const exported = await openExported(t, `${portal.url}/api/copilot/job/${jobId}/export?format=html`);
  await exported.getByRole("slider", { name: "Position in the run" }).press("End");
  await exported.locator('.node[data-work-id="0"]').click();
  await exported.getByText("Attempt 1 succeeded").waitFor();
  await exported.getByRole("tab", { name: "1 file changed, +1 −0" }).click();
  await exported.getByText("added made.txt +1 −0").click();
  await exported.locator(".diff-line.added").waitFor();
  assert.equal(await exported.getByRole("button", { name: "Retry from here" }).isVisible(), false);
  await exported.locator('.node[data-work-id="1"]').click();
  await exported.locator("[data-type=Tool] .message-block-toggle").first().click();
  assert.equal(await colourOf(exported.locator(".terminal-output span")), "rgb(255, 136, 136)");
});
