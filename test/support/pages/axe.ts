import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { openPage } from "./browser.js";

/** The short form of the same rules: a browser reads it in half the time. */
const { source } = createRequire(import.meta.url)("axe-core/axe.min.js") as { source: string };

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
  // Who asks for all that is right too waits for the address of every element of the page.
  const options = { runOnly, resultTypes: ["violations"] };
  const { violations } = await page.evaluate<AxeResult>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => ({ violations }))`,
  );
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

const phone = {
  viewport: { width: 360, height: 740 },
  hasTouch: true,
  isMobile: true,
};
const desk = { width: 1280, height: 800 };

/**
 * Fails when something on a page cannot be read or reached, in light, in dark or at 360 px, after each of these steps.
 * The steps are done on a phone, where it is hardest to reach anything and no other test goes; the same page is then
 * looked at as it is on a desk. The sizes and colours are all in the style sheets, so an open page changes as a new one
 * would be.
 */
export async function inEveryTheme(
  browser: Browser,
  url: string,
  ...steps: ((page: Page) => Promise<unknown>)[]
): Promise<void> {
  const closing: (() => unknown)[] = [];
  try {
    const { page, problems } = await openPage({ after: close => closing.push(close) }, browser, url, phone);
    for (const [at, step] of steps.entries()) {
      const where = `${url}, step ${at + 1}`;
      await step(page);
      await assertAccessible(page, `${where}, on a phone`);
      await assertFits(page, `${where}, on a phone`);
      await page.setViewportSize(desk);
      await assertAccessible(page, `${where}, on a desk`);
      await assertFits(page, `${where}, on a desk`);
      await page.emulateMedia({ colorScheme: "dark" });
      await assertReadable(page, `${where}, in dark`);
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize(phone.viewport);
    }
    assert.deepEqual(problems, []);
  } finally {
    for (const close of closing) await close();
  }
}
