import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { packageRoot } from "../src/paths.js";
import { launchBrowser, openPage } from "./support/browser.js";
import { sharedPortal } from "./support/restSession.js";
import { byPrompt, callTool, runShell, type Script } from "./support/scriptedModel.js";

let browser: Browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser.close());

const script: Script = byPrompt({
  "say hello": [[runShell("echo '<b>hello</b>' from the shell")], [{ text: "I said it." }]],
  "write the file": request => [
    request.round === 0
      ? callTool("create", { path: join(request.workingDirectory ?? "", "note.txt"), file_text: "a note\n" })
      : { text: "It is written." },
  ],
  "ask me": [
    [callTool("ask_user", { question: "Which colour?", choices: ["red", "blue"] })],
    request => [{ text: `You chose: ${request.toolResults.at(-1)?.content}` }],
  ],
});
const portalOf = sharedPortal({ models: ["plain-model"] });

describe("permissions in the browser", () => {
  it("a session asks on a card, which survives a reload, and does what was allowed", async t => {
    const { portal, startSession, workingDirectory } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    const address = `${portal.url}/index.html?session=${session.id}`;
    const { page, problems } = await openPage(t, browser, address);
    await session.query("say hello");
    const card = page.locator("#responses .permission-card");
    await card.waitFor();
    await page.reload();
    await page.locator("#responses .permission-card[data-state=open]").waitFor();
    assert.equal(
      await card.locator(".permission-command").textContent(),
      "echo '<b>hello</b>' from the shell",
    );
    assert.match((await card.textContent()) ?? "", /Always allow remembers: allow command echo/);
    await page.waitForFunction("document.title.startsWith('(1) ')");
    await page.screenshot({ path: process.env.SCREENSHOT ?? join(portal.dataDir, "card.png") });
    await card.getByRole("button", { name: "Allow once" }).click();
    await page.locator("#responses .permission-card[data-state=allowed]").waitFor();
    await page.locator("#responses", { hasText: "I said it." }).waitFor();
    await page.waitForFunction("!document.title.startsWith('(')");

    await session.query("write the file");
    const edit = page.locator("#responses .permission-card[data-state=open]");
    await edit.locator(".diff-line.added", { hasText: "a note" }).waitFor();
    await edit.getByLabel("What to do instead").fill("Call it other.txt.");
    await edit.getByRole("button", { name: "Reject and say" }).click();
    await page
      .locator("#responses .permission-card[data-state=rejected]", { hasText: "other.txt" })
      .waitFor();
    await page.locator("#responses", { hasText: "It is written." }).waitFor();
    await assert.rejects(readFile(join(workingDirectory, "note.txt")));
    assert.deepEqual(problems, []);
  });

  it("the inbox shows and answers on every page what waits in any session", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    await session.query("ask me");
    const address = `${portal.url}/jobs.html?wb=${encodeURIComponent("/tmp")}`;
    const { page, problems } = await openPage(t, browser, address);
    const count = page.getByRole("button", { name: "1 request waits for you" });
    await count.click();
    const card = page.locator(".inbox .permission-card");
    assert.match((await card.textContent()) ?? "", /Which colour\?/);
    await page.screenshot({ path: process.env.SCREENSHOT2 ?? join(portal.dataDir, "inbox.png") });
    await card.getByRole("button", { name: "blue" }).click();
    await page.locator(".inbox").waitFor({ state: "hidden" });
    const responses = await session.untilIdle();
    assert.match(JSON.stringify(responses), /You chose: .*blue/);
    assert.deepEqual(problems, []);
  });

  it("no page is without the inbox but the test page", async () => {
    const folder = join(packageRoot, "assets");
    const pages = (await readdir(folder)).filter(name => name.endsWith(".html") && name !== "test.html");
    for (const name of pages)
      assert.match(await readFile(join(folder, name), "utf8"), /src="\/inbox\.js"/, name);
  });

  it("the start form starts a session that asks", async t => {
    const { portal, workingDirectory } = await portalOf(t, script);
    const { page } = await openPage(t, browser, portal.url);
    await page.locator("#startButton:enabled").waitFor();
    await page.getByLabel("Working Directory").fill(workingDirectory);
    await page.getByLabel("Permissions").selectOption("ask");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("#session").waitFor();
    const id = new URL(page.url()).searchParams.get("session");
    const { body } = await portal.api(`copilot/session/${id}`);
    assert.equal(body.permissions, "ask");
  });
});
