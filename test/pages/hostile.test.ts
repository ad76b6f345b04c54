import assert from "node:assert/strict";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type OpenedPage, openFreshPage, openRenderer, sharedBrowser } from "../support/pages/browser.js";

type Response = { [name: string]: unknown };
declare function feed(responses: Response[]): Promise<(string | undefined)[]>;

const browserOf = sharedBrowser();
let browser: Browser;
let opened: OpenedPage;
before(async () => {
  browser = await browserOf();
  // It is closed with the browser.
  opened = await openRenderer({ after: () => undefined }, browser, {}, openFreshPage);
  await opened.page.exposeFunction("stolen", () => opened.problems.push("a script of the agent ran"));
});

async function open(t: TestContext) {
  const { page, problems } = opened;
  t.after(() => assert.deepEqual(problems, []));
  await page.evaluate("reset()");
  return { page, say: (...responses: Response[]) => page.evaluate(list => feed(list), responses) };
}

const attacks = [
  "<script>stolen()</script>",
  "<img src=x onerror=stolen()>",
  "<svg onload=stolen()><style>*{display:none}</style></svg>",
  "<iframe srcdoc='<script>parent.stolen()</script>'></iframe>",
  "<form action=/api/stop><button>Send</button></form>",
  "<style>body{display:none}</style>",
  "<a id=send name=log href=javascript:stolen()>x</a>",
  "[click](javascript:stolen()) [click](data:text/html,<script>stolen()</script>) [click](vbscript:x)",
  "[stop](/api/stop) [stop](api/stop) [stop](//evil.example/x) ![pixel](https://evil.example/p.png)",
  '![x](x"onerror="stolen()) [y](https://ok.example/"onmouseover="stolen())',
  "```html\n<script>stolen()</script>\n```\n`<img src=x onerror=stolen()>`",
  '```js"onload="stolen()\ncode\n```',
  "<b>\n\n**bold**\n\n</b><math><mtext></mtext><mglyph><style><img src=x onerror=stolen()></style></mglyph></math>",
  "[ref]: javascript:stolen()\n\n[ref] and <javascript:stolen()> and https://ok.example",
].join("\n\n");

/** Every field of every response that an agent or its tools can fill. */
function attackEverywhere(id: string): Response[] {
  const args = JSON.stringify({
    command: attacks,
    path: attacks,
    description: attacks,
    old_str: attacks,
    new_str: "x",
  });
  return [
    { callback: "onUserRequest", requestId: id, prompt: attacks },
    { callback: "onGeneratedUserPrompt", prompt: attacks },
    { callback: "onStartReasoning", reasoningId: attacks },
    { callback: "onReasoning", reasoningId: attacks, delta: attacks },
    { callback: "onEndReasoning", reasoningId: attacks, completeContent: attacks },
    { callback: "onStartMessage", messageId: id },
    { callback: "onEndMessage", messageId: id, completeContent: attacks },
    ...["bash", "edit", "create", "task", "view", attacks].flatMap(toolName => [
      { callback: "onStartToolExecution", toolCallId: `${id}${toolName}`, toolName, toolArguments: args },
      { callback: "onToolExecution", toolCallId: `${id}${toolName}`, delta: attacks },
      {
        callback: "onEndToolExecution",
        toolCallId: `${id}${toolName}`,
        result: { content: attacks, detailedContent: attacks },
        error: { message: attacks, code: attacks },
      },
    ]),
    { callback: "onNotice", severity: attacks, title: attacks },
    { callback: attacks, value: attacks },
    { callback: "__proto__" },
    { callback: "constructor" },
    { sessionError: attacks },
  ];
}

async function openAll(page: Page): Promise<void> {
  const clickAll = (selector: string) =>
    page.locator(selector).evaluateAll(all => {
      for (const one of all) one.click();
    });
  await clickAll("[data-state=collapsed] > * > .message-block-toggle");
  await clickAll(".tool-arguments summary");
  await page.locator(".markdown a").first().waitFor();
}

describe("harmful text from an agent", () => {
  it("is shown and does nothing, in every field", async t => {
    const { page, say } = await open(t);
    await say(...attackEverywhere("1"));
    await openAll(page);
    const dangerous = page
      .locator("#log")
      .locator("script, img, svg, iframe, form, style, object, embed, math, [onerror], [onload], [style]");
    assert.equal(await dangerous.count(), 0);
    assert.equal(await page.locator("#log [id=send], #log [name]").count(), 0);
    assert.match((await page.locator("#log").textContent()) ?? "", /<script>stolen\(\)<\/script>/);
  });

  it("has links that lead away without a referrer, and none to the portal itself", async t => {
    const { page, say } = await open(t);
    await say(...attackEverywhere("1"));
    await openAll(page);
    const links = await page
      .locator("#log a")
      .evaluateAll(all =>
        all.map(
          one =>
            [one.getAttribute("href") ?? "", one.getAttribute("rel"), one.getAttribute("target")] as const,
        ),
      );
    assert.ok(links.length > 0);
    for (const [href, rel, target] of links) {
      assert.match(href, /^https:\/\/(ok|evil)\.example(\/|$)/, href);
      assert.deepEqual([rel, target], ["noopener noreferrer", "_blank"]);
    }
  });

  it("cannot break the page with malformed responses", async t => {
    const { page, say } = await open(t);
    await say(
      { callback: "onStartToolExecution" },
      { callback: "onEndToolExecution", result: null, error: null },
      { callback: "onEndMessage", messageId: "never started" },
      { callback: "onMessage", delta: 5 },
      { callback: "onStartMessage", messageId: {} },
      { callback: "onEndMessage", messageId: {}, completeContent: { a: 1 } },
      { callback: "onUsage", inputTokens: "many" },
      { callback: "onUserRequest" },
      { callback: 7 },
      {},
    );
    await say(
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onEndMessage", messageId: "m", completeContent: "fine" },
    );
    await page.getByText("fine", { exact: true }).waitFor();
  });
});

describe("a lot of text", () => {
  it("a message of 5 MB shows its beginning at once and the rest on demand", async t => {
    const { page, say } = await open(t);
    const line = "All work and no play makes **Jack** a dull boy.\n\n";
    const content = `# Start\n\n${line.repeat(Math.ceil(5_000_000 / line.length))}the very end`;
    await say(
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onMessage", messageId: "m", delta: content },
      { callback: "onEndMessage", messageId: "m", completeContent: content },
    );
    await page.getByRole("heading", { name: "Start" }).waitFor();
    const paragraphs = () => page.locator(".markdown p").count();
    const first = await paragraphs();
    assert.ok(first < 2000, `${first} paragraphs are shown at once`);
    await page.getByRole("button", { name: /^Show more \(5\.0 MB left\)/ }).click();
    await page.locator(".markdown p").nth(first).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "View Raw Data" }).click();
    await page.getByRole("button", { name: "Show all" }).click();
    const raw = page.locator(".message-block-text");
    await raw.locator(".more").waitFor({ state: "detached" });
    const shown = await raw.evaluate(div => div.textContent ?? "");
    assert.ok(shown === content, `${shown.length} of ${content.length} characters are shown`);
  });

  it("a thousand tool calls stay readable, and each can be opened", async t => {
    const { page, say } = await open(t);
    await say(
      ...Array.from({ length: 1000 }, (_, n) => [
        {
          callback: "onStartToolExecution",
          toolCallId: `${n}`,
          toolName: "bash",
          toolArguments: `{"command":"echo ${n}"}`,
        },
        { callback: "onEndToolExecution", toolCallId: `${n}`, result: { content: `out ${n}` } },
      ]).flat(),
    );
    assert.equal(await page.locator(".message-block").count(), 1000);
    assert.equal(await page.locator(".terminal").count(), 0, "nothing is rendered before it is opened");
    const groups = page.getByRole("button", { name: "100 tools" });
    assert.equal(await groups.count(), 10, "the page can hold each of them");
    await groups.first().click();
    await groups.last().click();
    await page.getByRole("button", { name: "Tool (bash: echo 999)" }).click();
    assert.equal(await page.locator(".terminal-output").textContent(), "out 999");
    await page.getByRole("button", { name: "Tool (bash: echo 3)", exact: false }).first().click();
    await page.getByText("out 3", { exact: true }).waitFor();
  });

  it("the output of a tool shows its end at once and its beginning on demand; what was read begins at its beginning", async t => {
    const { page, say } = await open(t);
    const content = `the very start\n${"a line of the log\n".repeat(20_000)}the very end`;
    const call = (toolCallId: string, toolName: string) => [
      { callback: "onStartToolExecution", toolCallId, toolName, toolArguments: "{}" },
      { callback: "onEndToolExecution", toolCallId, result: { content } },
      { callback: "onUserRequest", requestId: toolCallId, prompt: "next" },
    ];
    await say(...call("1", "bash"), ...call("2", "grep"), ...call("3", "view"));
    for (const name of ["bash", "grep"]) {
      const block = page.locator(".message-block", { hasText: `Tool (${name}` });
      await block.locator(".message-block-toggle").click();
      await block.getByText("the very end").waitFor();
      assert.equal(await block.getByText("the very start").count(), 0);
      if (name === "bash") {
        const { y = 0 } = (await block.locator(".piece").boundingBox()) ?? {};
        assert.ok(y < 0, "the terminal is scrolled to its end");
      }
      await block.getByRole("button", { name: /^Show the beginning \(\d+ KB\)$/ }).click();
      await block.getByText("the very start").waitFor();
      await block.getByRole("button", { name: "Show all" }).click();
      await block.locator(".more").waitFor({ state: "detached" });
      const shown = await block.locator(".message-block-body").evaluate(div => div.textContent ?? "");
      assert.ok(shown.includes(content), `${shown.length} of ${content.length} characters are shown`);
    }
    const read = page.locator(".message-block", { hasText: "Tool (view" });
    await read.locator(".message-block-toggle").click();
    await read.getByText("the very start").waitFor();
    assert.equal(await read.getByText("the very end").count(), 0);
  });

  it("code that is longer than one piece stays code in the next piece", async t => {
    const { page, say } = await open(t);
    const code = Array.from({ length: 4000 }, (_, n) => `# line ${n} of the script`).join("\n");
    await say(
      { callback: "onStartMessage", messageId: "m" },
      {
        callback: "onEndMessage",
        messageId: "m",
        completeContent: `Look:\n\n\`\`\`sh\n${code}\n\`\`\`\n\n## After`,
      },
    );
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("heading", { name: "After" }).waitFor();
    assert.equal(await page.locator(".markdown h1").count(), 0);
  });
});
