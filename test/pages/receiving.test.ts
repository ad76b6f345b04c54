import assert from "node:assert/strict";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openRenderer, sharedBrowser } from "../support/pages/browser.js";

type Response = { [name: string]: unknown };
declare function feed(responses: Response[]): Promise<unknown>;

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

/** A page on which a message is received. */
async function open(t: TestContext) {
  const { page, problems } = await openRenderer(t, browser);
  t.after(() => assert.deepEqual(problems, []));
  const say = (...responses: Response[]) => page.evaluate(list => feed(list), responses);
  await say({ callback: "onStartMessage", messageId: "m" });
  return {
    page,
    body: page.locator(".message-block-body"),
    tail: page.locator(".message-block-tail"),
    receive: (...deltas: string[]) =>
      say(...deltas.map(delta => ({ callback: "onMessage", messageId: "m", delta }))),
    end: (completeContent: string) => say({ callback: "onEndMessage", messageId: "m", completeContent }),
  };
}

/** The paragraphs of a text that arrives in parts of this length. */
const cut = (page: Page, text: string, length: number) =>
  page.evaluate(
    async ([whole, size, part]) => {
      const { paragraphs } = await import(part);
      const add = paragraphs();
      const complete: string[] = [];
      let rest = "";
      for (let from = 0; from < whole.length; from += size) {
        const now = add(whole.slice(from, from + size));
        complete.push(...now.complete);
        rest = now.rest;
      }
      return [...complete, rest];
    },
    [text, length, "/lib/markdown.js"] as [string, number, string],
  );

describe("a message that is received", () => {
  it("is Markdown up to its last complete paragraph, each rendered once, and plain behind it", async t => {
    const { body, tail, receive } = await open(t);
    await receive("This is **one**.\n\nAnd *tw");
    await body.locator("strong", { hasText: "one" }).waitFor();
    assert.equal(await tail.textContent(), "And *tw");
    await body.locator("strong").evaluate(strong => strong.setAttribute("data-first", ""));
    await receive("o*\n\nThree");
    await body.locator("em", { hasText: "two" }).waitFor();
    assert.equal(await tail.textContent(), "Three");
    assert.equal(await body.locator("strong[data-first]").count(), 1);
    const { height = 0 } = (await body.boundingBox()) ?? {};
    assert.ok(height > 60 && height <= 150, `${height} px high`);
  });

  it("keeps its line breaks as long as nothing in it looks like Markdown", async t => {
    const { body, tail, receive } = await open(t);
    await receive("one\ntwo\n\nthree");
    await tail.filter({ hasText: /^three$/ }).waitFor();
    assert.equal(await body.locator("p").count(), 0);
    assert.equal(await body.locator("pre").first().textContent(), "one\ntwo");
  });

  it("shows a code block when it is closed, and is complete in the end", async t => {
    const { page, body, tail, receive, end } = await open(t);
    const text = "Look:\n\n```js\nconst a = 1;\n\nconst b = 2;\n```\n\nAnd `more`";
    await receive(text.slice(0, 35));
    await tail.filter({ hasText: "const a = 1;\n\n" }).waitFor();
    assert.equal(await body.locator("code").count(), 0);
    await receive(text.slice(35));
    await body.locator("code", { hasText: "const b" }).waitFor();
    assert.equal(await body.locator("code").textContent(), "const a = 1;\n\nconst b = 2;\n");
    assert.equal(await tail.textContent(), "And `more`");
    await end(text);
    await page.locator("[data-state=expanded] .markdown code", { hasText: "more" }).waitFor();
    assert.equal(await tail.count(), 0);
  });

  it("keeps the newest paragraphs in the page, however many there were", async t => {
    const { body, tail, receive } = await open(t);
    const texts = Array.from({ length: 300 }, (_, n) => `**paragraph** ${n}\n\n`);
    await receive(...texts, "the end");
    await tail.filter({ hasText: "the end" }).waitFor();
    await body.locator("p", { hasText: "paragraph 299" }).waitFor();
    assert.equal(await body.locator(".piece").count(), 20);
  });

  it("is harmless, wherever hostile Markdown is cut", async t => {
    const { page, body, tail, receive } = await open(t);
    const hostile = [
      "**It** begins <img src=x onerror=hacked=1>",
      "<script>\n\nhacked=1\n\n</script>",
      "[click](javascript:hacked=1) and [this][a]",
      "[a]: javascript:hacked=1",
      "![](x onerror=hacked=1)",
      "```<b>\n</code></pre><img src=x onerror=hacked=1>\n\n<iframe srcdoc='<script>top.hacked=1</script>'>\n```",
      "- <svg onload=hacked=1>\n\n  <style>*{display:none}</style>",
      "> ```\n> <form action=/api/stop><button>x</button></form>\n> ```",
      "&lt;img src=x onerror=hacked=1&gt; [x](data:text/html,<script>hacked=1</script>)",
    ].join("\n\n");
    for (const size of [1, 7, hostile.length]) {
      const deltas = hostile.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
      await receive(...deltas, `\n\nend ${size}`);
      await tail.filter({ hasText: `end ${size}` }).waitFor();
      await receive("\n\n");
      await body.locator("p", { hasText: `end ${size}` }).waitFor();
    }
    const dangers = body.locator("script, img, iframe, svg, style, form, [onerror], [onload], a:not([rel])");
    assert.equal(await dangers.count(), 0);
    assert.equal(await page.evaluate("typeof hacked"), "undefined");
  });
});

describe("Markdown that arrives", () => {
  it("is cut between paragraphs, but neither in a code block nor in a list, whatever comes with whatever", async t => {
    const { page } = await open(t);
    const parts = [
      "# One\ntwo\n\n",
      "Three:\n- four\n\n- five\n\n  six\n\n",
      "Seven\n\n",
      "~~~~\n```\n\n~~~\neight\n\n~~~~\n\n",
      "1. ```js\n   nine\n\n   ten\n   ```\n\n2) eleven\n\n",
      "> ```\n> twelve\n> ```\n\n",
      "```not a fence```\n\n",
      "```\n\nthirteen",
    ];
    const text = parts.join("");
    for (const size of [1, 2, 5, 13, text.length])
      assert.deepEqual(await cut(page, text, size), parts, `in parts of ${size}`);
  });

  it("takes no more room and time than it has length, with no end in sight", async t => {
    const { page } = await open(t);
    for (const text of ["x".repeat(3_000_000), `\`\`\`\n${"x\n\n".repeat(700_000)}`]) {
      const [rest = "", ...others] = await cut(page, text, 1_000);
      assert.deepEqual(others, []);
      assert.ok(rest.length >= 40_000 && rest.length < 200_000, `${rest.length} characters are kept`);
    }
  });
});
