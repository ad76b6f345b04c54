import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { barrier, byPrompt, type ScriptedModel } from "../support/model/scriptedModel.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { redPixel } from "../support/pages/picture.js";
import { sharedPortal } from "../support/portal/restSession.js";

/** What the functions below may use in a page. */
interface Transfer {
  readonly items: { add(file: File): void };
}
declare const DataTransfer: new () => Transfer;
declare const ClipboardEvent: new (type: string, about: { clipboardData: Transfer }) => Event;
declare const DragEvent: new (type: string, about: { dataTransfer: Transfer }) => Event;

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortal();

/** The page listens by then. */
const ready = (page: Page) => page.locator("#sessionState[data-status]:not(:empty)").waitFor();
const waiting = (page: Page) => page.locator("#pictures img");
const shown = (page: Page) => page.locator("#session-part .pictures img");

/** As the browser does when somebody pastes or drops a file. */
const give = (page: Page, how: "paste" | "drop", data: Buffer) =>
  page.locator("#request-textarea").evaluate(
    (box, [type, bytes]) => {
      const files = new DataTransfer();
      const content = Uint8Array.from(atob(bytes), char => char.charCodeAt(0));
      files.items.add(new File([content], "shot.png", { type: "image/png" }));
      const about = { bubbles: true, cancelable: true };
      const event =
        type === "paste"
          ? new ClipboardEvent("paste", { ...about, clipboardData: files })
          : new DragEvent("drop", { ...about, dataTransfer: files });
      box.dispatchEvent(event);
    },
    [how, data.toString("base64")] as const,
  );

/** How many pictures the model got with each request. */
const imagesAt = (model: ScriptedModel) =>
  model.requests.map(({ request }) => JSON.stringify(request.body).split('"image_url":').length - 1);

describe("pictures in the request box", () => {
  it("a picture is pasted, dropped or chosen, survives a reload, is sent and shown with its request", async t => {
    const { portal, startSession, model } = await portalOf(t, byPrompt({ look: [{ text: "Red." }] }));
    const session = await startSession();
    const { page, problems } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    t.after(() => assert.deepEqual(problems, []));
    await ready(page);
    await give(page, "paste", redPixel);
    await waiting(page).waitFor();
    await page.reload();
    await waiting(page).waitFor();
    await ready(page);
    const other = Buffer.concat([redPixel, Buffer.from("another one")]);
    await give(page, "drop", other);
    await waiting(page).nth(1).waitFor();
    const file = { name: "third.png", mimeType: "image/png", buffer: Buffer.concat([other, other]) };
    await page.locator("#pictureFiles").setInputFiles(file);
    await waiting(page).nth(2).waitFor();
    await page.getByRole("button", { name: "Remove the picture" }).last().click();
    await page.locator("#request-textarea").fill("look");
    await page.locator("#request-textarea").press("Control+Enter");
    await shown(page).nth(1).waitFor();
    await page.getByText("Red.").waitFor();
    assert.equal(await waiting(page).count(), 0);
    assert.deepEqual(imagesAt(model), [2]);
    const width = await shown(page)
      .first()
      .evaluate(async image => {
        const drawn = image as unknown as { decode(): Promise<void>; naturalWidth: number };
        await drawn.decode();
        return drawn.naturalWidth;
      });
    assert.equal(width, 1);
  });

  it("a request that waits is edited with its picture", async t => {
    const gate = barrier();
    const { portal, startSession, model } = await portalOf(
      t,
      byPrompt({ first: [gate.step, { text: "Done." }] }),
    );
    const session = await startSession();
    await session.query("first");
    await gate.reached;
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await ready(page);
    await give(page, "paste", redPixel);
    await waiting(page).waitFor();
    await page.locator("#request-textarea").fill("second");
    await page.getByRole("button", { name: "Queue" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await waiting(page).waitFor();
    gate.release();
    await page.locator("#send-button:enabled").click();
    await page.getByText("You said: second").waitFor();
    assert.deepEqual(imagesAt(model), [0, 1]);
  });

  it("a model that takes no pictures says so at the box", async t => {
    const { portal, workingDirectory } = await portalOf(t);
    const { body } = await portal.api("copilot/session/start/demo:try-it", { body: workingDirectory });
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${body.sessionId}`);
    await ready(page);
    await give(page, "paste", redPixel);
    await page.locator("#requestError", { hasText: "Demo takes no pictures" }).waitFor();
  });
});
