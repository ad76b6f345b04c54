import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser } from "playwright-core";
import { repoRoot } from "../../src/base/paths.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import { openFreshPage, openPage, sharedBrowser } from "../support/pages/browser.js";
import { sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortal({ models: ["alpha", "beta", "gamma", scriptedModelId], args: ["--test"] });

async function openStart(t: TestContext) {
  const parts = await portalOf(t);
  const { page, problems } = await openPage(t, browser, parts.portal.url);
  t.after(() => assert.deepEqual(problems, []));
  return { ...parts, page };
}

describe("the start page", () => {
  it("selects the model that was used last when there is no gpt-5.2", async t => {
    const { page, workingDirectory } = await openStart(t);
    await page.locator("#start-button:enabled").waitFor();
    assert.equal(await page.locator("#model-select").inputValue(), "alpha");
    await page.locator("#model-select").selectOption("beta");
    await page.locator("#working-dir").fill(workingDirectory);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("#session-ui").waitFor();
    await page.getByRole("link", { name: "Start page" }).click();
    await page.locator("#start-button:enabled").waitFor();
    assert.equal(await page.locator("#model-select").inputValue(), "beta");
  });

  it("sends a first request that was typed in the form", async t => {
    const { page, workingDirectory } = await openStart(t);
    await page.locator("#start-button:enabled").waitFor();
    await page.locator("#working-dir").fill(workingDirectory);
    await page.getByLabel("First request").fill("say hello");
    await page.getByLabel("First request").press("Control+Enter");
    await page.getByText("You said: say hello").waitFor();
    assert.equal(await page.locator("#request-textarea").inputValue(), "");
  });

  it("proposes the server's repository, or the named project beside it, and opens the jobs page for what is typed; it does not speak of GitHub where other models are configured", async t => {
    const { page, portal, workingDirectory } = await openStart(t);
    await page.locator("#start-button:enabled").waitFor();
    assert.equal(await page.locator("#working-dir").inputValue(), repoRoot);
    assert.equal(await page.locator("#modelNotices .notice").count(), 0);
    await page.goto(`${portal.url}/index.html?project=Other`);
    await page.locator("#start-button:enabled").waitFor();
    assert.equal(await page.locator("#working-dir").inputValue(), join(dirname(repoRoot), "Other"));
    await page.locator("#working-dir").fill(`${workingDirectory}/a b&c`);
    await page.getByRole("button", { name: "Jobs" }).click();
    await page.waitForURL(`${portal.url}/jobs.html?wb=${encodeURIComponent(`${workingDirectory}/a b&c`)}`);
  });

  it("says beside the field what is wrong with a working directory, and stays usable", async t => {
    const { page, workingDirectory } = await openStart(t);
    await page.locator("#start-button:enabled").waitFor();
    const field = page.getByLabel("Working Directory");
    for (const [path, message] of [
      ["", /such as \/home\/me\/project/],
      ["relative/path", /absolute path/],
      ["/no/such/folder", /no such folder/],
    ] as const) {
      await field.fill(path);
      await field.press("Enter");
      await page.locator("#workingDirectoryError", { hasText: message }).waitFor();
      assert.equal(await field.getAttribute("aria-invalid"), "true");
    }
    await field.fill(workingDirectory);
    await field.press("Enter");
    await page.locator("#session-ui").waitFor();
  });

  it("says what to do when the models cannot be listed", async t => {
    const { portal } = await portalOf(t);
    const context = await browser.newContext();
    t.after(() => context.close());
    await context.route("**/api/copilot/models", route =>
      route.fulfill({ status: 500, json: { error: "Internal", message: "it broke" } }),
    );
    const page = await context.newPage();
    await page.goto(portal.url);
    await page.locator("#modelError", { hasText: "it broke" }).waitFor();
    assert.equal(await page.locator("#start-button").isDisabled(), true);
    await context.unroute("**/api/copilot/models");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("#start-button:enabled").waitFor();
  });

  it("leaves no empty place beside a notice", async t => {
    const { portal } = await portalOf(t);
    const { page } = await openFreshPage(t, browser, "about:blank");
    await page.route("**/api/copilot/models", async route => {
      const answer = await (await route.fetch()).json();
      const notices = [{ level: "warning", message: "Sign in with `gh auth login`.\n".repeat(8) }];
      await route.fulfill({ json: { ...answer, notices } });
    });
    await page.goto(portal.url);
    await page.locator("#modelNotices .notice").waitFor();
    const boxOf = async (selector: string) => {
      const box = await page.locator(selector).boundingBox();
      assert.ok(box, selector);
      return box;
    };
    const [model, folder, permissions, notice] = await Promise.all(
      ["#model-select", "#working-dir", "#permissions", "#modelNotices"].map(boxOf),
    );
    assert.equal(model?.y, folder?.y, "the two fields are in one row");
    assert.ok(Number(notice?.width) > Number(model?.width) * 2, "the notice is below both");
    assert.ok(Number(permissions?.y) > Number(notice?.y));
  });

  it("completes a working directory, and remembers those that were used", async t => {
    const { page, portal, workingDirectory } = await openStart(t);
    await page.locator("#start-button:enabled").waitFor();
    const field = page.getByLabel("Working Directory");
    const offered = (path: string) => page.locator(`#folders option[value="${path}"]`).first();
    await field.fill(workingDirectory.slice(0, -1));
    await offered(workingDirectory).waitFor({ state: "attached" });
    await field.fill(workingDirectory);
    await field.press("Enter");
    await page.locator("#session-ui").waitFor();
    await page.goto(portal.url);
    await page.locator("#start-button:enabled").waitFor();
    await field.fill("/no/such");
    await offered(workingDirectory).waitFor({ state: "attached" });
    assert.equal(await page.locator("#folders option").count(), 1);
  });
});

describe("the history on the start page", () => {
  it("lists runs with name, status and time; they can be found, renamed, exported and deleted, and a closed session is opened for reading and reopened for new requests", async t => {
    const { page, startSession } = await openStart(t);
    const [first, second] = [await startSession(), await startSession()];
    for (const [session, prompt] of [
      [first, "first thing to do"],
      [second, "second thing to do"],
    ] as const) {
      await session.query(prompt);
      await session.untilIdle();
    }
    await first.call("stop");
    await page.reload();
    const items = page.locator(".history-item");
    await items.nth(1).waitFor();
    assert.deepEqual(await items.locator("b").allTextContents(), ["second thing to do", "first thing to do"]);
    assert.deepEqual(await items.locator(".status").allTextContents(), ["Idle", "Closed"]);
    assert.match(
      (await items.first().locator(".history-details").textContent()) ?? "",
      /just now.*tokens in/,
    );

    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByRole("searchbox").fill("FIRST thing");
    await page.locator("#found", { hasText: "first thing to do", hasNotText: "second" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("More about first thing to do").click();
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Name of the session").last().fill("the first one");
    await page.keyboard.press("Enter");
    await page.locator(".history-item b", { hasText: "the first one" }).waitFor();

    await page.getByLabel("More about the first one").click();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export as Markdown" }).click();
    assert.match((await download).suggestedFilename(), /\.md$/);

    await page.getByLabel("More about the first one").click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.locator("#running-jobs-list", { hasNotText: "the first one" }).waitFor();
    assert.equal(await items.count(), 1);

    await second.call("stop");
    await page.reload();
    await page.getByRole("link", { name: "View second thing to do" }).click();
    await page.getByText("You said: second thing to do").waitFor();
    await page.locator("#sessionState", { hasText: "Closed" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Send" }).isVisible(), false);
    await page.getByRole("button", { name: "Reopen" }).click();
    await page.locator("#sessionState", { hasText: "Idle" }).waitFor();
    await page.getByLabel("Request", { exact: true }).fill("and again");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("You said: and again").waitFor();
  });

  it("says what to do when nothing has run, and when nothing is found", async t => {
    const { page } = await openStart(t);
    await page.getByText("Nothing has run yet. Start a session above, or choose a job.").waitFor();
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByRole("searchbox").fill("xyz");
    await page.getByText("Nothing matches “xyz”.").waitFor();
  });
});

it("the test page prints the message of api/test", async t => {
  const { portal } = await portalOf(t);
  const { page, problems } = await openPage(t, browser, `${portal.url}/test.html`);
  await page.getByText("Hello, world!", { exact: true }).waitFor();
  assert.deepEqual(problems, []);
});

describe("an address that does not exist", () => {
  it("is a page that leads on, with the status 404; a program gets an error", async t => {
    const { page, portal } = await openStart(t);
    const answer = await page.goto(`${portal.url}/no/such/page.html`);
    assert.equal(answer?.status(), 404);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await page.getByRole("link", { name: "Start page" }).click();
    await page.locator("#start-button:enabled").waitFor();
    assert.equal((await portal.api("no/such/route")).status, 404);
    assert.match((await fetch(`${portal.url}/none.html`)).headers.get("content-type") ?? "", /json/);
  });
});
