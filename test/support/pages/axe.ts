import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openPage } from "./browser.js";

const { source } = createRequire(import.meta.url)("axe-core") as { source: string };

interface AxeResult {
  violations: { id: string; help: string; nodes: { target: string[]; failureSummary: string }[] }[];
}

/** Fails and lists every place where the page breaks WCAG 2.2 A or AA, including contrast. */
export const assertAccessible = (page: Page, where: string) =>
  assertRules(page, where, ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]);

/** Only what depends on colours, for a page that was looked at in other colours before. */
const assertReadable = (page: Page, where: string) => assertRules(page, where, colourRules);

const colourRules = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

async function assertRules(page: Page, where: string, runOnly: object): Promise<void> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(source);
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(runOnly)} })`,
  )) as AxeResult;
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  );
  assert.deepEqual(found, [], where);
}

/** Fails when the page is wider than its window. */
export async function assertFits(page: Page, where: string): Promise<void> {
  const [wanted, there] = await page.locator("html").evaluate(html => [html.scrollWidth, html.clientWidth]);
  assert.ok(Number(wanted) <= Number(there), `${where} is ${wanted} px wide in a window of ${there} px`);
}

const screens: Record<string, BrowserContextOptions> = {
  desk: {},
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
};

/**
 * Fails when something on a page cannot be read or reached, in light, in dark or at 360 px, after each of these steps.
 * The colours of a theme are all in the style sheets, so a page that is open changes them as a new one would have them.
 */
export async function inEveryTheme(
  browser: Browser,
  url: string,
  ...steps: ((page: Page) => Promise<unknown>)[]
): Promise<void> {
  for (const [screen, options] of Object.entries(screens)) {
    const closing: (() => unknown)[] = [];
    try {
      const { page, problems } = await openPage(
        { after: close => closing.push(close) },
        browser,
        url,
        options,
      );
      for (const [at, step] of steps.entries()) {
        await step(page);
        const where = `${url}, step ${at + 1}, on a ${screen}`;
        await assertAccessible(page, where);
        await assertFits(page, where);
        if (screen !== "desk") continue;
        await page.emulateMedia({ colorScheme: "dark" });
        await assertReadable(page, `${where} in dark`);
        await page.emulateMedia({ colorScheme: "light" });
      }
      assert.deepEqual(problems, []);
    } finally {
      for (const close of closing) await close();
    }
  }
}
