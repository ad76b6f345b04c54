import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { sharedPortalWithEntry } from "../support/jobs/jobs.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { entry } from "../support/pages/jobPages.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortalWithEntry(entry);

/** What scripts and tests of the first portal look for, and what kind of element each is. */
const names = {
  start: {
    "#setup-ui": "MAIN",
    "#session-ui": "MAIN",
    "#model-select": "SELECT",
    "#working-dir": "INPUT",
    "#jobs-button": "BUTTON",
    "#refresh-button": "BUTTON",
    "#start-button": "BUTTON",
    "#running-jobs-list": "UL",
  },
  session: {
    "#session-part": "DIV",
    "#request-part": "FORM",
    "#task-select": "SELECT",
    "#request-textarea": "TEXTAREA",
    "#send-button": "BUTTON",
    "#stop-server-button": "BUTTON",
    "#close-session-button": "BUTTON",
    "#resize-bar": "DIV",
    ".message-block.completed": "DIV",
    ".message-block.completed.collapsed": "DIV",
  },
  jobs: {
    "#left-part": "SECTION",
    "#right-part": "FORM",
    "#matrix-table": "TABLE",
    ".matrix-job-btn[data-job-name]": "BUTTON",
    ".matrix-job-btn.selected": "BUTTON",
    "#user-input-textarea": "TEXTAREA",
    "#start-job-button": "BUTTON",
    "#preview-button": "BUTTON",
  },
  tracking: {
    "#job-part": "SECTION",
    "#session-response-part": "SECTION",
    ".tab-container": "DIV",
    ".tab-container .selected": "BUTTON",
    ".node.selected": "g",
    "#job-status-label": "DIV",
    "#stop-job-button": "BUTTON",
  },
};

describe("the names of the first portal", () => {
  it("are those of the pages", async t => {
    const { portal, workingDirectory, startSession, startJob } = await portalOf(t);
    const { page } = await openPage(t, browser, portal.url);
    const check = async (wanted: Record<string, string>) => {
      const found = await Promise.all(
        Object.keys(wanted).map(async name => [
          name,
          await page
            .locator(name)
            .first()
            .evaluate(one => one.tagName),
        ]),
      );
      assert.deepEqual(Object.fromEntries(found), wanted);
    };
    await page.locator("#start-button:enabled").waitFor();
    await page.locator("#refresh-button").click();
    await check(names.start);

    await page.goto(`${portal.url}/index.html?session=${await startSession()}`);
    await page.locator("#request-textarea").fill("Hello");
    await page.locator("#send-button").click();
    await page.locator("[data-type=Message].completed .message-block-toggle").click();
    await check(names.session);

    await page.goto(`${portal.url}/jobs.html?wb=${encodeURIComponent(workingDirectory)}`);
    await page.locator(".matrix-job-btn[data-job-name=plain]").click();
    assert.equal(await page.locator("#start-job-button").textContent(), "Start Job: plain");
    await check(names.jobs);

    await page.goto(`${portal.url}/jobTracking.html?jobName=plain&jobId=${await startJob("plain")}`);
    await page.locator("#job-status-label", { hasText: "SUCCEEDED" }).waitFor();
    await page.locator(".node[data-work-id]").first().click();
    await check(names.tracking);
    const nodes = await page.evaluate(`(async () => {
      const { chart } = await (await fetch("/api/copilot/job", { headers: { "X-Portal-Page": "1" } })).json();
      const container = document.createElement("div");
      document.body.append(container);
      await window.renderFlowChartMermaid(chart.plain, container);
      return container.querySelectorAll(".node[data-work-id]").length;
    })()`);
    assert.equal(nodes, 1);
  });
});
