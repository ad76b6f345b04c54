import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { forGroup, type Scope } from "../support/cleanup.js";
import { barrier, byPrompt, runShell, type Script } from "../support/model/scriptedModel.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { type PortalWithModel, portalWithModel, sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortal();

const openSession = async (t: Scope, script: Script, options: BrowserContextOptions = {}) =>
  openSessionOn(t, await portalOf(t, script), options);

async function openSessionOn(t: Scope, parts: PortalWithModel, options: BrowserContextOptions = {}) {
  const session = await parts.startSession();
  const address = `/index.html?session=${session.id}`;
  const { page, problems } = await openPage(t, browser, `${parts.portal.url}${address}`, options);
  t.after(async () => assert.deepEqual(problems, []));
  await idle(page);
  return { ...parts, session, page, address };
}

const idle = (page: Page) => page.locator("#sessionState[data-status=Idle]").waitFor();
const busy = (page: Page) => page.locator("#sessionState[data-status=Busy]").waitFor();
const send = async (page: Page, text: string) => {
  await page.getByLabel("Request", { exact: true }).fill(text);
  await page.getByLabel("Request", { exact: true }).press("Control+Enter");
};
const conversation = (page: Page) => page.locator("#session-part .message-block").allTextContents();

describe("a session in the browser", () => {
  it("is started from the form, keeps its address, and works with the agent's real tools", async t => {
    const script = byPrompt({
      look: [
        [{ reasoning: "Let me see." }, runShell("echo it-works; exit 3")],
        [{ text: "**Done** looking." }],
      ],
    });
    const { portal, workingDirectory } = await portalOf(t, script);
    const { page } = await openPage(t, browser, portal.url);
    await page.locator("#start-button:enabled").waitFor();
    await page.getByLabel("Working Directory").fill(workingDirectory);
    await page.locator("#setup-ui").getByLabel("Permissions").selectOption("Allow everything");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("#session-ui").waitFor();
    assert.match(page.url(), /\/index\.html\?session=/);
    assert.equal(await page.locator("#setup-ui").isVisible(), false);

    await send(page, "look around");
    await page.locator(".markdown strong", { hasText: "Done" }).waitFor();
    await idle(page);
    assert.deepEqual(await page.locator(".message-block-title").allTextContents(), [
      "User",
      "Reasoning",
      "Tool (bash: echo it-works; exit 3)",
      "Message",
    ]);
    assert.match(
      (await page.locator("[data-type=Tool] .message-block-note").textContent()) ?? "",
      /^exit code 3 · \d\.\d s$/,
    );
    const times = await page
      .locator(".message-block-time")
      .evaluateAll(all => all.map(one => Date.parse(one.getAttribute("datetime") ?? "")));
    assert.equal(times.length, 4);
    assert.deepEqual([...times].sort(), times);
    assert.ok(times.every(time => Math.abs(Date.now() - time) < 600_000));
    await page.getByRole("button", { name: /^Tool/ }).click();
    assert.equal(await page.locator(".terminal-output").textContent(), "it-works");
    assert.equal(await page.locator("#sessionTitle").textContent(), "look around");
  });

  it("is complete after a reload in mid-turn, and for a second viewer", async t => {
    const gate = barrier();
    const script = byPrompt({
      tell: [[runShell("echo one")], [{ text: "Once upon a time " }, gate.step, { text: "it ended." }]],
    });
    const { page, portal, address } = await openSession(t, script);
    await send(page, "tell me");
    await page.getByText("Once upon a time").waitFor();
    await page.reload();
    await page.getByText("Once upon a time").waitFor();
    await busy(page);
    const second = (await openPage(t, browser, `${portal.url}${address}`)).page;
    await second.getByText("Once upon a time").waitFor();
    gate.release();
    for (const viewer of [page, second]) {
      await viewer.getByText("Once upon a time it ended.").waitFor();
      await idle(viewer);
    }
    assert.deepEqual(await conversation(second), await conversation(page));
    await send(second, "from the second");
    await page.getByText("You said: from the second").waitFor();
  });

  it("shows a request that waits behind another one when it begins, after the answer before it", async t => {
    const gate = barrier();
    const script = byPrompt({ first: [gate.step, { text: "The first answer." }] });
    const { page, session } = await openSession(t, script);
    await session.query("first");
    await gate.reached;
    await session.query("second");
    await page.locator("#sessionState", { hasText: "Busy, 1 waiting" }).waitFor();
    assert.equal((await conversation(page)).length, 1, "only the request that runs");
    gate.release();
    await page.getByText("You said: second").waitFor();
    const inOrder = ["User", "Message", "User", "Message"];
    const shown = () => page.locator(".message-block-title").allTextContents();
    assert.deepEqual(await shown(), inOrder);
    await page.reload();
    await page.getByText("You said: second").waitFor();
    assert.deepEqual(await shown(), inOrder);
  });

  it("queues requests behind the running one, where they can be changed, dropped or sent at once", async t => {
    const gate = barrier();
    const { page, model } = await openSession(t, byPrompt({ first: [gate.step, { text: "1" }] }));
    const box = page.getByLabel("Request", { exact: true });
    const queue = page.locator("#queue li");
    const press = (words: string, name: string) =>
      queue.filter({ hasText: words }).getByRole("button", { name }).click();
    await send(page, "first");
    await gate.reached;
    await box.fill("to be\nchanged");
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    await queue.filter({ hasText: "to be changed" }).waitFor();
    for (const words of ["to be dropped", "instead"]) {
      await box.fill(words);
      await box.press("Control+Shift+Enter");
      await queue.filter({ hasText: words }).waitFor();
    }
    await press("to be dropped", "Drop");
    await queue.filter({ hasText: "to be dropped" }).waitFor({ state: "detached" });
    await press("to be changed", "Edit");
    await queue.filter({ hasText: "to be changed" }).waitFor({ state: "detached" });
    assert.equal(await box.inputValue(), "to be\nchanged");
    await page.reload();
    await queue.filter({ hasText: "instead" }).waitFor();
    assert.equal(await box.inputValue(), "to be\nchanged", "a draft survives a reload");
    await press("instead", "Steer");
    await page.getByText("You said: instead").waitFor();
    await idle(page);
    assert.deepEqual(model.requests.at(-1)?.request.userTexts, ["first", "instead"]);
    assert.equal(await queue.count(), 0);
    gate.release();
  });
});

describe("a turn in the browser", () => {
  const [first, second] = [barrier(), barrier()];
  const opened = forGroup(scope =>
    openSession(
      scope,
      byPrompt({
        wait: [{ text: "so far" }, first.step, { text: " so good" }],
        stay: [{ text: "so much" }, second.step],
      }),
    ),
  );

  it("cannot send again before it is idle, neither by button nor by Ctrl+Enter", async () => {
    const { page, model } = opened();
    await send(page, "wait for me");
    await page.getByText("so far").waitFor();
    assert.equal(await page.locator("#send-button").isDisabled(), true);
    await page.getByText(/^Working… \d+ s$/).waitFor();
    assert.match(await page.title(), /^▶ wait for me/);
    await send(page, "too early");
    assert.equal(await page.getByLabel("Request", { exact: true }).inputValue(), "too early");
    first.release();
    await idle(page);
    assert.equal(model.requests.length, 1);
    assert.equal(
      await page
        .getByText(/^(Awaits|Working)/)
        .filter({ visible: true })
        .count(),
      0,
    );
  });

  it("stops the turn on request, and takes the next one", async () => {
    const { page, model } = opened();
    await send(page, "stay with me");
    await page.getByText("so much").waitFor();
    await page.getByRole("button", { name: "Stop turn" }).click();
    await idle(page);
    assert.equal(await model.requests[1]?.end, "hungUp");
    assert.equal(
      await page.locator("[data-type=Message]").last().getAttribute("data-outcome"),
      "interrupted",
    );
    await send(page, "next");
    await page.getByText("You said: next").waitFor();
  });
});

describe("the page of a session", () => {
  const opened = forGroup(scope => openSession(scope, byPrompt({})));
  const heightOf = async (page: Page, selector: string) =>
    Math.round((await page.locator(selector).boundingBox())?.height ?? 0);

  it("says what is missing when there is nothing to send", async () => {
    const { page } = opened();
    await send(page, "   ");
    await page.locator("#requestError", { hasText: "Describe what to do." }).waitFor();
  });

  it("has two parts that fill the window together; the bar between them moves by keyboard and mouse", async () => {
    const { page } = opened();
    assert.equal(await heightOf(page, "#request-part"), 300);
    const bar = page.getByRole("separator");
    await bar.focus();
    await page.keyboard.press("ArrowUp");
    assert.equal(await heightOf(page, "#request-part"), 320);
    const box = await bar.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 200, box.y + 3);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 103, { steps: 3 });
    await page.mouse.up();
    assert.equal(await heightOf(page, "#request-part"), 220);
    for (const height of [800, 500]) {
      await page.setViewportSize({ width: 1000, height });
      const top = (await page.locator(".top.line").boundingBox())?.height ?? 0;
      const session = await page.locator("#session-ui").boundingBox();
      assert.deepEqual([session?.y, session?.height], [top, height - top]);
      assert.equal(await page.locator("html").evaluate(html => html.scrollHeight > html.clientHeight), false);
    }
  });

  it("ends with Close Session, and says that the tab may be closed", async () => {
    const { page, session } = opened();
    await page.getByRole("button", { name: "Close Session" }).click();
    await page.getByRole("heading", { name: "The session has ended" }).waitFor();
    await page.getByText("This tab may be closed.").waitFor();
    assert.equal((await session.call("")).status, "Closed");
    await page.getByRole("link", { name: "Back to the session" }).click();
    await page.getByRole("button", { name: "Reopen" }).click();
    await idle(page);
    assert.equal((await session.call("")).status, "Idle");
  });

  it("says that a session is gone, and where to go", async () => {
    const { page, portal } = opened();
    for (const id of ["never-there", "..%2f..", "__proto__"]) {
      await page.goto(`${portal.url}/index.html?session=${id}`);
      await page.getByRole("heading", { name: "This session is gone" }).waitFor();
      assert.equal(await page.getByRole("link", { name: "Start page" }).isVisible(), true);
    }
  });
});

describe("a portal that only these tests have", () => {
  const gate = barrier();
  const script = byPrompt({ tell: [{ text: "The beginning " }, gate.step, { text: "never comes" }] });
  const own = forGroup(scope => portalWithModel(scope, { script, models: ["zeta", "gpt-5.2", "alpha"] }));

  it("lists its models on the start page sorted by name, and selects gpt-5.2 when it is listed", async t => {
    const { page } = await openPage(t, browser, own().portal.url);
    await page.locator("#start-button:enabled").waitFor();
    const names = await page.locator("#model-select option").allTextContents();
    assert.deepEqual(
      names,
      [...names].sort((a, b) => a.localeCompare(b)),
    );
    assert.equal(await page.locator("#model-select").inputValue(), "gpt-5.2");
  });

  it("loses nothing when the server is killed and comes back under the open page", async t => {
    const { page } = await openSessionOn(t, own());
    const { portal } = own();
    await send(page, "hello");
    await page.getByText("You said: hello").waitFor();
    await idle(page);
    await send(page, "tell me");
    await page.getByText("The beginning").waitFor();
    const port = new URL(portal.url).port;
    await portal.kill("SIGKILL");
    const banner = page.locator(".banner", { hasText: "The server cannot be reached." });
    await banner.waitFor();
    const { y = 0, height = 0 } = (await banner.boundingBox()) ?? {};
    const state = await page.locator("#sessionState").boundingBox();
    assert.ok(y + height <= (state?.y ?? 0), "the banner does not cover the state");
    await portal.restart({ args: ["--port", port] });
    await page.getByText("The server cannot be reached.").waitFor({ state: "hidden" });
    await page
      .locator(".notice[data-level=error]", { hasText: "stopped before this request was done" })
      .waitFor();
    await idle(page);
    const titles = await page.locator(".message-block-title").allTextContents();
    assert.deepEqual(titles, ["User", "Message", "User", "Message"]);
    assert.equal(
      await page.locator("[data-type=Message]").last().getAttribute("data-outcome"),
      "interrupted",
    );
    await send(page, "again");
    await page.getByText("You said: again").waitFor();
    gate.release();
  });

  it("asks once before it stops the server", async t => {
    const { page, portal } = await openSessionOn(t, own());
    await page.getByRole("button", { name: "Stop Server" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    assert.equal((await portal.api("health")).status, 200);
    await page.getByRole("button", { name: "Stop Server" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop Server" }).click();
    await page.getByRole("heading", { name: "The server has stopped" }).waitFor();
    assert.equal((await portal.exited).code, 0);
  });
});

describe("two parts side by side", () => {
  it("halve a window that is too narrow for what the right one would like", async t => {
    const { portal } = await openSession(t, byPrompt({}));
    const { page } = await openPage(t, browser, `${portal.url}/agents.html`);
    await page.setViewportSize({ width: 1100, height: 800 });
    const widthOf = async (selector: string) => (await page.locator(selector).boundingBox())?.width ?? 0;
    const whole = await widthOf("main");
    assert.equal(await widthOf(".side-part"), whole / 2);
    await page.getByRole("separator").press("ArrowRight");
    await page.setViewportSize({ width: 1600, height: 800 });
    assert.equal(await widthOf(".side-part"), whole / 2 - 20, "what the user chose stays");
  });
});
