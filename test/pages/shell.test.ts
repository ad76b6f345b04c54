import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { sharedPortalWithEntry } from "../support/jobs/jobs.js";
import { assertAccessible, assertFits } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { entry } from "../support/pages/jobPages.js";
import { sessionById } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortalWithEntry(entry);

const rail = (page: Page) => page.getByRole("navigation", { name: "Portal" });
const topLine = (page: Page) => page.getByRole("banner");
const active = (page: Page) => page.locator("#activeList li");
const group = (page: Page, name: string) =>
  page.locator(".history-group", { has: page.getByRole("heading", { name, exact: true }) });

describe("the frame of every page", () => {
  it("lists what runs with what it does, on every page, and leads there", async t => {
    const { portal, puppet, startJob, startSession } = await portalOf(t);
    const { page, problems } = await openPage(t, browser, `${portal.url}/permissions.html`);
    t.after(() => assert.deepEqual(problems, []));
    assert.equal(await active(page).count(), 0);
    const session = sessionById(portal, await startSession());
    await session.query("Look around\n@wait session");
    await startJob("wait-for-me");
    await puppet.arrived("job");
    await active(page).filter({ hasText: "Look around" }).filter({ hasText: "thinks" }).waitFor();
    await active(page).filter({ hasText: "waits: thinks" }).waitFor();
    for (const name of ["jobs.html?wb=/tmp", "agents.html", "no-such-page.html"]) {
      await page.goto(`${portal.url}/${name}`);
      await active(page).nth(1).waitFor();
    }
    await rail(page)
      .getByRole("link", { name: /Look around/ })
      .click();
    await page.locator("#sessionTitle", { hasText: "Look around" }).waitFor();
    await rail(page)
      .getByRole("link", { name: /wait-for-me/ })
      .click();
    await page.locator("#job-status-label", { hasText: "JOB:" }).waitFor();
    puppet.release("session");
    puppet.release("job");
    await page.locator("#activeList:empty").waitFor({ state: "attached" });
  });

  it("shrinks to icons, and to a bar at the bottom of a phone, without findings", async t => {
    const { portal } = await portalOf(t);
    const { page, problems } = await openPage(t, browser, portal.url);
    t.after(() => assert.deepEqual(problems, []));
    await page.locator("#start-button:enabled").waitFor();
    const boxOf = async () => (await rail(page).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    for (const [width, look] of [
      [1280, "wide"],
      [900, "icons"],
      [390, "bar"],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      const box = await boxOf();
      const isBar = box.y > 600 && box.width === width;
      const found = isBar ? "bar" : box.width < 60 ? "icons" : box.width > 200 ? "wide" : "none";
      assert.equal(found, look);
      await assertFits(page, look);
      await assertAccessible(page, look);
      await rail(page).getByRole("link", { name: "Jobs" }).waitFor();
    }
  });

  it("says whether it is connected, in words and by a sign, also on a phone, where only signs fit", async t => {
    const { portal } = await portalOf(t);
    const { page } = await openPage(t, browser, `${portal.url}/permissions.html`);
    const said = (words: string) => topLine(page).getByRole("status", { name: words, exact: true });
    await said("Connected").getByText("Connected").waitFor();
    // The tab alone cannot reach the server; the worker that reads for all tabs still can.
    await page.route("**/api/**", route => route.abort());
    await page.getByLabel("Would this be allowed?").fill("git status");
    await said("Connecting again…").getByText("↻").waitFor();
    await page.locator(".banner").waitFor();
    await assertAccessible(page, "without a connection");
    await page.setViewportSize({ width: 390, height: 800 });
    await page.context().setOffline(true);
    await said("Offline").waitFor();
    assert.ok(await said("Offline").getByText("✗").isVisible());
    assert.ok(await said("Offline").getByText("Offline").isHidden());
    await page.context().setOffline(false);
    await page.unroute("**/api/**");
    await said("Connected").waitFor();
    await page.locator(".banner").waitFor({ state: "hidden" });
  });

  it("has a skip link that leads the keyboard to the content", async t => {
    const { portal } = await portalOf(t);
    const { page } = await openPage(t, browser, `${portal.url}/permissions.html`);
    await rail(page).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(":focus").textContent(), "Skip to content");
    await page.keyboard.press("Enter");
    await page.locator("main:focus").waitFor();
  });
});

describe("the search of every page", () => {
  it("finds pages, sessions, jobs and words with Ctrl+K, and opens them by keyboard", async t => {
    const { portal, startSession, runJob } = await portalOf(t);
    const session = sessionById(portal, await startSession());
    await session.query("Paint the shed\n@say the colour is vermilion");
    await session.untilIdle();
    await runJob("fail-soon");
    const { page, problems } = await openPage(t, browser, `${portal.url}/agents.html`);
    t.after(() => assert.deepEqual(problems, []));
    await rail(page).waitFor();
    await page.keyboard.press("Control+k");
    const box = page.getByRole("searchbox", { name: "Search" });
    const found = page.locator("#found a");
    await box.fill("perm");
    await found.filter({ hasText: "Permissions" }).waitFor();
    await box.fill("fail-soon");
    await found.filter({ hasText: "fail-soon" }).first().waitFor();
    await box.fill("vermilion");
    await found.filter({ hasText: "the colour is vermilion" }).first().waitFor();
    await box.fill("no such thing at all");
    await page.getByText("Nothing matches “no such thing at all”.").waitFor();
    await page.keyboard.press("Escape");
    await box.waitFor({ state: "detached" });
    await topLine(page).getByRole("button", { name: "Search" }).click();
    await box.fill("Paint");
    await found.filter({ hasText: "Paint the shed" }).first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator("#sessionTitle", { hasText: "Paint the shed" }).waitFor();
  });
});

it("letters that are typed right after Ctrl+K reach the search while it is still loading", async t => {
  const { portal } = await portalOf(t);
  const { page } = await openPage(t, browser, `${portal.url}/agents.html`);
  let load = () => {};
  const loaded = new Promise<void>(resolve => {
    load = resolve;
  });
  await page.route("**/palette.js", async route => {
    await loaded;
    await route.continue();
  });
  await rail(page).waitFor();
  await page.locator("#prompt:focus").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("perm");
  load();
  await page.locator("#found a", { hasText: "Permissions" }).waitFor();
  assert.equal(await page.getByRole("searchbox", { name: "Search" }).inputValue(), "perm");
  assert.equal(await page.locator("#prompt").inputValue(), "");
  await page.unroute("**/palette.js");
});

describe("home", () => {
  it("puts what needs the user first, then what runs, then the rest, each with its way on", async t => {
    const {
      portal,
      puppet,
      model: { modelId },
      workingDirectory,
      runJob,
      startJob,
    } = await portalOf(t);
    const failed = await runJob("fail-soon");
    const jobId = await startJob("wait-for-me");
    await puppet.arrived("job");
    const path = `copilot/session/start/${modelId}?permissions=ask`;
    const { sessionId } = (await portal.api<{ sessionId: string }>(path, { body: workingDirectory })).body;
    await sessionById(portal, sessionId).query("Run it\n@shell echo hello");
    const { page, problems } = await openPage(t, browser, portal.url);
    t.after(() => assert.deepEqual(problems, []));
    const needs = group(page, "Needs you");
    await needs.getByText("echo hello").first().waitFor();
    await group(page, "Running").getByText("wait-for-me").waitFor();
    await group(page, "Recent").getByText("fail-soon").waitFor();
    assert.ok(await needs.locator(".permission-card").isVisible(), "the card itself is here");
    for (const seen of [needs.getByText("Needs you").first(), needs.locator(".permission-card h2")]) {
      const { y = 800, height = 0 } = (await seen.boundingBox()) ?? {};
      assert.ok(y + height <= 800, `it is in sight without scrolling, and not at ${y}`);
    }
    await assertAccessible(page, "home");
    // A card that moves, or whose window comes to the front, takes no answer for a moment: the user presses again.
    const card = needs.locator(".permission-card");
    await card.scrollIntoViewIfNeeded();
    while (await card.isVisible())
      await card
        .getByRole("button", { name: "Allow once" })
        .click({ timeout: 2_000 })
        .catch(() => undefined);
    await needs.waitFor({ state: "hidden" });
    await group(page, "Recent").getByText("Run it").waitFor();

    await group(page, "Running").getByRole("button", { name: "Stop wait-for-me" }).click();
    await group(page, "Running").waitFor({ state: "hidden" });
    const { status } = (await portal.api<{ status: string }>(`copilot/job/${jobId}/status`)).body;
    assert.equal(status, "Canceled");

    await page.getByLabel("More about fail-soon").click();
    await page.getByRole("button", { name: "Retry failed" }).click();
    await page.waitForURL(/jobTracking\.html/);
    const retry = new URL(page.url()).searchParams.get("jobId");
    const { retryOf } = (await portal.api<{ retryOf: string }>(`copilot/job/${retry}/status`)).body;
    assert.equal(retryOf, failed.jobId);
  });
});
