import assert from "node:assert/strict";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, Page } from "playwright-core";
import { assertAccessible } from "../support/pages/axe.js";
import { openRenderer, sharedBrowser } from "../support/pages/browser.js";

type Response = { [name: string]: unknown };
declare function feed(responses: Response[]): Promise<(string | undefined)[]>;

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

async function open(t: TestContext) {
  const { page, problems } = await openRenderer(t, browser);
  t.after(() => assert.deepEqual(problems, []));
  return { page, say: (...responses: Response[]) => page.evaluate(list => feed(list), responses) };
}

const titles = (page: Page) => page.locator(".message-block-title").allTextContents();
const message = (id: string, text: string): Response[] => [
  { callback: "onStartMessage", messageId: id },
  { callback: "onMessage", messageId: id, delta: text },
  { callback: "onEndMessage", messageId: id, completeContent: text },
];
const tool = (id: string, name: string, args: object, end: object, more: object = {}): Response[] => [
  {
    callback: "onStartToolExecution",
    toolCallId: id,
    toolName: name,
    toolArguments: JSON.stringify(args),
    ...more,
  },
  { callback: "onEndToolExecution", toolCallId: id, ...end },
];

describe("a block that is still arriving", () => {
  it("says so in its title, shows raw text at most 150 px high, and cannot be toggled", async t => {
    const { page, say } = await open(t);
    const names = await say(
      { callback: "onStartMessage", messageId: "1" },
      ...Array.from({ length: 400 }, (_, line) => ({
        callback: "onMessage",
        messageId: "1",
        delta: `# line ${line}\n`,
      })),
    );
    assert.deepEqual(new Set(names), new Set(["onStartMessage", "onMessage"]));
    await page.getByText("# line 399").waitFor();
    assert.deepEqual(await titles(page), ["Message [receiving...]"]);
    const body = await page.locator(".message-block-body").boundingBox();
    assert.ok(body && body.height <= 150, `the body is ${body?.height} px high`);
    assert.equal(await page.locator(".message-block-toggle").isDisabled(), true);
    assert.equal(await page.locator(".message-block-view").count(), 0);
  });

  it("keeps its newest text in view", async t => {
    const { page, say } = await open(t);
    await say({ callback: "onStartReasoning", reasoningId: "1" });
    await say({ callback: "onReasoning", reasoningId: "1", delta: `${"thinking\n".repeat(500)}the end` });
    await page.getByText("the end").waitFor();
    const isVisible = await page.locator(".message-block-body").evaluate(body => body.scrollTop === 0);
    assert.ok(isVisible, "a reversed column is scrolled to its end at 0");
  });
});

describe("the button Expand", () => {
  it("lifts the limit of this and of later blocks that are receiving, also after a reload", async t => {
    const { page, say } = await open(t);
    const heights = () =>
      page
        .locator(".message-block-body")
        .evaluateAll(all => all.map(one => Math.round(one.getBoundingClientRect().height)));
    const start = (id: string) =>
      say(
        { callback: "onStartMessage", messageId: id },
        { callback: "onMessage", messageId: id, delta: `${"a line\n".repeat(50)}the end of ${id}` },
      );
    await start("1");
    await page.getByText("the end of 1").waitFor();
    assert.deepEqual(await heights(), [150]);
    const expand = page.getByRole("button", { name: "Expand", exact: true });
    assert.equal(await expand.getAttribute("aria-pressed"), "false");
    await expand.click();
    assert.equal(await expand.getAttribute("aria-pressed"), "true");
    await start("2");
    await page.getByText("the end of 2").waitFor();
    assert.ok((await heights()).every(height => height > 1_000));
    await say({ callback: "onEndMessage", messageId: "1", completeContent: "done" });
    assert.equal(await expand.count(), 1, "only what is receiving has it");
    await page.reload();
    await page.waitForSelector("[data-ready]");
    await start("3");
    await page.getByText("the end of 3").waitFor();
    assert.ok((await heights()).every(height => height > 1_000));
    await expand.click();
    assert.deepEqual(await heights(), [150]);
  });
});

describe("a completed block", () => {
  it("that is no tool call has Copy, which takes its text as it was written", async t => {
    const { page, say } = await open(t);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await say(...message("m", "# Title\n\n**bold**"), ...tool("t", "view", {}, { result: { content: "x" } }));
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), "# Title\n\n**bold**");
  });

  it("is open for User and Message, closed for Reasoning and Tool, and does not toggle other blocks", async t => {
    const { page, say } = await open(t);
    await say(
      { callback: "onUserRequest", requestId: "r", prompt: "Please" },
      { callback: "onStartReasoning", reasoningId: "1" },
      { callback: "onReasoning", reasoningId: "1", delta: "hm" },
      { callback: "onEndReasoning", reasoningId: "1", completeContent: "hm" },
      ...tool("t", "view", { path: "/a.txt" }, { result: { content: "text" } }),
      ...message("m", "Done"),
    );
    assert.deepEqual(await titles(page), ["User", "Reasoning", "Tool (view: /a.txt)", "Message"]);
    const states = () => page.locator(".message-block").evaluateAll(all => all.map(one => one.dataset.state));
    assert.deepEqual(await states(), ["expanded", "collapsed", "collapsed", "expanded"]);

    await page.getByRole("button", { name: "Reasoning" }).click();
    await say(...message("m2", "More"));
    assert.deepEqual(await states(), ["expanded", "expanded", "collapsed", "expanded", "expanded"]);
    await page.getByRole("button", { name: "Reasoning" }).press("Enter");
    assert.equal((await states())[1], "collapsed");
  });

  it("switches between Markdown and raw data, unless it is a Tool block", async t => {
    const { page, say } = await open(t);
    await say(
      ...message("m", "# Title\n\n- one\n- two"),
      ...tool("t", "view", {}, { result: { content: "# no" } }),
    );
    await page.getByRole("heading", { name: "Title" }).waitFor();
    await page.getByRole("button", { name: "View Raw Data" }).click();
    assert.match(
      (await page.locator("[data-type=Message] .message-block-body").textContent()) ?? "",
      /^# Title\n\n- one/,
    );
    await page.getByRole("button", { name: "View Markdown" }).click();
    await page.getByRole("heading", { name: "Title" }).waitFor();
    assert.equal(await page.locator("[data-type=Tool] .message-block-view").count(), 0);
  });

  it("is plain when its text does not look like Markdown, and offers View Markdown", async t => {
    const { page, say } = await open(t);
    await say(...message("m", "just\ntext"));
    assert.equal(await page.locator(".message-block-view").textContent(), "View Markdown");
    assert.equal(await page.locator(".markdown").count(), 0);
  });

  it("is complete from its Start and End alone, which is what a late reader receives", async t => {
    const { page, say } = await open(t);
    await say(
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onEndMessage", messageId: "m", completeContent: "all of it", interrupted: true },
    );
    assert.equal(await page.locator(".message-block-body").textContent(), "all of it");
    assert.equal(await page.locator(".message-block-note").textContent(), "interrupted");
  });

  it("can be found through its element", async t => {
    const { page, say } = await open(t);
    await say(...message("m", "text"));
    const found = await page.evaluate(
      "(({isCompleted, title, divElement}) => [isCompleted, title, divElement.className])(getMessageBlock(document.querySelector('.message-block')))",
    );
    assert.deepEqual(found, [true, "", "message-block completed"]);
    assert.equal(await page.evaluate("getMessageBlock(document.createElement('div'))"), undefined);
  });
});

describe("a tool block", () => {
  it("shows a shell command in a terminal, with its exit code visible before it is opened", async t => {
    const { page, say } = await open(t);
    await say(
      ...tool(
        "t",
        "bash",
        { command: "npm test\necho done", description: "Run the tests" },
        {
          result: { content: "10%\r100%\n2 failed\n<shellId: 1 completed with exit code 1>" },
          durationMs: 4200,
        },
      ),
    );
    assert.deepEqual(await titles(page), ["Tool (bash: npm test …)"]);
    assert.equal(await page.locator(".message-block-note").textContent(), "exit code 1 · 4.2 s");
    assert.equal(await page.locator(".message-block").getAttribute("data-outcome"), "failed");
    await page.locator(".message-block-toggle").click();
    assert.equal(await page.locator(".terminal-command").textContent(), "npm test\necho done");
    assert.equal(await page.locator(".terminal-output").textContent(), "100%\n2 failed");
    assert.equal(await page.locator(".tool-arguments").getAttribute("open"), null);
  });

  it("shows the colours of a command's output, each readable in light and in dark", async t => {
    const { page, say } = await open(t);
    const looking = (codes: unknown, text: string) => `\u001b[${codes}m${text}\u001b[0m`;
    const hues = Array.from({ length: 16 }, (_, n) => n);
    const inks = hues.map(n => looking(`38;5;${n}`, `ink${n}`)).join(" ");
    const papers = hues.map(n => looking(`48;5;${n}`, `paper${n}`)).join(" ");
    const looks = [1, 2, 3, 4, 9].map(n => looking(n, `look${n}`)).join(" ");
    const content = `${inks}\n${papers}\n${looks}\n<b>not bold</b>\n<exited with exit code 0>`;
    const [start, end] = tool("t", "bash", { command: "npm test" }, { result: { content } });
    await say(start as Response, {
      callback: "onToolExecution",
      toolCallId: "t",
      delta: looking(32, "passed"),
    });
    await page.locator(".message-block-tail", { hasText: /^passed$/ }).waitFor();
    await say(end as Response);
    await page.locator(".message-block-toggle").click();
    const text = (await page.locator(".terminal-output").textContent()) ?? "";
    assert.match(text, /^ink0 ink1 .* paper15\nlook1 look2 .*\n<b>not bold<\/b>$/s);
    const styleOf = (part: string, name: string) =>
      page
        .locator(".terminal-output span", { hasText: new RegExp(`^${part}$`) })
        .evaluate((span, property) => {
          const { getComputedStyle } = span.ownerDocument.defaultView as unknown as {
            getComputedStyle(e: unknown): { getPropertyValue(name: string): string };
          };
          return getComputedStyle(span).getPropertyValue(property);
        }, name);
    assert.equal(await styleOf("ink2", "color"), "rgb(85, 204, 119)");
    assert.equal(await styleOf("paper2", "background-color"), "rgb(85, 204, 119)");
    assert.equal(await styleOf("look1", "font-weight"), "700");
    assert.match(await styleOf("look4", "text-decoration"), /underline/);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, `the colours of a terminal in ${colorScheme}`);
    }
  });

  it("shows an edit as coloured lines", async t => {
    const { page, say } = await open(t);
    await say(
      ...tool(
        "t",
        "edit",
        { path: "/a.ts", old_str: "one\ntwo\nthree", new_str: "one\n2\nthree\nfour" },
        { result: { content: "ok" } },
      ),
    );
    await page.locator(".message-block-toggle").click();
    await page.locator(".diff-line").first().waitFor();
    assert.deepEqual(await page.locator(".diff-line").allTextContents(), [
      " one",
      "-two",
      "+2",
      " three",
      "+four",
    ]);
    assert.equal(await page.locator(".diff > .muted").textContent(), "2 added, 1 removed");
  });

  it("nests the calls of a sub-agent, even those that arrive after it has ended", async t => {
    const { page, say } = await open(t);
    await say(
      ...tool("p", "task", { description: "Look around" }, { result: { content: "**Found** it" } }),
      ...tool("c", "grep", { pattern: "x" }, { result: { content: "a:1" } }, { parentToolCallId: "p" }),
    );
    assert.equal(await page.locator(".message-block .message-block").count(), 1);
    await page.locator(".message-block-toggle").first().click();
    await page.locator(".markdown strong", { hasText: "Found" }).waitFor();
    assert.equal(await page.locator(".message-block .message-block").isVisible(), true);
  });

  it("says why it failed", async t => {
    const { page, say } = await open(t);
    await say(
      ...tool("t", "view", { path: "/no" }, { error: { message: "Path does not exist", code: "failure" } }),
    );
    await page.locator(".message-block-toggle").click();
    assert.equal(await page.locator(".notice").textContent(), "Path does not exist");
    assert.equal(await page.locator(".message-block").getAttribute("data-outcome"), "failed");
  });
});

describe("tool calls that follow each other", () => {
  const call = (id: string, time: number, more: object = {}): Response[] =>
    tool(id, "view", { path: `/${id}` }, { result: { content: id }, time: time + 500, ...more }).map(one => ({
      time,
      ...one,
    }));
  const group = (page: Page) => page.locator(".tool-group-title");

  it("are one line that says how many, how long and what failed, and opens", async t => {
    const { page, say } = await open(t);
    await say(...call("a", 1_000), ...call("b", 5_000), ...call("c", 12_500, { error: { message: "no" } }));
    await say(...message("m", "Done"), ...call("d", 20_000));
    assert.deepEqual(await group(page).allTextContents(), ["3 tools, 12 s, 1 failed"]);
    assert.equal(await page.locator(".tool-group").getAttribute("data-outcome"), "failed");
    const titled = (path: string) => page.getByRole("button", { name: `Tool (view: ${path})` });
    assert.equal(await titled("/a").count(), 0, "closed");
    assert.equal(await titled("/d").count(), 1, "one call is no group");
    const toggle = page.getByRole("button", { name: "3 tools" });
    await toggle.press("Enter");
    assert.equal(await toggle.getAttribute("aria-expanded"), "true");
    await titled("/b").click();
    await page.locator(".tool-text", { hasText: "b" }).waitFor();
    await toggle.click();
    assert.equal(await titled("/a").count(), 0);
  });

  it("show the newest while it runs, and close when all have ended", async t => {
    const { page, say } = await open(t);
    const shown = () => page.locator(".message-block-title").filter({ visible: true }).allTextContents();
    const [start = {}, end = {}] = call("c", 3_000);
    await say(...call("a", 1_000), ...call("b", 2_000), start);
    assert.deepEqual(await shown(), ["Tool (view: /c) [receiving...]"]);
    assert.deepEqual(await group(page).allTextContents(), ["3 tools"]);
    await say(end);
    assert.deepEqual(await shown(), []);
    assert.deepEqual(await group(page).allTextContents(), ["3 tools, 2 s"]);
  });

  it("stay open when their user has opened them or reads one of them", async t => {
    const { page, say } = await open(t);
    const [start = {}, end = {}] = call("b", 2_000);
    await say(...call("a", 1_000), start);
    await page.getByRole("button", { name: "2 tools" }).click();
    await say(end);
    assert.equal(await page.getByRole("button", { name: /^Tool/ }).count(), 2);
  });
});

describe("the conversation", () => {
  it("shows requests, generated prompts, notices, errors and usage, each in its own form", async t => {
    const { page, say } = await open(t);
    await say(
      { callback: "onUserRequest", requestId: "1", prompt: "Hello" },
      { callback: "onGeneratedUserPrompt", prompt: "Check it" },
      { callback: "onNotice", severity: "warning", title: "The provider answered 429, trying again" },
      { callback: "onUsage", inputTokens: 12345, outputTokens: 67, premiumRequests: 1, cost: 0 },
      { sessionError: "The runtime died" },
      { callback: "onIdle" },
      { callback: "somethingNew", value: 1 },
    );
    assert.deepEqual(await titles(page), ["User", "User (Task)"]);
    assert.deepEqual(await page.locator(".notice").allTextContents(), [
      "The provider answered 429, trying again",
      "The runtime died",
    ]);
    assert.equal(
      await page.locator(".session-response-remark").textContent(),
      "12,345 tokens in, 67 out · 1 premium request",
    );
  });

  it("counts a notice that repeats, as a provider's retries do", async t => {
    const { page, say } = await open(t);
    const again = { callback: "onNotice", severity: "warning", title: "Trying again" };
    await say(again, again, again, { callback: "onUserRequest", prompt: "Hello" }, again);
    assert.deepEqual(await page.locator(".notice").allTextContents(), ["Trying again × 3", "Trying again"]);
  });

  it("keeps the line breaks of a request, in Markdown too", async t => {
    const { page, say } = await open(t);
    await say({ callback: "onUserRequest", prompt: "Do **this**:\nfirst\nsecond" });
    const paragraph = page.locator("[data-type=User] .markdown p");
    await paragraph.waitFor();
    const { height = 0 } = (await paragraph.boundingBox()) ?? {};
    assert.ok(height > 60, `three lines are ${height} px high`);
  });

  it("says at the bottom left that it awaits responses, how long it works after the first, and only while it does", async t => {
    const { page, say } = await open(t);
    const awaiting = page.getByText("Awaits responses ...");
    assert.equal(await awaiting.isVisible(), false);
    await page.evaluate("renderer.setAwaiting(true)");
    assert.equal(await awaiting.isVisible(), true);
    await say(...message("m", "so far"));
    await page.getByText(/^Working… \d+ s$/).waitFor();
    assert.equal(await awaiting.count(), 0);
    await say({ callback: "onUserRequest", requestId: "2", prompt: "next" });
    await awaiting.waitFor();
    await page.evaluate("renderer.setAwaiting(false)");
    assert.equal(await awaiting.isVisible(), false);
  });

  it("follows the bottom while the reader is there, and does not move a reader who scrolled up", async t => {
    const { page, say } = await open(t);
    const log = page.locator("#log");
    const distance = () => log.evaluate(div => div.scrollHeight - div.scrollTop - div.clientHeight);
    const atBottom = async () => {
      while ((await distance()) >= 2) await page.evaluate("new Promise(requestAnimationFrame)");
    };
    const fill = (from: number) =>
      say(
        ...Array.from({ length: 40 }, (_, n) =>
          message(`${from + n}`, `line ${from + n}\n\nand more`),
        ).flat(),
      );
    await fill(0);
    await atBottom();
    await log.hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole("button", { name: "Jump to the latest" }).waitFor();
    const before = await log.evaluate(div => div.scrollTop);
    await fill(100);
    await page.locator(".message-block").nth(79).waitFor({ state: "attached" });
    assert.equal(await log.evaluate(div => div.scrollTop), before);
    assert.ok((await distance()) > 500);
    await page.getByRole("button", { name: "Jump to the latest" }).click();
    await atBottom();
    assert.equal(await page.getByRole("button", { name: "Jump to the latest" }).isVisible(), false);
  });
});
