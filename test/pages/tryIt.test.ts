import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { type Portal, startPortal } from "../support/portal/portal.js";
import { seen } from "../support/seen.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

interface Job {
  workingDirectory: string;
  againOf?: string;
}

const jobIdOf = (page: Page) => new URL(page.url()).searchParams.get("jobId") ?? "";
const jobOf = async (portal: Portal, id: string) => (await portal.api<Job>(`copilot/job/${id}/status`)).body;
const node = (page: Page, name: string) => page.locator(".node", { hasText: name });
const card = (page: Page) => page.locator(".inbox .permission-card[data-state=open]");
const ended = (page: Page) => page.locator("#job-status-label[data-status=Succeeded]").waitFor();

async function onlyCommitWaits(page: Page): Promise<void> {
  await node(page, "review-the-fix").and(page.locator("[data-status=Succeeded]")).waitFor();
  await node(page, "commit-the-fix").and(page.locator("[data-status='Needs you']")).waitFor();
}

/** Opens the requests that wait, of which there is exactly one. */
async function openCard(page: Page): Promise<void> {
  await page.getByRole("button", { name: "1 request waits for you" }).click();
  await card(page).getByText("git commit").first().waitFor();
  // The list is drawn anew when the server is there again.
  await seen(async () => (await card(page).count()) === 1);
}

/** The request that waits, or "". */
async function requestOf(portal: Portal): Promise<string> {
  const { body } = await portal.api<{ requests: { requestId: string }[] }>("copilot/permission/pending");
  return body.requests[0]?.requestId ?? "";
}

/** A card ignores whoever presses it before they can have read it. */
const allow = (page: Page, portal: Portal) =>
  seen(async () => {
    const button = card(page).getByRole("button", { name: "Allow once" });
    if ((await button.count()) > 0) await button.click({ timeout: 1000 }).catch(() => undefined);
    return (await portal.api<{ requests: object[] }>("copilot/overview")).body.requests.length === 0;
  });

test("A stranger without an account tries it: a failing test, a retry that mends it, a card, the diff, undo, replay, and a kill", async t => {
  const portal = await startPortal(t);
  const { page, problems } = await openPage(t, browser, portal.url);
  t.after(() => assert.deepEqual(problems, []));
  const git = (folder: string, ...args: string[]) =>
    execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });

  // What is missing is said with its commands.
  await page.locator("#modelNotices code", { hasText: "gh auth login" }).waitFor();
  await page.getByText("Run AI coding agents from your browser").waitFor();
  assert.equal(await page.locator("#tryItLater").isVisible(), false);
  await inEveryTheme(browser, portal.url, shown => shown.locator("#tryIt").waitFor());
  await page.getByRole("button", { name: "Try it" }).click();
  await page.waitForURL(/jobTracking/);
  const jobId = jobIdOf(page);
  const { workingDirectory } = await jobOf(portal, jobId);
  assert.ok(workingDirectory.startsWith(portal.dataDir), workingDirectory);

  // The first attempt fails by its test, and the second is told so and passes.
  await node(page, "mend-the-bug").click();
  const attempts = page.locator(".evidence-attempt");
  await attempts.nth(1).getByText("succeeded").waitFor();
  assert.deepEqual(await attempts.locator("h3").allTextContents(), [
    "Attempt 1 failed",
    "Attempt 2 succeeded",
  ]);
  const [left, right] = await attempts.evaluateAll(all => all.map(one => one.getBoundingClientRect().y));
  assert.equal(left, right, "they are side by side");
  await attempts.first().locator("summary").click();
  const said = (await attempts.first().locator(".evidence-said").textContent()) ?? "";
  assert.match(said, /'1: 5' !== '1:05'[\s\S]*fail 1/);
  assert.doesNotMatch((await attempts.allTextContents()).join(), /tokens/);

  // One card waits; nothing is committed before it is answered, and the review goes on beside it.
  await onlyCommitWaits(page);
  assert.match(git(workingDirectory, "log", "--format=%s", "-1"), /^Test the seconds/);
  await openCard(page);
  await allow(page, portal);
  await ended(page);
  assert.equal(git(workingDirectory, "log", "--format=%s", "-1"), "Write seconds with two digits\n");

  // The log names what waited for the user, not what a rule allowed, and the command that failed.
  await page.getByRole("button", { name: "Log", exact: true }).click();
  await page.getByText("attempt 1 failed because node --test --test-reporter=spec failed").waitFor();
  const waited = await page.locator(".log-row", { hasText: "asked for" }).allTextContents();
  assert.match(waited.join("\n"), /^.*commit-the-fix.*asked for git commit.*$/s);
  assert.equal(waited.length, 1);
  await page.getByRole("button", { name: "Chart", exact: true }).click();

  // The end: what to do next, the diff, and undo with its own undo.
  await node(page, "mend-the-bug").click();
  await page.getByRole("heading", { name: "Kill the server now and start it again" }).waitFor();
  await page.getByRole("button", { name: "Changes", exact: true }).click();
  await page.getByText("changed duration.js +1 −1").click();
  await page.locator(".diff-line.added", { hasText: 'padStart(2, "0")' }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("1 file put back.").waitFor();
  assert.match(git(workingDirectory, "diff"), /^\+ {2}const rest = String\(seconds % 60\);$/m);
  await page.getByRole("button", { name: "Redo" }).click();
  await seen(async () => git(workingDirectory, "diff") === "");

  // Later it is still there, out of the way; a run can be replayed from its menu.
  await page.goto(portal.url);
  await page.locator("#tryItLater").waitFor();
  assert.equal(await page.locator("#welcome").isVisible(), false);
  assert.equal(await page.locator(".history-details", { hasText: "tokens" }).count(), 0);
  await page.locator('summary[aria-label="More about Try it"]').click();
  await page.getByRole("link", { name: "Replay" }).click();
  await page.locator("#replay").getByRole("button").first().waitFor();
  assert.equal(await page.getByText("Kill the server now").count(), 0);

  // Once more, and the server dies while the card waits.
  await page.goto(`${portal.url}/jobTracking.html?jobName=Try%20it&jobId=${jobId}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL(url => url.searchParams.get("jobId") !== jobId);
  const again = jobIdOf(page);
  await onlyCommitWaits(page);
  const evidence = async () =>
    (await portal.api<{ evidence: object[] }>(`copilot/job/${again}/evidence`)).body;
  const done = (await evidence()).evidence.length;
  const asked = await requestOf(portal);
  await portal.kill("SIGKILL");
  await page.getByText("The server cannot be reached.").waitFor();
  await portal.restart({ args: ["--port", new URL(portal.url).port] });
  await page.getByText("The server cannot be reached.").waitFor({ state: "hidden" });
  // The card from before the kill may still be there; nothing waits for its answer any more.
  await seen(async () => !["", asked].includes(await requestOf(portal)));
  await openCard(page);
  await card(page)
    .and(page.locator(`:not([data-request="${asked}"])`))
    .waitFor();
  await allow(page, portal);
  await ended(page);
  const second = await jobOf(portal, again);
  assert.equal(second.againOf, jobId);
  assert.notEqual(second.workingDirectory, workingDirectory);
  assert.equal(git(second.workingDirectory, "log", "--format=%s", "-1"), "Write seconds with two digits\n");
  // Of all attempts only that of the commit ended after the kill.
  assert.equal((await evidence()).evidence.length, done + 1);
});
