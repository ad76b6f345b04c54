import assert from "node:assert/strict";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, Page, Request } from "playwright-core";
import { createLog } from "../../src/base/log.js";
import { openStore } from "../../src/store/store.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { conversation, writeSession } from "../support/live/longLog.js";
import { byPrompt, startScriptedModel } from "../support/model/scriptedModel.js";
import { openFreshPage, openPage, openRenderer, sharedBrowser } from "../support/pages/browser.js";
import { type Portal, startPortal } from "../support/portal/portal.js";

/** The page's side is fixture/renderer.js. */
declare function feed(responses: object[]): Promise<unknown>;

const blocks = 50_000;
/** Two responses of each block and two for each turn of ten. */
const responses = blocks * 2 + (blocks / 10) * 2;

const file = groupScope();
const browserOf = sharedBrowser();
let browser: Browser;
let portal: Portal;
before(async () => {
  browser = await browserOf();
  const dataDir = await tempFolder(file, "long-session");
  const model = await startScriptedModel(file, { script: byPrompt({}) });
  const store = openStore({ dataDir, log: createLog("silent") });
  const workingDirectory = await tempFolder(file, "long-session-work");
  const open = { modelId: model.modelId, workingDirectory };
  assert.equal(
    await writeSession(store, { id: "long", title: "Long", ...open }, conversation(blocks)),
    responses,
  );
  await writeSession(store, { id: "going", title: "Going on", ...open }, conversation(2_000));
  await writeSession(store, { id: "short", title: "Short", ...open }, conversation(150));
  await store.close();
  portal = await startPortal(file, { model, dataDir });
});

/** The logs that a request follows; what runs elsewhere is none. */
function streamsOf(request: Request): { id: string; after: string }[] {
  if (!request.url().endsWith("/copilot/events")) return [];
  const { streams } = request.postDataJSON() as { streams: { kind: string; id: string; after: string }[] };
  return streams.filter(({ kind }) => kind !== "overview");
}

/** The page, and what it asks of the session's log. */
async function openSession(t: TestContext, id: string) {
  const { page, problems } = await openFreshPage(t, browser, `${portal.url}/test.html`);
  t.after(() => assert.deepEqual(problems, []));
  // What a worker asks is not told to the test.
  await page.addInitScript("delete window.SharedWorker");
  const asked: string[] = [];
  page.on("request", request => {
    const [, path] = request.url().split(`/session/${id}/`);
    if (path?.startsWith("responses")) asked.push(path);
    for (const stream of streamsOf(request)) asked.push(`events of ${stream.id} after ${stream.after}`);
  });
  const listening = page.waitForEvent("request", request => streamsOf(request).length > 0);
  await page.goto(`${portal.url}/index.html?session=${id}`);
  return { page, asked, listening };
}

const scrollTo = (page: Page, top: number) =>
  page.locator("#session-part").evaluate((log, to) => log.scrollTo(0, to), top);

const titles = (page: Page) => page.locator("#session-part .message-block-title").allTextContents();
const lastBlock = (page: Page) => page.getByText(`Block ${blocks}.`);

/** Waits, frame by frame, until the page says so; the policy of the pages forbids what Playwright has for this. */
async function until(page: Page, condition: string): Promise<void> {
  for (let frame = 0; frame < 1_000; frame++) {
    if (await page.evaluate(`Boolean(${condition})`)) return;
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  assert.fail(`This never came true: ${condition}`);
}

const isFilled = `(() => {
  const log = document.querySelector("#log").getBoundingClientRect();
  return [...document.querySelectorAll(".message-block")].some(block => {
    const { top, bottom } = block.getBoundingClientRect();
    return bottom > log.top && top < log.bottom;
  });
})()`;

/** What is in sight is plain text until the library for Markdown has come. */
const isRendered = `(() => {
  const log = document.querySelector("#session-part").getBoundingClientRect();
  return [...document.querySelectorAll("[data-type=Message]")].every(block => {
    const { top, bottom } = block.getBoundingClientRect();
    return bottom < log.top || top > log.bottom || block.querySelector(".markdown p");
  });
})()`;

describe("a session of 50,000 blocks", () => {
  it("opens with its newest page, and asks for nothing else", async t => {
    const { page, asked, listening } = await openSession(t, "long");
    await lastBlock(page).waitFor();
    await page.locator("#sessionState[data-status=Idle]").waitFor();
    await listening;
    assert.deepEqual(asked, ["responses", `events of long after ${responses}`]);
    const shown = await titles(page);
    assert.equal(shown.length, 100);
    assert.deepEqual(shown.slice(-2), [`Tool (bash: npm test -- part-${blocks - 1})`, "Message"]);
    assert.equal(await page.locator("[data-state=receiving]").count(), 0);
  });

  it("shows earlier pages when the reader scrolls up, and what is in sight stays where it is", async t => {
    const { page, asked, listening } = await openSession(t, "long");
    await lastBlock(page).waitFor();
    await listening;
    // Blocks have their real size only when they are in sight.
    for (let frame = 0; frame < 3; frame++) {
      await scrollTo(page, 1_000);
      await page.evaluate("new Promise(requestAnimationFrame)");
    }
    await until(page, isRendered);
    const seen = await page.locator("#session-part").evaluate(log => {
      const { top } = log.getBoundingClientRect();
      const block = [...log.querySelectorAll(".message-block")].find(
        one => one.getBoundingClientRect().top > top,
      );
      Object.assign(globalThis, { block });
      return block?.getBoundingClientRect().top;
    });
    await page.evaluate(`document.querySelector(".session-response-earlier button").click()`);
    await page.locator("#session-part .message-block-title").nth(199).waitFor({ state: "attached" });
    const now = await page.evaluate<number>("globalThis.block.getBoundingClientRect().top");
    assert.ok(Math.abs(now - (seen ?? 0)) <= 1, `it moved from ${seen} to ${now}`);
    assert.deepEqual(asked.slice(2), [`responses?before=${responses - 199}`]);
    assert.equal((await titles(page)).length, 200);
    assert.equal(await lastBlock(page).count(), 1);
  });

  it("offers no earlier page at its beginning", async t => {
    const { page } = await openSession(t, "short");
    await page.getByText("Block 150.").waitFor();
    // The reader who scrolls to the button has loaded the page already.
    await page.evaluate(`document.querySelector(".session-response-earlier button").click()`);
    await page.getByText("Block 10.").waitFor({ state: "attached" });
    assert.equal(await page.getByRole("button", { name: "Show earlier" }).count(), 0);
    assert.equal((await titles(page)).length, 150 + 15);
    assert.equal((await titles(page))[0], "User");
  });
});

it("the page holds a limited number of blocks, and puts the others back where the reader looks", async t => {
  const { page, problems } = await openRenderer(t, browser);
  t.after(() => assert.deepEqual(problems, []));
  await page.evaluate(all => feed(all), [...conversation(3_000)].flat());
  // A group of the eight tools of a turn is never taken apart.
  const most = 41 * (24 + 8);
  const isBounded = `document.querySelectorAll(".message-block").length <= ${most}`;
  const shows = (block: number) => page.getByText(`Block ${block}.`).waitFor();
  await until(page, isBounded);
  await shows(3_000);
  const log = page.locator("#log");
  await log.evaluate(one => one.scrollTo(0, 0));
  await shows(10);
  await until(page, isBounded);
  await log.evaluate(one => one.scrollTo(0, one.scrollHeight / 2));
  await until(page, isFilled);
  await page.getByRole("button", { name: "Jump to the latest" }).click();
  await shows(3_000);
  await until(page, isBounded);
});

it("a session with a long past goes on live at its end", async t => {
  const { page, asked } = await openSession(t, "going");
  await page.getByText("Block 2000.").waitFor();
  await page.getByLabel("Request", { exact: true }).fill("Are you there?");
  await page.getByLabel("Request", { exact: true }).press("Control+Enter");
  await page.getByText("You said: Are you there?").waitFor();
  await page.locator("#sessionState[data-status=Idle]").waitFor();
  assert.deepEqual(asked, ["responses", "events of going after 4400"]);
});

it("a tab that does not read makes only its own log wait, and gets everything once when it reads", async t => {
  const { page } = await openFreshPage(t, browser, `${portal.url}/test.html`);
  await page.evaluate(`(async () => {
    const { serve } = await import("/lib/eventHub.js");
    globalThis.tab = () => {
      const { port1: port, port2 } = new MessageChannel();
      const made = { got: [], unread: 0 };
      made.ask = (id, after) => port.postMessage({ does: "add", name: "1", wanted: { kind: "session", id, after } });
      made.read = () => {
        port.postMessage({ does: "read", name: "1", count: made.unread });
        made.unread = 0;
      };
      port.onmessage = ({ data: { events = [] } }) => {
        made.unread += events.length;
        for (const event of events) made.got.push(event);
      };
      serve(port2);
      return made;
    };
    globalThis.slow = tab();
    globalThis.other = tab();
    slow.ask("long", "0");
  })()`);
  await until(page, "slow.got.length >= 20_000");
  await page.evaluate(`other.ask("going", "0")`);
  await until(page, "other.got.length >= 4_400");
  assert.ok((await page.evaluate<number>("slow.got.length")) < responses / 2, "its log waits");
  await until(page, `(slow.read(), other.read(), slow.got.length >= ${responses})`);
  assert.equal(await page.evaluate("slow.got.length"), responses);
});

it("a portal with its own store shows nothing of nodes", async t => {
  const { page } = await openPage(t, browser, portal.url);
  await page.locator(".history-item").first().waitFor();
  await page.getByRole("status", { name: "Connected" }).waitFor();
  const shown = async () => {
    assert.equal(await page.getByRole("link", { name: "Nodes" }).count(), 0);
    assert.equal(await page.locator(".at-node").count(), 0);
  };
  await shown();
  assert.ok(await page.getByLabel("Node", { exact: true }).isHidden());
  await page.goto(`${portal.url}/index.html?session=short`);
  await page.locator("#sessionState[data-status=Idle]").waitFor();
  await shown();
  await page.getByRole("button", { name: "Stop Server" }).click();
  assert.match((await page.getByRole("dialog").locator("p").textContent()) ?? "", /^Stop the server\?/);
});
