// The weight of the pages and how soon they show something. `npm run bench -- site`
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { packageRoot } from "../src/base/paths.js";
import type { Scope } from "../test/support/cleanup.js";
import { portalWithEntry, task } from "../test/support/jobs/jobs.js";
import { writeJob } from "../test/support/jobs/longJob.js";
import { conversation, writeSession } from "../test/support/live/longLog.js";
import { launchBrowser } from "../test/support/pages/browser.js";
import { startPortal } from "../test/support/portal/portal.js";
import { folderWith, openMs } from "./support/openPages.js";
import { absoluteRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds, repeat } from "./support/turns.js";

const blocks = 5_000;
const works = 300;

/** What the function below may use in a page. */
declare const performance: {
  getEntriesByType(
    type: string,
  ): { name: string; encodedBodySize: number; responseEnd: number; startTime: number }[];
};

/** Each page, and what a user can use when it is there. */
const pages = {
  "the start page": ["/index.html", "#start-button:enabled"],
  "a session": ["/index.html?session=long", "#session-part .message-block"],
  "the jobs page": ["/jobs.html?wb=/tmp", ".matrix-job-btn"],
  "a job": ["/jobTracking.html?jobName=long&jobId=job", "#chart svg .node"],
  "the agents page": ["/agents.html", "#noAgents:not([hidden]), #list li"],
  "the permissions page": ["/permissions.html", "#noRules:not([hidden]), #list h3"],
} as const;

/** Own scripts and styles that a page has loaded when it can be used, as they were sent. */
async function weightKb(browser: Browser, url: string, usable: string): Promise<number> {
  const page = await browser.newPage();
  await page.goto(url, { waitUntil: "commit" });
  await page.locator(usable).first().waitFor();
  const bytes = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter(({ name }) => /\.(js|css)$/.test(name) && !name.includes("/vendor/"))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  );
  await page.close();
  return bytes / 1000;
}

async function firstPaintMs(browser: Browser, url: string): Promise<number> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByType("paint").length > 0);
  const ms = await page.evaluate(() => {
    const [paint] = performance.getEntriesByType("paint");
    const [html] = performance.getEntriesByType("navigation");
    return (paint?.startTime ?? 0) - (html?.responseEnd ?? 0);
  });
  await page.close();
  return ms;
}

/** A job whose task waits for its model, so that its page needs the conversation at once. */
async function runningJobKb(scope: Scope, browser: Browser): Promise<number> {
  const held = { prompt: ["held", "@say I wait", "@wait held"], model: { category: "driving" } };
  const { portal, puppet, startJob } = await portalWithEntry(scope, {
    tasks: { held },
    jobs: { held: { work: task("held") } },
  });
  const jobId = await startJob("held");
  await puppet.arrived("held");
  const address = `${portal.url}/jobTracking.html?jobName=held&jobId=${jobId}`;
  return weightKb(browser, address, ".message-block >> text=I wait");
}

function siteKb(): number {
  const folder = join(packageRoot, "assets");
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(file => file.isFile() && /\.(js|css)$/.test(file.name))
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size / 1000, 0);
}

export async function siteRows(): Promise<Row[]> {
  return inScope(async scope => {
    const dataDir = await folderWith(scope, async store => {
      await writeSession(store, { id: "long", title: "Long" }, conversation(blocks, { isSlow: true }));
      await writeJob(store, "job", works);
    });
    const portal = await startPortal(scope, { dataDir });
    const browser = await launchBrowser();
    scope.after(() => browser.close());
    const rows = [absoluteRow("own scripts and styles of all pages", siteKb(), "KB", { atMost: 300 })];
    for (const [name, [address, usable]] of Object.entries(pages)) {
      const url = portal.url + address;
      rows.push(
        absoluteRow(
          `${name}: what it loads until it can be used`,
          await weightKb(browser, url, usable),
          "KB",
          {
            atMost: 60,
          },
        ),
        absoluteRow(
          `${name}: first paint after its HTML`,
          await repeat(fewestRounds, () => firstPaintMs(browser, url)),
          "ms",
          { atMost: 150 },
        ),
      );
    }
    rows.push(
      absoluteRow(
        "a job that runs: what it loads until its conversation is there",
        await runningJobKb(scope, browser),
        "KB",
        { atMost: 60 },
      ),
    );
    const session = `${portal.url}/index.html?session=long`;
    const job = `${portal.url}/jobTracking.html?jobName=long&jobId=job`;
    const lastNode = `#chart svg .node[data-work-id="${works - 1}"]`;
    return [
      ...rows,
      absoluteRow(
        "a finished session of 5,000 blocks: until it can be read",
        await openMs(browser, session, page => page.getByText(`Block ${blocks}.`).waitFor()),
        "ms",
        { atMost: 500 },
      ),
      absoluteRow(
        "a job of 300 works: until its page shows the chart",
        await openMs(browser, job, page => page.locator(lastNode).waitFor()),
        "ms",
        { atMost: 500 },
      ),
    ];
  });
}
