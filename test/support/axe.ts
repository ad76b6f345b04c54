import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const { source } = createRequire(import.meta.url)("axe-core") as { source: string };

interface AxeResult {
  violations: { id: string; help: string; nodes: { target: string[]; failureSummary: string }[] }[];
}

/** Fails and lists every place where the page breaks WCAG 2.2 A or AA, including contrast. */
export async function assertAccessible(page: Page, where: string): Promise<void> {
  await page.evaluate(source);
  const { violations } = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
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
