import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { launchBrowser, openPage } from "../support/browser.js";
import { sharedPortal } from "../support/restSession.js";
import { barrier, byPrompt, runShell } from "../support/scriptedModel.js";

let browser: Browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser.close());

const portalOf = sharedPortal();

describe("the changes of a turn in the browser", () => {
  it("are a line under the turn that opens the diff and undoes it, and keeps what the user changed since", async t => {
    const name = "<img src=x onerror=alert(1)>.txt";
    const gate = barrier();
    const script = byPrompt({
      work: [[gate.step, runShell(`echo two >> a.txt; echo new > '${name}'`)], [{ text: "Done." }]],
    });
    const { portal, workingDirectory, startSession } = await portalOf(t, script);
    execFileSync("git", ["-C", workingDirectory, "init", "-q"]);
    await writeFile(join(workingDirectory, "a.txt"), "one\n");
    const session = await startSession();
    const { page, problems } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await session.query("work");
    await gate.reached;
    await session.call("changes");
    gate.release();

    const line = page.getByRole("button", { name: "2 files changed, +2 −0" });
    await line.click();
    const files = page.locator(".turn-changes-file summary");
    await files.first().waitFor();
    assert.deepEqual(await files.allTextContents(), [`added ${name} +1 −0`, "changed a.txt +1 −0"]);
    await files.last().click();
    await page.locator(".diff-line.added", { hasText: "two" }).waitFor();

    await writeFile(join(workingDirectory, "a.txt"), "mine\n");
    await page.getByRole("button", { name: "Undo the changes of turn 1" }).click();
    await page.getByText("1 file put back.").waitFor();
    assert.equal(existsSync(join(workingDirectory, name)), false);
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "mine\n");
    await page.getByRole("button", { name: "Overwrite a.txt" }).click();
    await page.getByText("2 files put back.").waitFor();
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "one\n");
    await page.getByRole("button", { name: "Redo" }).click();
    await page.getByText("1 file put back.").waitFor();
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "mine\n");

    await page.reload();
    await line.waitFor();
    assert.deepEqual(problems, []);
  });
});
