import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { packageRoot } from "../../src/base/paths.js";
import { byPrompt, callTool, runShell } from "../support/model/scriptedModel.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { everythingLoaded, openFreshPage, openPage, sharedBrowser } from "../support/pages/browser.js";
import { sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const everything = `# Title

Text with \`code\`, **bold** and a [link](https://example.com).

> A quote

| a | b |
| - | - |
| 1 | 2 |

\`\`\`ts
// comment
export const answer: number = 42 + "text".length;
\`\`\`
`;

const script = byPrompt({
  everything: [
    [{ reasoning: "Let me think about it." }, runShell("echo fine; exit 1")],
    [callTool("view", { path: "/no/such/file" })],
    [callTool("edit", { path: "/no/such/file", old_str: "a\nb", new_str: "a\nc" })],
    [{ text: everything }],
  ],
});

const portalOf = sharedPortal();

describe("everything is readable and reachable in light, in dark and at 360 px", () => {
  it("on the start page, with its list, a menu, a dialog and an error", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    await session.query("Say something that is long enough to be cut off at the end of its line in the list");
    await session.untilIdle();
    await inEveryTheme(
      browser,
      portal.url,
      async page => {
        await page.locator("#start-button:enabled").waitFor();
        await page.getByLabel("Working Directory").fill("/no/such/folder");
        await page.getByRole("button", { name: "Start", exact: true }).click();
        await page.locator("#workingDirectoryError", { hasText: "folder" }).waitFor();
        await page.locator("#running-jobs-list").getByLabel("More about").first().click();
      },
      async page => {
        await page.getByRole("button", { name: "Delete" }).click();
        await page.getByRole("dialog").waitFor();
      },
    );
  });

  it("in a session with every kind of block open", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    await session.query("everything");
    await session.untilIdle();
    await inEveryTheme(browser, `${portal.url}/index.html?session=${session.id}`, async page => {
      await page.locator(".hljs-keyword").first().waitFor();
      const closed = page.locator("[data-state=collapsed] > * > .message-block-toggle");
      while ((await closed.count()) > 0) await closed.first().click();
      await page.locator(".diff-line.added").waitFor();
      await page.locator("#session-part").evaluate(log => log.scrollTo(0, 0));
    });
  });

  it("when a session is gone, and on the test page and that of the only node", async t => {
    const { portal } = await portalOf(t, script);
    await inEveryTheme(browser, `${portal.url}/index.html?session=x`, page =>
      page.getByRole("heading", { name: "gone" }).waitFor(),
    );
    await inEveryTheme(browser, `${portal.url}/test.html`, page => page.getByText("Hello, world!").waitFor());
    const { nodes } = (await portal.api<{ nodes: { name: string }[] }>("copilot/nodes")).body;
    await inEveryTheme(browser, `${portal.url}/nodes.html`, async page => {
      await page.getByRole("heading", { name: `${nodes[0]?.name}` }).waitFor();
      const empty = page.locator("dd").filter({ hasText: /^$/, visible: true });
      assert.equal(await empty.count(), 0, "what has no value has no name");
    });
    await inEveryTheme(browser, `${portal.url}/none.html`, page =>
      page.getByRole("heading", { name: "There is no such page" }).waitFor(),
    );
  });
});

it("a session can be used with the keyboard alone, from the form to the answer", async t => {
  const { portal, workingDirectory } = await portalOf(t, script);
  const { page } = await openPage(t, browser, portal.url);
  await page.locator("#start-button:enabled").waitFor();
  const pressUntil = async (selector: string) => {
    for (let n = 0; n < 40 && (await page.locator(`${selector}:focus`).count()) === 0; n++)
      await page.keyboard.press("Tab");
    assert.equal(await page.locator(`${selector}:focus`).count(), 1, `${selector} is reached with Tab`);
  };
  await pressUntil("#working-dir");
  await page.keyboard.press("Control+A");
  await page.keyboard.type(workingDirectory);
  await pressUntil("#start-button");
  await page.keyboard.press("Enter");
  await page.locator("#request-textarea:focus").waitFor();
  await page.keyboard.type("hello");
  await page.keyboard.press("Control+Enter");
  await page.getByText("You said: hello").waitFor();
  await page.locator("#session-part").focus();
  await pressUntil("[data-type=User] .message-block-toggle");
  const outline = await page.locator("[data-type=User] .message-block-toggle").evaluate(button => {
    const { getComputedStyle } = button.ownerDocument.defaultView as unknown as {
      getComputedStyle(e: unknown): { outlineStyle: string; outlineWidth: string };
    };
    const { outlineStyle, outlineWidth } = getComputedStyle(button);
    return `${outlineStyle} ${outlineWidth}`;
  });
  assert.equal(outline, "solid 2px");
  await page.keyboard.press("Enter");
  await page.locator("[data-type=User][data-state=collapsed]").waitFor();
});

it("the focus stays near what had it when that goes, hides or is disabled", async t => {
  const { portal } = await portalOf(t, script);
  const { page } = await openPage(t, browser, portal.url);
  await page.locator("#start-button:enabled").waitFor();
  for (const change of ["one.remove()", "one.hidden = true", "one.disabled = true"]) {
    await page.evaluate(`const one = document.createElement("button");
      document.getElementById("startForm").append(one);
      one.focus();
      ${change};`);
    await page.locator("#startForm:focus").waitFor();
  }
  await page.locator("#working-dir").click();
  await page.mouse.click(5, 5);
  assert.equal(await page.locator("body:focus, #startForm:focus").count(), 0, "a click beside it leaves");
});

describe("the templates of the pages", () => {
  /** The content of each template of a page, by its id. */
  async function templatesOf(page: string) {
    const html = await readFile(join(packageRoot, "assets", page), "utf8");
    const found = [...html.matchAll(/<template id="(\w+)">(.*?)<\/template>/gs)];
    // A part has the same words wherever it is; how deep its heading is depends on the page.
    return found.map(([, id = "", content = ""]) => ({
      id,
      content: content.replace(/\s+/g, " ").replace(/<(\/?)h\d>/g, "<$1h>"),
    }));
  }

  it("each is there once, is used, and is the same in every page that has it", async () => {
    const folder = join(packageRoot, "assets");
    const names = await readdir(folder, { recursive: true });
    const scripts = names.filter(name => name.endsWith(".js"));
    const code = (await Promise.all(scripts.map(name => readFile(join(folder, name), "utf8")))).join("");
    const known = new Map<string, string>();
    for (const page of names.filter(name => name.endsWith(".html"))) {
      const templates = await templatesOf(page);
      const ids = templates.map(({ id }) => id);
      assert.deepEqual(ids, [...new Set(ids)], page);
      for (const { id, content } of templates) {
        assert.ok(code.includes(`"${id}"`), `${page}: ${id}`);
        assert.equal(content, known.get(id) ?? content, `${page}: ${id}`);
        known.set(id, content);
      }
    }
    assert.ok(known.size > 10, `${known.size} templates`);
  });
});

describe("the pages are small", () => {
  it("all the portal's own scripts and styles are at most 300 KB", async () => {
    const folder = join(packageRoot, "assets");
    const names = (await readdir(folder, { recursive: true })).filter(name => /\.(js|css)$/.test(name));
    assert.ok(names.length > 60, "the folders were read too");
    const sizes = await Promise.all(names.map(async name => (await stat(join(folder, name))).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes <= 300_000, `${bytes} bytes`);
  });

  it("each page loads at most 60 KB of them over the network", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    const addresses = [
      "index.html",
      `index.html?session=${session.id}`,
      "jobs.html?wb=/tmp",
      "jobTracking.html?jobName=none",
      "agents.html",
      "permissions.html",
      "nodes.html",
      "test.html",
    ];
    for (const address of addresses) {
      // What comes from a cache has no size.
      const { page } = await openFreshPage(t, browser, `${portal.url}/${address}`);
      await everythingLoaded(page);
      const loaded = await page.evaluate<{ name: string; sent: number; whole: number }[]>(`
        performance.getEntriesByType("resource")
          .filter(({ name }) => /^\\/(?!vendor\\/).*\\.(js|css)$/.test(new URL(name).pathname))
          .map(({ name, encodedBodySize: sent, decodedBodySize: whole }) => ({ name, sent, whole }))`);
      const sent = loaded.reduce((sum, one) => sum + one.sent, 0);
      assert.ok(loaded.length > 0, `${address} loads something`);
      assert.ok(sent <= 60_000, `${address} loads ${sent} bytes`);
      t.diagnostic(`${address.slice(0, 20)}: ${sent} bytes in ${loaded.length} files`);
    }
  });
});
