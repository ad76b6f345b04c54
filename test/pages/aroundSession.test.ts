import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { forGroup, type Scope } from "../support/cleanup.js";
import { barrier, byPrompt, fault, runShell } from "../support/model/scriptedModel.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { sharedPortal } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});
const portalOf = sharedPortal();

const idle = (page: Page) => page.locator("#sessionState[data-status=Idle]").waitFor();
const request = (page: Page) => page.getByLabel("Request", { exact: true });

/** A session in a repository with two files, on its page. */
async function open(t: Scope) {
  const script = byPrompt({ work: [[runShell("echo two >> src/first.ts")], [{ text: "Done." }]] });
  const { portal, workingDirectory, startSession } = await portalOf(t, script);
  execFileSync("git", ["init", "-q", "-b", "trunk", workingDirectory]);
  await mkdir(join(workingDirectory, "src"));
  for (const name of ["first.ts", "second.ts"]) await writeFile(join(workingDirectory, "src", name), "one\n");
  const session = await startSession();
  const address = `${portal.url}/index.html?session=${session.id}`;
  const { page, problems } = await openPage(t, browser, address);
  t.after(async () => assert.deepEqual(problems, []));
  await idle(page);
  return { portal, workingDirectory, session, page, address };
}

describe("around the conversation of a session", () => {
  const opened = forGroup(open);

  it("the drawer shows what changed and the log, and the header says the folder's branch and the tokens", async () => {
    const { page, address, session } = opened();
    await page.locator("#sessionModel", { hasText: "on trunk" }).waitFor();
    await request(page).fill("work");
    await request(page).press("Control+Enter");
    const changes = page.getByRole("button", { name: "Changes 1" });
    await changes.click();
    const drawer = page.getByRole("complementary", { name: "Details" });
    await drawer.getByText("changed src/first.ts +1 −0").click();
    await drawer.getByText("+two").waitFor();
    await page.locator("#sessionModel", { hasText: /\d tokens in/ }).waitFor();
    await session.call("changes");
    await page.getByRole("button", { name: "Log", exact: true }).click();
    assert.equal(await changes.getAttribute("aria-expanded"), "false");
    const line = drawer.locator("summary", { hasText: "onStartToolExecution bash" });
    await line.click();
    await drawer.locator("details[open]", { hasText: "echo two >> src/first.ts" }).waitFor();
    assert.match((await line.textContent()) ?? "", /^\d+:\d\d:\d\d/);
    await page.getByRole("button", { name: "Log", exact: true }).click();
    await drawer.waitFor({ state: "hidden" });

    await inEveryTheme(browser, address, async shown => {
      await shown.getByRole("button", { name: "Changes 1" }).click();
      await shown.getByText("changed src/first.ts +1 −0").last().click();
      await shown.getByText("+two").last().waitFor();
    });
  });

  it("a request is completed with files of the folder and with tasks", async () => {
    const { page } = opened();
    const box = request(page);
    await box.pressSequentially("Look at @fir");
    await page.getByRole("option", { name: "@src/first.ts" }).waitFor();
    await box.press("Enter");
    assert.equal(await box.inputValue(), "Look at @src/first.ts ");
    await box.pressSequentially("and @src/");
    await page.locator("#command-1").waitFor();
    await box.press("ArrowDown");
    await box.press("Tab");
    assert.equal(await box.inputValue(), "Look at @src/first.ts and @src/second.ts ");
    await page.reload();
    await idle(page);
    assert.equal(await box.inputValue(), "Look at @src/first.ts and @src/second.ts ");
    await box.fill("");
    await page.locator("#task-select option").nth(1).waitFor({ state: "attached" });
    const name = (await page.locator("#task-select option").nth(1).textContent()) ?? "";
    await box.pressSequentially(`/${name}`);
    await page
      .getByRole("option", { name: `/${name} task` })
      .first()
      .click();
    assert.equal(await page.locator("#task-select").inputValue(), name);
    assert.equal(await box.inputValue(), "");
  });

  it("the title is edited in place, and the menu exports, replays and deletes the session", async () => {
    const { page, session } = opened();
    const title = page.locator("#sessionTitle");
    await title.click();
    await page.keyboard.type("A better name");
    await page.keyboard.press("Enter");
    await seen(async () => (await session.call("")).title === "A better name");
    await title.click();
    await page.keyboard.type("Not this one");
    await page.keyboard.press("Escape");
    assert.equal(await title.textContent(), "A better name");

    const more = page.getByLabel("More about this session");
    await more.click();
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("button", { name: "Rename" }).isVisible(), false);
    assert.equal(await page.locator("#sessionMenu summary:focus").count(), 1);
    await more.click();
    await page.getByRole("button", { name: "Rename" }).click();
    await page.keyboard.type("The best name");
    await request(page).click();
    await seen(async () => (await session.call("")).title === "The best name");
    await more.click();
    const links = await page
      .locator("#sessionMenu a[data-format]")
      .evaluateAll(found => found.map(link => link.getAttribute("href")));
    const exported = (format: string) => `/api/copilot/session/${session.id}/export?format=${format}`;
    assert.deepEqual(links, [
      `/index.html?session=${session.id}&replay`,
      ...["markdown", "json", "html"].map(exported),
    ]);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "The session is deleted" }).waitFor();
    assert.equal((await session.call("")).error, "SessionNotFound");
  });

  it("a turn that failed can be sent again, also when another was asked meanwhile", async t => {
    let fails = true;
    const gate = barrier();
    const script = byPrompt({
      work: () => (fails ? [gate.step, fault.http(400)] : [{ text: "Now it works." }]),
      next: [{ text: "Something else." }],
    });
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await idle(page);
    await request(page).fill("work");
    await request(page).press("Control+Enter");
    await gate.reached;
    await request(page).fill("next");
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    await page.locator("#queue li").waitFor();
    gate.release();
    await page.getByText("Something else.").waitFor();
    await idle(page);
    await page.reload();
    fails = false;
    const again = page.getByRole("button", { name: "Send again" });
    await again.click();
    await page.getByText("Now it works.").waitFor();
    assert.equal(await again.count(), 0);
    const asked = await page.locator("[data-type=User] .message-block-body").allTextContents();
    assert.deepEqual(asked, ["work", "next", "work"]);
  });
});
