import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { byPrompt } from "../support/model/scriptedModel.js";
import { openFreshPage, openPage, sharedBrowser } from "../support/pages/browser.js";
import { sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortal();
const script = byPrompt({ hello: [[{ text: "This is the answer." }]] });
const idle = (page: Page) => page.locator("#sessionState[data-status=Idle]").waitFor();
const answer = (page: Page) => page.getByText("This is the answer.", { exact: true });

describe("many tabs of one browser", () => {
  it("ten tabs each follow their own session, although a browser opens only six connections to a host", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const { page: first, problems } = await openPage(t, browser, portal.url);
    t.after(() => assert.deepEqual(problems, []));
    const sessions = await Promise.all(Array.from({ length: 10 }, () => startSession()));
    const tabs: Page[] = [];
    for (const { id } of sessions) {
      const tab = tabs.length === 0 ? first : await first.context().newPage();
      await tab.goto(`${portal.url}/index.html?session=${id}`);
      await idle(tab);
      tabs.push(tab);
    }
    for (const { query } of sessions) await query("hello");
    for (const tab of tabs) await answer(tab).waitFor();
  });

  it("two tabs of one session show the same, and one goes on when the other is closed", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    const url = `${portal.url}/index.html?session=${session.id}`;
    const { page } = await openPage(t, browser, url);
    const other = await page.context().newPage();
    await other.goto(url);
    await idle(other);
    await idle(page);
    await session.query("hello");
    await answer(page).waitFor();
    await answer(other).waitFor();
    await other.close();
    await session.query("hello again");
    await answer(page).nth(1).waitFor();
  });

  it("without shared workers a tab reads for itself, hangs up while it is hidden, and misses nothing", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    const { page, problems } = await openFreshPage(t, browser, `${portal.url}/test.html`);
    t.after(() => assert.deepEqual(problems, []));
    await page.addInitScript("delete window.SharedWorker");
    const isStream = (request: { url(): string }) => request.url().endsWith("/api/copilot/events");
    const asked = page.waitForEvent("request", isStream);
    await page.goto(`${portal.url}/index.html?session=${session.id}`);
    await asked;
    await idle(page);
    const setHidden = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));`);
    const hungUp = page.waitForEvent("requestfailed", isStream);
    await setHidden(true);
    await hungUp;
    await session.query("hello");
    await session.untilIdle();
    assert.equal(await answer(page).count(), 0);
    await setHidden(false);
    await answer(page).waitFor();
  });
});
