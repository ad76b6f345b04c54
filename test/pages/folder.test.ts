import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { tempFolder } from "../support/cleanup.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import type { Portal } from "../support/portal/portal.js";
import { sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortal();

const hookFile = ".github/hooks/start.json";
const hookWith = (bash: string) => ({ version: 1, hooks: { sessionStart: [{ type: "command", bash }] } });

async function writeHook(folder: string, bash: string): Promise<void> {
  const file = join(folder, hookFile);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(hookWith(bash)));
}

async function openStart(t: TestContext, options?: BrowserContextOptions) {
  const parts = await portalOf(t);
  const { page, problems } = await openPage(t, browser, parts.portal.url, options);
  await page.locator("#start-button:enabled").waitFor();
  t.after(() => assert.deepEqual(problems, []));
  return { ...parts, page };
}

const policy = (page: Page) => page.locator("#permissions").inputValue();
const hint = (page: Page, words: string) => page.locator("#permissionsHint", { hasText: words }).waitFor();

/** Types a folder, and waits until the form has loaded the choice for it. */
async function choose(page: Page, folder: string): Promise<void> {
  const known = page.waitForResponse(answer =>
    answer.url().includes(`folder?path=${encodeURIComponent(folder)}`),
  );
  await page.locator("#working-dir").fill(folder);
  await (await known).finished();
}

async function start(page: Page, portal: Portal) {
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator("#session-ui").waitFor();
  const id = new URL(page.url()).searchParams.get("session");
  return (await portal.api(`copilot/session/${id}`)).body;
}

async function rulesOf(portal: Portal, folder: string): Promise<string[]> {
  const { folders } = (await portal.api<{ folders: Record<string, string[]> }>("copilot/permission/rules"))
    .body;
  return folders[folder] ?? [];
}

/** Not that of the folders that begin with what is typed. */
const ofOneFolder = /\/api\/copilot\/folder(\?|$)/;

describe("the policy of a folder on the start form", () => {
  it("is Ask me first for a new folder, and the form says what that means", async t => {
    const { page, portal, workingDirectory } = await openStart(t);
    await choose(page, workingDirectory);
    assert.equal(await policy(page), "ask");
    await hint(page, "asks before it runs a command");
    assert.deepEqual(await page.locator("#permissions option").allTextContents(), [
      "Ask me first",
      "Allow everything",
      "Deny everything",
    ]);
    assert.equal((await start(page, portal)).permissions, "ask");
  });

  it("is the last choice for that folder, said in words, and applies to no other folder", async t => {
    const { page, portal, workingDirectory } = await openStart(t);
    const other = await tempFolder(t, "portal-other");
    await choose(page, workingDirectory);
    await page.locator("#permissions").selectOption("allow-all");
    await hint(page, "without asking");
    assert.equal((await start(page, portal)).permissions, "allow-all");

    await page.goto(portal.url);
    await page.locator("#start-button:enabled").waitFor();
    await choose(page, workingDirectory);
    await hint(page, "Chosen for this folder last time.");
    assert.equal(await policy(page), "allow-all");
    await page.locator("#working-dir").fill(other);
    assert.equal(await policy(page), "ask", "nor while the answer is still loading");
    await choose(page, workingDirectory);
    await hint(page, "Chosen for this folder last time.");
    await choose(page, other);
    assert.equal((await start(page, portal)).permissions, "ask");
  });

  it("stays what the user has just chosen when the answer arrives late", async t => {
    const { page, workingDirectory } = await openStart(t);
    let answer = () => {};
    const held = new Promise<void>(resolve => {
      answer = resolve;
    });
    await page.route("**/api/copilot/folder?**", async route => {
      await held;
      await route.continue();
    });
    const asked = page.waitForRequest(request => request.url().includes("copilot/folder?"));
    await page.locator("#working-dir").fill(workingDirectory);
    await asked;
    await page.locator("#permissions").selectOption("deny");
    const answered = page.waitForResponse(response => response.url().includes("copilot/folder?"));
    answer();
    await (await answered).finished();
    assert.equal(await policy(page), "deny");
  });

  it("is Ask me first when the portal answers with an error, an unknown policy or 404", async t => {
    const { page, portal } = await openStart(t);
    for (const answer of [
      { status: 200, json: { error: "StoreFailing", message: "no" } },
      { status: 200, json: { permissions: "everything", remembered: true } },
      { status: 404, body: "Not found" },
    ]) {
      await page.locator("#permissions").selectOption("allow-all");
      await page.route(ofOneFolder, route => route.fulfill(answer), { times: 1 });
      await choose(page, await tempFolder(t, "portal-other"));
      assert.equal(await policy(page), "ask", JSON.stringify(answer));
    }
    assert.equal((await start(page, portal)).permissions, "ask");
  });

  it("includes a sandbox where one is available, and both are remembered", async t => {
    const { page, workingDirectory } = await openStart(t);
    const known = { permissions: "ask", remembered: true, startup: [] };
    await page.route(ofOneFolder, route =>
      route.fulfill({
        json: { ...known, path: workingDirectory, sandbox: { available: true, chosen: false } },
      }),
    );
    await choose(page, workingDirectory);
    await page.getByLabel("Run the agent in a sandbox: it can write only this folder").check();
    await page.route("**/api/copilot/session/start/**", route =>
      route.fulfill({ json: { sessionId: "none" } }),
    );
    const [started, remembered] = await Promise.all([
      page.waitForRequest(request => request.url().includes("session/start/")),
      page.waitForRequest(request => request.url().endsWith("copilot/folder")),
      page.getByRole("button", { name: "Start", exact: true }).click(),
    ]);
    assert.equal(new URL(started.url()).searchParams.get("sandbox"), "true");
    assert.deepEqual(JSON.parse(remembered.postData() ?? ""), {
      path: workingDirectory,
      permissions: "ask",
      sandbox: true,
    });
  });
});

/** A card out of sight takes no click, and one that has just moved ignores it: then click again. */
async function press(button: Locator): Promise<void> {
  await button.scrollIntoViewIfNeeded();
  for (let tries = 0; tries < 20 && (await button.isVisible()); tries++)
    await button.click({ timeout: 5000 }).catch(() => undefined);
}

describe("startup files of a folder", () => {
  it("are shown with their commands before the start, and Never creates a rule", async t => {
    const { page, portal, workingDirectory } = await openStart(t);
    await writeHook(workingDirectory, "touch ran \u202e# all is well");
    await choose(page, workingDirectory);
    const box = page.locator("#startupFiles");
    await box.getByRole("heading", { name: "Files of this folder want to run commands" }).waitFor();
    assert.match((await box.textContent()) ?? "", /\.github\/hooks\/start\.json/);
    assert.match((await box.textContent()) ?? "", /touch ran \\u\{202E\}# all is well/i);
    assert.doesNotMatch((await box.textContent()) ?? "", /\u202e/);
    await press(box.getByRole("button", { name: "Never" }));
    await box.waitFor({ state: "hidden" });
    const [rule = ""] = await rulesOf(portal, workingDirectory);
    assert.match(rule, /^reject startup \.github\/hooks\/start\.json [0-9a-f]{64}$/);
  });

  it("can also be decided on the Permissions page, are shown there in words, and need a new decision after a change", async t => {
    const { portal, workingDirectory } = await portalOf(t);
    await writeHook(workingDirectory, "touch ran");
    const address = `${portal.url}/permissions.html?folder=${encodeURIComponent(workingDirectory)}`;
    const { page, problems } = await openPage(t, browser, address);
    const box = page.locator("#startupFiles");
    await box.getByText("touch ran").waitFor();
    await press(box.getByRole("button", { name: "Allow" }));
    await box.waitFor({ state: "hidden" });
    const [rule = ""] = await rulesOf(portal, workingDirectory);
    assert.match(rule, /^allow startup /);
    const words = `What ${hookFile} runs by itself, as long as its content stays the same`;
    const item = page.locator("#list li", { hasText: words }).filter({ hasText: rule });
    await item.waitFor();

    await writeHook(workingDirectory, "touch other");
    await page.reload();
    await box.getByText("touch other").waitFor();
    await item.getByRole("button", { name: /^Remove allow startup/ }).click();
    await item.waitFor({ state: "detached" });
    assert.deepEqual(await rulesOf(portal, workingDirectory), []);
    await page.getByLabel("Folder").fill("/no/such/folder");
    await box.waitFor({ state: "hidden" });
    assert.deepEqual(problems, []);
  });

  it("are shown on the jobs page, with the policy, because jobs have none of their own", async t => {
    const { portal, workingDirectory } = await portalOf(t);
    await writeHook(workingDirectory, "touch ran");
    const address = `${portal.url}/jobs.html?wb=${encodeURIComponent(workingDirectory)}`;
    const { page } = await openPage(t, browser, address);
    await page.locator("#startupFiles").getByText("touch ran").waitFor();
    await page.getByText("Permissions of jobs: Allow everything.").waitFor();
  });

  it("are readable and reachable in light, in dark and on a phone", async t => {
    const { portal, workingDirectory: folder } = await portalOf(t);
    await writeHook(folder, `touch ${"very-".repeat(50)}long`);
    const rule = `allow startup 'some file.json' ${"a".repeat(64)}`;
    for (const one of [rule, "allow command git status", "reject command rm"])
      await portal.api("copilot/permission/rules/add", { body: JSON.stringify({ folder, rule: one }) });
    const shown = async (page: Page) => {
      // It takes answers when it has been in sight, which it is not at once on a phone.
      await page.locator("#startupFiles .startup-file").scrollIntoViewIfNeeded();
      await page.locator("#startupFiles .startup-file:not([aria-disabled])").waitFor();
    };
    await inEveryTheme(browser, portal.url, async page => {
      await page.locator("#start-button:enabled").waitFor();
      await choose(page, folder);
      await shown(page);
    });
    for (const address of ["permissions.html?folder=", "jobs.html?wb="])
      await inEveryTheme(browser, `${portal.url}/${address}${encodeURIComponent(folder)}`, shown);
  });
});
