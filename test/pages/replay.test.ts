import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { packageRoot } from "../../src/base/paths.js";
import { defer, forGroup, type Scope, tempFolder } from "../support/cleanup.js";
import { byPrompt, runShell, type Script, scriptedModelId } from "../support/model/scriptedModel.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
let pure: Schedule;
before(async () => {
  browser = await browserOf();
  pure = await import(pathToFileURL(join(packageRoot, "assets", "replay", "schedule.js")).href);
});

const portalOf = sharedPortal({ models: ["alpha", "beta", "gamma", scriptedModelId], args: ["--test"] });

interface Schedule {
  scheduleOf(times: (number | undefined)[]): { at: number[]; durationMs: number; isTimed: boolean };
  inOrder<T>(items: T[]): T[];
  countAt(at: number[], ms: number): number;
}

describe("The schedule of a replay", () => {
  it("keeps short pauses, shortens long ones to two seconds, and never goes back", () => {
    const noon = 1_700_000_000_000;
    const times = [noon, noon + 300, undefined, noon + 90_000, noon + 80_000, noon + 90_100];
    assert.deepEqual(pure.scheduleOf(times), {
      at: [0, 300, 300, 2300, 2300, 2400],
      durationMs: 2400,
      isTimed: true,
    });
  });

  it("plays a run without times at an even pace, and an empty one in no time", () => {
    assert.deepEqual(pure.scheduleOf([undefined, undefined, undefined]), {
      at: [0, 500, 1000],
      durationMs: 1000,
      isTimed: false,
    });
    assert.deepEqual(pure.scheduleOf([]), { at: [], durationMs: 0, isTimed: false });
  });

  it("puts the responses of several logs in the order of their times, each log in its own order", () => {
    const item = (id: string, n: number, time?: number) => ({ source: "session", id, n, time });
    const items = [item("a", 1, 5), item("a", 2), item("a", 3, 20), item("b", 1, 4), item("b", 2, 21)];
    assert.deepEqual(
      pure.inOrder(items).map(({ id, n }) => `${id}${n}`),
      ["b1", "a1", "a2", "a3", "b2"],
    );
  });

  it("counts what is played at a moment", () => {
    assert.deepEqual(
      [-1, 0, 299, 300, 9_999].map(ms => pure.countAt([0, 300, 300, 2300], ms)),
      [0, 1, 1, 3, 4],
    );
  });
});

const hostile = [
  "**bold**",
  "</script><script>window.hacked = 1</script>",
  "<!-- <script>",
  "\u2028\u2029",
  "[click](javascript:window.hacked=2)",
  "<img src=x onerror='window.hacked=3'>",
  "<svg onload='window.hacked=4'><script>window.hacked=5</script></svg>",
].join("\n\n");

const talk: Script = byPrompt({
  look: [[{ reasoning: "Let me see." }, runShell("echo it-works")], [{ text: hostile }]],
});

const titles = (page: Page) => page.locator(".message-block-title").allTextContents();
const slider = (page: Page) => page.getByRole("slider", { name: "Position in the run" });
const seekTo = (page: Page, key: "Home" | "End") => slider(page).press(key);
const wholeTalk = ["User", "Reasoning", "Tool (bash: echo it-works)", "Message"];

async function talked(t: Scope) {
  const parts = await portalOf(t, talk);
  const session = await parts.startSession("?permissions=allow-all");
  await session.query("look around");
  await session.untilIdle();
  return { ...parts, session };
}

/** Plays, goes back to the beginning and to the end by keys, and shows the same as live. */
async function checkReplay(page: Page): Promise<void> {
  await page.getByRole("group", { name: "Replay" }).waitFor();
  await page.getByLabel("Speed").selectOption("20");
  await page.getByRole("button", { name: "Play", exact: true }).waitFor();
  assert.deepEqual(await titles(page), wholeTalk);
  await seekTo(page, "Home");
  assert.deepEqual(await titles(page), ["User"]);
  await seekTo(page, "End");
  assert.deepEqual(await titles(page), wholeTalk);
  await page.locator(".markdown strong", { hasText: "bold" }).waitFor();
  assert.equal(await page.evaluate("window.hacked"), undefined);
  assert.equal(await page.locator(".message-block a, .message-block img, .message-block svg").count(), 0);
  await page.getByLabel("Speed").selectOption("1");
  await page.getByRole("button", { name: "Play", exact: true }).press("Enter");
  await page.getByRole("button", { name: "Pause" }).press("Enter");
  await page.getByRole("button", { name: "Play", exact: true }).waitFor();
}

describe("A session that is over", () => {
  const told = forGroup(talked);

  it("is replayed on its own page, and the replay can be moved by keys", async t => {
    const { portal, session } = told();
    const address = `${portal.url}/index.html?session=${session.id}&replay`;
    const { page, problems } = await openPage(t, browser, address);
    await checkReplay(page);
    assert.equal(await page.locator("#request-part").isVisible(), false);
    assert.deepEqual(problems, []);
  });

  it("is replayed from one file on the disk, without a server, and nothing of an agent runs", async t => {
    const { portal, session } = told();
    const answer = await fetch(`${portal.url}/api/copilot/session/${session.id}/export?format=html`);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(answer.headers.get("content-disposition") ?? "", /^attachment; filename=session-.*\.html$/);
    const file = join(await tempFolder(t, "portal-export"), "session.html");
    await writeFile(file, await answer.text());
    const { page, problems } = await openPage(t, browser, pathToFileURL(file).href);
    await checkReplay(page);
    assert.equal(await page.locator("script").count(), 2);
    assert.deepEqual(problems, []);
  });

  it("is found: the search shows where a word was said, as text, and opens the session there", async t => {
    const { portal, session } = told();
    const { page, problems } = await openPage(t, browser, portal.url);
    await page.getByRole("navigation", { name: "Portal" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("searchbox").fill("bol");
    const hit = page.locator(".search-hit", { hasText: "Message" });
    await hit.waitFor();
    assert.deepEqual(await hit.locator("mark").allTextContents(), ["bold"]);
    assert.equal(await page.locator(".search-hit img, .search-hit svg, .search-hit script").count(), 0);
    await hit.getByRole("link").click();
    await page.waitForURL(
      url => url.search.includes(`session=${session.id}`) && /[?&]n=\d+/.test(url.search),
    );
    await page.locator("[data-type=Message][data-found]").waitFor();
    assert.equal(await page.locator("[data-found]").count(), 1);
    assert.deepEqual(problems, []);
  });
});

describe("A replay", () => {
  it("plays a job on its flow chart, on its page and from a file", async t => {
    const { portal, workingDirectory } = await portalOf(t);
    const entry = join(packageRoot, "test", "entries", "replay.json");
    const installed = await portal.api<{ result: string }>("copilot/test/installJobsEntry", { body: entry });
    assert.equal(installed.body.result, "OK");
    const { jobId } = (
      await portal.api<{ jobId: string }>("copilot/job/start/two-steps", { body: workingDirectory })
    ).body;
    defer(t, () => portal.api(`copilot/job/${jobId}/delete`, { method: "POST" }));
    const events = await fetch(`${portal.url}/api/copilot/job/${jobId}/events`);
    assert.match(await events.text(), /jobSucceeded/);

    const file = join(await tempFolder(t, "portal-export"), "job.html");
    const exported = await fetch(`${portal.url}/api/copilot/job/${jobId}/export?format=html`);
    await writeFile(file, await exported.text());
    const address = `${portal.url}/jobTracking.html?jobName=two-steps&jobId=${jobId}&replay`;
    for (const url of [address, pathToFileURL(file).href]) {
      const { page, problems } = await openPage(t, browser, url);
      await page.getByRole("group", { name: "Replay" }).waitFor();
      await page.getByLabel("Speed").selectOption("20");
      await page.locator("#job-status-label", { hasText: "JOB: SUCCEEDED" }).waitFor();
      await page.locator("[data-work-id='1'][data-status=Succeeded]").waitFor();
      assert.equal(await page.locator(".replay-mark").count(), 2);
      await seekTo(page, "Home");
      await page.locator("#job-status-label", { hasText: "JOB: RUNNING" }).waitFor();
      // A far jump changes some of the nodes in each frame.
      await page.locator("[data-status=Succeeded]").first().waitFor({ state: "detached" });
      await page.getByRole("button", { name: "To the next mark" }).click();
      await page.locator("[data-work-id='0'][data-status=Succeeded]").waitFor();
      assert.equal(await page.locator("[data-work-id='1']").getAttribute("data-status"), "Running");
      await seekTo(page, "End");
      await page.locator("[data-work-id='1']").click();
      await page.getByRole("tab", { name: "Overview" }).waitFor();
      await page.getByText("You said: second").waitFor();
      assert.deepEqual(problems, []);
    }
  });
});

describe("The search", () => {
  it("answers odd questions, and refuses one that is too long", async t => {
    const { portal } = await portalOf(t);
    const ask = (q: string) => portal.api<{ hits?: unknown[] }>(`copilot/search?q=${encodeURIComponent(q)}`);
    for (const odd of ["", "!!!", '"', "\0", "-"])
      assert.deepEqual(await ask(odd).then(({ status, body }) => ({ status, body })), {
        status: 200,
        body: { hits: [] },
      });
    assert.equal((await ask("x".repeat(10_000))).status, 400);
    assert.equal((await portal.api("copilot/search?q=a&limit=0")).status, 400);
  });
});
