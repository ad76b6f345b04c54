import assert from "node:assert/strict";
import { before } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { Scope } from "../cleanup.js";
import { type EntryOfTest, sharedPortalWithEntry, task } from "../jobs/jobs.js";
import { openPage, sharedBrowser } from "./browser.js";

const model = { category: "driving" };
/** For all files that need jobs, so that those of a group share one portal. */
export const entry: EntryOfTest = {
  tasks: {
    plain: { prompt: ["plain work"], model },
    held: { prompt: ["held work", "@wait $user-input"], model },
    /** Its condition is checked in separate sessions, and is met at the second attempt. */
    checked: {
      prompt: ["checked work"],
      model,
      criteria: {
        condition: ["Is it done? job_boolean_true", "@false-until 2"],
        runConditionInSameSession: false,
        failureAction: { retryTimes: 2 },
      },
    },
    failing: {
      prompt: ["failing"],
      model,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
    reporting: {
      prompt: ["reporting"],
      model,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
    reported: {
      prompt: ["reported"],
      model,
      availability: { commands: [{ run: ["git", "status"] }] },
      criteria: { commands: [{ reportedBy: "reporting" }], failureAction: { retryTimes: 0 } },
    },
    named: { prompt: ["named work: $user-input"], model },
    /** Fails in the first round of its loop. */
    condition: {
      prompt: ["condition"],
      model,
      criteria: {
        condition: ["Is it over? job_boolean_true", "@false-until 2 rounds"],
        runConditionInSameSession: false,
        failureAction: { retryTimes: 0 },
      },
    },
    waits: { prompt: ["@wait job"], model },
    fails: { prompt: ["@crash"], model },
    makes: { prompt: ["makes", "@shell echo hello > made.txt"], model },
    fragile: {
      prompt: ["fragile"],
      model,
      criteria: {
        commands: [
          {
            run: ["printf '\\033[31m<b>2 tests fail</b>\\033[0m'; test -e repaired"],
            shell: true,
            name: "tests",
          },
        ],
        failureAction: { retryTimes: 1 },
      },
    },
    hostile: { prompt: ["<img src=x onerror=alert(1)> **x** [y](javascript:alert(1))"], model },
  },
  jobs: {
    plain: { work: task("plain") },
    held: {
      description: "Waits for a <b>gate</b>.",
      work: { kind: "Seq", works: [task("checked"), task("held"), task("plain")] },
    },
    failing: { work: { kind: "Seq", works: [task("plain"), task("failing"), task("plain")] } },
    looping: { work: { kind: "Loop", body: task("plain"), postCondition: [false, task("checked")] } },
    named: { work: task("named") },
    reported: { work: { kind: "Seq", works: [task("reporting"), task("reported")] } },
    rounds: { work: { kind: "Loop", body: task("plain"), postCondition: [false, task("condition")] } },
    "wait-for-me": { work: task("waits") },
    "fail-soon": { work: task("fails") },
    fragile: { work: { kind: "Seq", works: [task("makes"), task("fragile")] } },
    "<b>hostile": { work: task("hostile") },
  },
  grid: [
    {
      keyword: "Small",
      jobs: [{ name: "Plain", jobName: "plain" }, null, { name: "Loop", jobName: "looping" }],
    },
    { keyword: "Large <b>", jobs: [undefined, { name: "Held", jobName: "held" }] },
    {
      keyword: "Odd",
      jobs: [
        { name: "Fails", jobName: "failing" },
        { name: "<i>Hostile", jobName: "<b>hostile" },
      ],
    },
  ],
};

/** The pages of these jobs, on one portal. Call it at the top of the file. */
export function jobPages() {
  const browserOf = sharedBrowser();
  let browser: Browser;
  before(async () => {
    browser = await browserOf();
  });
  const jobsPortal = sharedPortalWithEntry(entry);

  async function open(t: Scope, address: (folder: string) => string, options: BrowserContextOptions = {}) {
    const parts = await jobsPortal(t);
    const { page, problems } = await openPage(
      t,
      browser,
      `${parts.portal.url}${address(parts.workingDirectory)}`,
      options,
    );
    t.after(async () => assert.deepEqual(problems, []));
    return { ...parts, page };
  }

  const openJobs = (t: Scope) => open(t, folder => `/jobs.html?wb=${encodeURIComponent(folder)}`);

  async function openTracking(
    t: Scope,
    jobName: string,
    input = "",
    options: BrowserContextOptions = {},
    portal = jobsPortal(t),
  ) {
    const parts = await portal;
    const jobId = await parts.startJob(jobName, input);
    const address = `/jobTracking.html?jobName=${encodeURIComponent(jobName)}&jobId=${jobId}`;
    const { page, problems } = await openPage(t, browser, `${parts.portal.url}${address}`, options);
    t.after(async () => assert.deepEqual(problems, []));
    return { ...parts, page, jobId, address };
  }

  return { browser: () => browser, jobsPortal, open, openJobs, openTracking };
}

export const labelled = (page: Page, status: string) =>
  page.locator("#job-status-label", { hasText: `JOB: ${status}` }).waitFor();
export const node = (page: Page, workId: number) => page.locator(`.node[data-work-id="${workId}"]`);
export const nodeIs = (page: Page, workId: number, status: string) =>
  page.locator(`.node[data-work-id="${workId}"][data-status="${status}"]`).waitFor();
export const titles = (page: Page) => page.locator("#panel .message-block-title").allTextContents();
