import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { forGroup, type Scope, tempFolder } from "../support/cleanup.js";
import { barrier, byPrompt, runShell } from "../support/model/scriptedModel.js";
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
const hostileName = "<img src=x onerror=alert(1)>.txt";
const lineName = "2 files changed, +2 −0";

/** A session whose only turn changed two files, on its page. */
async function changed(t: Scope) {
  const gate = barrier();
  const script = byPrompt({
    work: [[gate.step, runShell(`echo two >> a.txt; echo new > '${hostileName}'`)], [{ text: "Done." }]],
    reviewed: [[{ text: "I use const now." }]],
  });
  const { portal, workingDirectory, startSession } = await portalOf(t, script);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", workingDirectory, ...args], { encoding: "utf8" });
  git("init", "-q");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.com");
  await writeFile(join(workingDirectory, "a.txt"), "one\n");
  git("add", ".");
  git("commit", "-qm", "One");
  const session = await startSession();
  const address = `${portal.url}/index.html?session=${session.id}`;
  const { page, problems } = await openPage(t, browser, address);
  t.after(async () => assert.deepEqual(problems, []));
  await session.query("work");
  await gate.reached;
  await session.call("changes");
  gate.release();
  const line = page.getByRole("button", { name: lineName });
  await line.click();
  const files = page.locator(".turn-changes-file summary");
  await files.first().waitFor();
  return { portal, workingDirectory, session, address, page, line, files, git };
}

/** The exported page, from disk, at the end of its replay. */
async function openExported(t: TestContext, address: string) {
  const file = join(await tempFolder(t, "portal-export"), "exported.html");
  await writeFile(file, await (await fetch(`${address}/export?format=html`)).text());
  const { page, problems } = await openPage(t, browser, pathToFileURL(file).href);
  t.after(() => assert.deepEqual(problems, []));
  await page.getByRole("slider", { name: "Position in the run" }).press("End");
  return page;
}

describe("the changes of a turn in the browser", () => {
  it("are a line under the turn that opens the diff and undoes it, and keeps what the user changed since", async t => {
    const { workingDirectory, page, line, files } = await changed(t);
    assert.deepEqual(await files.allTextContents(), [`added ${hostileName} +1 −0`, "changed a.txt +1 −0"]);
    await files.last().click();
    await page.locator(".diff-line.added", { hasText: "two" }).waitFor();

    await writeFile(join(workingDirectory, "a.txt"), "mine\n");
    await page.getByRole("button", { name: "Undo the changes of turn 1" }).click();
    await page.getByText("1 file put back.").waitFor();
    assert.equal(existsSync(join(workingDirectory, hostileName)), false);
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "mine\n");
    await page.getByRole("button", { name: "Overwrite a.txt" }).click();
    await page.getByText("2 files put back.").waitFor();
    assert.equal(await page.locator(".turn-changes-outcome:focus").count(), 1);
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "one\n");
    await page.getByRole("button", { name: "Redo" }).click();
    await page.getByText("1 file put back.").waitFor();
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "mine\n");

    await page.reload();
    await line.waitFor();
  });

  it("say in an exported file which difference is too long for it", async t => {
    const gate = barrier();
    const shell = runShell("seq 60000 > long.txt; echo new > short.txt");
    const script = byPrompt({ work: [[gate.step, shell], [{ text: "Done." }]] });
    const { portal, workingDirectory, startSession } = await portalOf(t, script);
    execFileSync("git", ["init", "-q", workingDirectory]);
    const session = await startSession();
    await session.query("work");
    await gate.reached;
    await session.call("changes");
    gate.release();
    await session.untilIdle();
    const page = await openExported(t, `${portal.url}/api/copilot/session/${session.id}`);
    await page.getByRole("button", { name: "2 files changed" }).click();
    const files = page.locator(".turn-changes-file summary");
    await files.first().click();
    await page.getByText("This difference is left out of the exported file").waitFor();
    await files.last().click();
    await page.locator(".diff-line.added", { hasText: "new" }).waitFor();
  });
});

describe("the changes of a turn that are reviewed", () => {
  const reviewed = forGroup(changed);

  it("take comments on their lines, by keys too, which wait in the store and go out as one request", async () => {
    const { page, files, session } = reviewed();
    await files.last().click();
    await page.getByRole("button", { name: "Comment on line 1" }).focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator(".diff-number:focus").textContent(), "2");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".diff-number:focus").textContent(), "2");
    await page.keyboard.press("Enter");
    await page.keyboard.type("Why <b>two</b>?");
    await page.getByRole("button", { name: "Comment on line 1" }).click();
    assert.equal(await page.locator("textarea:focus").inputValue(), "Why <b>two</b>?", "a draft is not lost");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("status").getByText("1 comment not sent yet").waitFor();
    await page.locator(".diff-lines .review-comment", { hasText: "Why <b>two</b>?" }).waitFor();

    await files.first().click();
    await page.locator(".turn-changes-file").first().getByRole("button", { name: "line 1" }).click();
    await page.keyboard.type("Wrong");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByText("2 comments not sent yet").waitFor();
    const waiting = page.locator("#reviewList .review-comment");
    assert.deepEqual(await waiting.locator("p").allTextContents(), ["Why <b>two</b>?", "Wrong"]);
    await waiting.last().getByRole("button", { name: "Delete" }).click();
    await page.getByText("1 comment not sent yet").waitFor();
    assert.equal(await page.locator(".diff-lines .review-comment").count(), 1);

    await page.reload();
    await page.getByRole("button", { name: "Send 1 comment" }).click();
    await page.getByText("I use const now.").waitFor();
    assert.equal(await waiting.count(), 0);
    const { comments } = await session.call<{ comments: unknown[] }>("changes/comments");
    assert.deepEqual(comments, []);
    const request = page.locator("[data-type=User]", { hasText: "I have reviewed the changes" });
    // A long text is shown part by part.
    const whole = /"a\.txt", line 2:\s+two\s+Why <b>two<\/b>\?/;
    await seen(async () => whole.test((await request.textContent()) ?? ""));
  });

  it("are committed with a message, or the page says why not, and all of it is readable", async t => {
    const { page, portal, session, address, git, line, files } = reviewed();
    await line.click();
    await files.first().waitFor();
    const commit = page.getByRole("button", { name: "Commit the changes of turn 1" });
    await commit.click();
    await page.getByRole("textbox", { name: "Message" }).fill("Add two");
    await page.getByRole("dialog").getByRole("button", { name: "Commit" }).click();
    await page.getByText(/The change is committed as [0-9a-f]{10}\./).waitFor();
    assert.equal(git("log", "-1", "--format=%an %s").trim(), "Ada Add two");
    await commit.click();
    await page.getByRole("textbox", { name: "Message" }).fill("Again");
    await page.getByRole("dialog").getByLabel("What").selectOption("Everything that is not committed yet");
    await page.getByRole("dialog").getByRole("button", { name: "Commit" }).click();
    await page.getByRole("alert").getByText("The change is committed already, or empty.").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);

    const exported = await openExported(t, `${portal.url}/api/copilot/session/${session.id}`);
    await exported.getByRole("button", { name: lineName }).click();
    const exportedFiles = exported.locator(".turn-changes-file summary");
    await exportedFiles.last().click();
    await exported.locator(".diff-line.added", { hasText: "two" }).waitFor();
    await exportedFiles.first().click();
    await exported.locator(".diff-line.added", { hasText: "new" }).waitFor();
    assert.equal(await exported.getByRole("button", { name: "Undo" }).isVisible(), false);
    assert.equal(await exported.getByRole("button", { name: "Comment on line 1" }).count(), 0);

    await inEveryTheme(
      browser,
      address,
      async shown => {
        await shown.getByRole("button", { name: lineName }).click();
        await shown.getByText(/committed as [0-9a-f]{10}/).waitFor();
        await shown.locator(".turn-changes-file summary").last().click();
        await shown.getByRole("button", { name: "Comment on line 2" }).click();
        await shown.keyboard.type("Why?");
        await shown.keyboard.press("Control+Enter");
        await shown.locator(".diff-lines .review-comment").first().waitFor();
        await shown.getByRole("button", { name: "Comment on line 1" }).click();
        // It lies over what is below it until the end is in sight.
        const latest = shown.getByRole("button", { name: "Jump to the latest" });
        if (await latest.isVisible()) await latest.click();
        await latest.waitFor({ state: "hidden" });
      },
      shown => shown.getByRole("button", { name: "Commit the changes of turn 1" }).press("Enter"),
    );
  });
});
