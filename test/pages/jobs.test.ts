import assert from "node:assert/strict";
import { before, describe, it, type TestContext } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { assertFits, inEveryTheme } from "../support/axe.js";
import { openPage, sharedBrowser } from "../support/browser.js";
import { type EntryOfTest, portalWithEntry, sharedPortalWithEntry, task } from "../support/jobs.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const model = { category: "driving" };
const entry: EntryOfTest = {
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

const jobsPortal = sharedPortalWithEntry(entry);

async function open(
  t: TestContext,
  address: (folder: string) => string,
  options: BrowserContextOptions = {},
) {
  const parts = await jobsPortal(t);
  const { page, problems } = await openPage(
    t,
    browser,
    `${parts.portal.url}${address(parts.workingDirectory)}`,
    options,
  );
  t.after(() => assert.deepEqual(problems, []));
  return { ...parts, page };
}

const openJobs = (t: TestContext) => open(t, folder => `/jobs.html?wb=${encodeURIComponent(folder)}`);

async function openTracking(
  t: TestContext,
  jobName: string,
  input = "",
  options: BrowserContextOptions = {},
  portal = jobsPortal(t),
) {
  const parts = await portal;
  const jobId = await parts.startJob(jobName, input);
  const address = `/jobTracking.html?jobName=${encodeURIComponent(jobName)}&jobId=${jobId}`;
  const { page, problems } = await openPage(t, browser, `${parts.portal.url}${address}`, options);
  t.after(() => assert.deepEqual(problems, []));
  return { ...parts, page, jobId, address };
}

const labelled = (page: Page, status: string) =>
  page.locator("#job-status-label", { hasText: `JOB: ${status}` }).waitFor();
const node = (page: Page, workId: number) => page.locator(`.node[data-work-id="${workId}"]`);
const nodeIs = (page: Page, workId: number, status: string) =>
  page.locator(`.node[data-work-id="${workId}"][data-status="${status}"]`).waitFor();
const titles = (page: Page) => page.locator("#panel .message-block-title").allTextContents();

describe("the jobs page", () => {
  it("opens with the last folder when its address names none, and goes to the start page when there is none", async t => {
    const { page, portal } = await open(t, () => "/jobs.html");
    await page.waitForURL(`${portal.url}/index.html`);
    await page.evaluate("localStorage.setItem('folders', JSON.stringify(['/tmp', '/']))");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.locator("#directory", { hasText: /^\/tmp$/ }).waitFor();
    await page.getByRole("button", { name: "Plain" }).waitFor();
  });

  it("shows the grid with blank cells for holes, and shows names unchanged", async t => {
    const { page } = await openJobs(t);
    await page.getByRole("button", { name: "Plain" }).waitFor();
    const rows = await page
      .locator("#matrix-table tr")
      .evaluateAll(all => all.map(row => [...row.children].map(cell => cell.textContent)));
    assert.deepEqual(rows, [
      ["Small", "Plain", "", "Loop"],
      ["Large <b>", "", "Held", ""],
      ["Odd", "Fails", "<i>Hostile", ""],
    ]);
    assert.equal(await page.getByRole("heading", { name: "Available Jobs" }).count(), 1);
  });

  it("has exclusive job buttons that name the job to start, and an input box only when it is needed", async t => {
    const { page } = await openJobs(t);
    const start = page.locator("#start-job-button");
    const pressed = () => page.locator("#matrix-table [aria-pressed=true]").allTextContents();
    await page.getByRole("button", { name: "Plain" }).waitFor();
    assert.deepEqual([await start.textContent(), await start.isDisabled()], ["Job Not Selected", true]);
    assert.equal(await page.getByRole("button", { name: "Preview" }).isDisabled(), true);
    await page.getByRole("button", { name: "Plain" }).click();
    assert.deepEqual([await start.textContent(), await pressed()], ["Start Job: plain", ["Plain"]]);
    assert.equal(await page.getByLabel("User Input").isDisabled(), true);
    await page.getByRole("button", { name: "Held" }).click();
    assert.deepEqual([await start.textContent(), await pressed()], ["Start Job: held", ["Held"]]);
    assert.equal(await page.getByLabel("User Input").isEnabled(), true);
    await page.getByRole("button", { name: "Held", exact: true }).click();
    assert.deepEqual([await start.textContent(), await pressed()], ["Job Not Selected", []]);
    const widthOf = async (part: string) => Math.round((await page.locator(part).boundingBox())?.width ?? 0);
    await page.setViewportSize({ width: 1440, height: 800 });
    assert.equal(await widthOf("#right-part"), 800, "where there is room");
    for (const width of [1280, 1024]) {
      await page.setViewportSize({ width, height: 800 });
      assert.ok((await widthOf("#right-part")) > 320, `${width} px`);
      const [wanted, there] = await page
        .locator("#left-part .rest")
        .evaluate(one => [one.scrollWidth, one.clientWidth]);
      assert.ok(Number(wanted) <= Number(there), `the grid takes ${wanted} of ${there} px at ${width} px`);
    }
  });

  it("shows what a chosen job is for and its plan, and filters the grid", async t => {
    const { page } = await openJobs(t);
    await page.getByRole("button", { name: "Held" }).waitFor();
    await page.getByLabel("Filter the jobs").fill("hel");
    assert.deepEqual(await page.locator("#matrix-table button:visible").allTextContents(), ["Held"]);
    await page.getByRole("button", { name: "Held" }).click();
    await page.getByText("Waits for a <b>gate</b>.").waitFor();
    await page.locator("#about td", { hasText: "checked" }).waitFor();
    assert.equal(await page.locator("#about .notice").count(), 0, "the input is not missing yet");
    await page.getByLabel("Filter the jobs").fill("");
    await page.getByRole("button", { name: "Plain" }).click();
    await page.locator("#description").waitFor({ state: "hidden" });
  });

  it("starts a job in a new window, and says what is missing", async t => {
    const { page, portal, puppet } = await openJobs(t);
    await page.getByRole("button", { name: "Held" }).click();
    await page.getByRole("button", { name: "Start Job: held" }).click();
    await page.locator("#startError", { hasText: "needs your input" }).waitFor();
    await page.getByLabel("User Input").fill("gate");
    const opened = page.context().waitForEvent("page", { predicate: window => window !== page });
    await page.getByRole("button", { name: "Start Job: held" }).click();
    const tracking = await opened;
    await tracking.waitForURL(/\/jobTracking\.html\?jobName=held&jobId=.+/);
    await labelled(tracking, "RUNNING");
    assert.equal(new URL(tracking.url()).origin, new URL(portal.url).origin);
    puppet.release("gate");
    await labelled(tracking, "SUCCEEDED");
  });

  it("previews the commands that the portal will run, also those that a task reports", async t => {
    const { page } = await open(t, folder => `/jobTracking.html?jobName=reported&wb=${folder}`);
    await page.getByText("reported, before it starts: git status").waitFor();
    await page.getByText("reported, after each attempt: what the task reporting reports").waitFor();
  });

  it("previews a job as its chart and its plan, and runs nothing", async t => {
    const { page, puppet } = await openJobs(t);
    await page.getByRole("button", { name: "Held" }).click();
    const opened = page.context().waitForEvent("page", { predicate: window => window !== page });
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = await opened;
    await labelled(preview, "PREVIEW");
    await node(preview, 2).waitFor();
    assert.equal(await preview.locator("#stop-job-button").isVisible(), false);
    await preview.getByRole("heading", { name: "Plan" }).waitFor();
    const rows = await preview.locator("#panel tbody tr").allTextContents();
    assert.deepEqual(
      rows.map(row => /checked|held|plain/.exec(row)?.[0]),
      ["checked", "held", "plain"],
    );
    await preview.getByText("Definition").waitFor();
    assert.equal(puppet.prompts.length, 0);
  });
});

describe("a job on its chart", () => {
  it("goes to the start page without a job name, and says when the job is gone", async t => {
    const { page, portal } = await open(t, () => "/jobTracking.html");
    await page.waitForURL(`${portal.url}/index.html`);
    await page.goto(`${portal.url}/jobTracking.html?jobName=plain&jobId=never`);
    await page.locator("#problem", { hasText: "This job" }).waitFor();
    await page.goto(`${portal.url}/jobTracking.html?jobName=nothing`);
    await page.locator("#problem", { hasText: "There is no job nothing." }).waitFor();
  });

  it("shows each task's state, and its sessions as tabs: driving first, then the attempts", async t => {
    const { page, puppet } = await openTracking(t, "held", "gate");
    await nodeIs(page, 1, "Running");
    await nodeIs(page, 0, "Succeeded");
    assert.match((await node(page, 0).locator(".detail").textContent()) ?? "", /^succeeded, 2 attempts, /);
    assert.match((await node(page, 1).locator(".detail").textContent()) ?? "", /^attempt 1 of 1, /);
    assert.equal(await node(page, 2).getAttribute("data-status"), null);

    await node(page, 0).click();
    const tabs = page.getByRole("tab");
    assert.deepEqual(await tabs.allTextContents(), ["Driving", "Attempt #1", "Attempt #2", "Changes"]);
    await page.locator(".message-block-title").first().waitFor();
    assert.deepEqual(
      (await titles(page)).filter(title => title.startsWith("User")),
      [
        "User (TaskDecision)",
        "User (TaskDecision)",
        "User (Task)",
        "User (TaskDecision)",
        "User (TaskDecision)",
        "User (TaskDecision)",
        "User (TaskDecision)",
        "User (Task)",
        "User (TaskDecision)",
        "User (TaskDecision)",
      ],
    );
    await page.getByText("[OPERATION] Retry 1 of 2").waitFor();
    await page.getByRole("tab", { name: "Attempt #2" }).click();
    await page.locator("[data-type=User]", { hasText: "checked work" }).waitFor();
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.getByRole("tab", { selected: true }).textContent(), "Attempt #1");

    await node(page, 2).click();
    await page.getByText("This task has not started yet.").waitFor();
    puppet.release("gate");
    await labelled(page, "SUCCEEDED");
    await nodeIs(page, 2, "Succeeded");
    await page.locator("#panel [data-type=User]", { hasText: "plain work" }).waitFor();
  });

  it("looks the same in a second window, after a reload and after the end", async t => {
    const { page, portal, puppet, address } = await openTracking(t, "held", "gate");
    const picture = async (window: Page) => {
      await nodeIs(window, 0, "Succeeded");
      // The address keeps what was chosen, and a second click would choose none.
      if ((await window.locator(".node.selected").count()) === 0) await node(window, 0).click();
      await window.getByText("[TASK SUCCEEDED]").waitFor();
      return titles(window);
    };
    const live = await picture(page);
    const second = (await openPage(t, browser, `${portal.url}${address}`)).page;
    await nodeIs(second, 1, "Running");
    assert.deepEqual(await picture(second), live);
    await page.reload();
    assert.deepEqual(await picture(page), live);
    puppet.release("gate");
    await labelled(second, "SUCCEEDED");
    await page.reload();
    await labelled(page, "SUCCEEDED");
    assert.deepEqual(await picture(page), live);
  });

  it("ends with a summary of tasks, attempts and tokens, and stops at the first failure", async t => {
    const { page } = await openTracking(t, "failing");
    await labelled(page, "FAILED");
    await nodeIs(page, 0, "Succeeded");
    await nodeIs(page, 1, "Failed");
    assert.equal(await page.locator("#stop-job-button").isDisabled(), true);
    assert.match(await page.title(), /^✗ failing failed/);
    assert.equal(await page.locator("link[rel=icon]").getAttribute("href"), "/favicon-failed.svg");
    await page.locator("#rightTitle", { hasText: /^failing$/ }).waitFor();
    await page.getByText("Attempt 1 failed").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Summary" }).waitFor();
    const rows = await page
      .locator("#panel tbody tr")
      .evaluateAll(all => all.map(row => [...row.children].slice(0, 3).map(cell => cell.textContent)));
    assert.deepEqual(rows, [
      ["plain", "Succeeded", "1"],
      ["failing", "Failed", "1"],
    ]);
    await page.getByRole("button", { name: "plain", exact: true }).last().click();
    await page.locator("#rightTitle", { hasText: /^plain$/ }).waitFor();
  });

  it("follows what runs until the user chooses, and goes back to the summary, with JSON only on demand", async t => {
    const { page, puppet } = await openTracking(t, "held", "gate\nand <b>more</b>");
    const title = (text: RegExp) => page.locator("#rightTitle", { hasText: text }).waitFor();
    await title(/^held$/);
    await page.locator("#panel [data-type=User]", { hasText: "held work" }).waitFor();
    assert.equal(await page.locator(".node.selected").count(), 0);
    await page.getByText("gate", { exact: true }).first().click();
    assert.equal(await page.locator("#input p").textContent(), "gate\nand <b>more</b>");
    await page.locator(".flow-chart-view").click({ position: { x: 5, y: 200 } });
    await title(/^Summary$/);
    assert.equal(await page.locator("#panel pre").count(), 0);
    await page.getByText("Definition").click();
    await page.locator("#panel pre", { hasText: '"kind": "Seq"' }).first().waitFor();
    await node(page, 0).click();
    await title(/^checked$/);
    await node(page, 0).click();
    await title(/^held$/);
    await page.keyboard.press("Escape");
    await title(/^Summary$/);
    // What turns is never at rest.
    for (let n = 0; n < 2; n++) await node(page, 1).click({ force: true });
    puppet.release("gate");
    await labelled(page, "SUCCEEDED");
    await title(/^Summary$/);
  });

  it("keeps the view, the task, the round and the attempt in its address", async t => {
    const { page } = await openTracking(t, "rounds");
    await labelled(page, "SUCCEEDED");
    await page.getByRole("button", { name: "Time line" }).click();
    await page.locator(".timeline-row", { hasText: "condition" }).first().click();
    await page.getByRole("tab", { name: "Attempt #1" }).click();
    await page.waitForURL(({ searchParams }) => searchParams.get("tab") === "Attempt #1");
    const { searchParams } = new URL(page.url());
    assert.deepEqual(
      ["view", "node", "round"].map(name => searchParams.get(name)),
      ["timeline", "1", "1"],
    );
    await page.reload();
    await page.locator("#rightStatus", { hasText: "Failed" }).waitFor();
    assert.equal(await page.getByRole("tab", { selected: true }).textContent(), "Attempt #1");
    assert.equal(await page.locator("#timeline").isVisible(), true);
    assert.equal(await page.locator("#chart").isVisible(), false);
    await page.getByRole("button", { name: "Chart" }).click();
    await page.keyboard.press("Escape");
    await page.waitForURL(/jobId=[^&]+$/);
  });

  it("lists what happened in the order of time, and what the job changed", async t => {
    const { page } = await openTracking(t, "held", "later");
    await nodeIs(page, 1, "Running");
    await page.getByRole("button", { name: "Log", exact: true }).click();
    const lines = async () =>
      (await page.locator(".log-row").allTextContents()).map(text =>
        text
          .trim()
          .replace(/\s+/g, " ")
          .replace(/^[\d:]+( [AP]M)? /, ""),
      );
    assert.deepEqual(await lines(), [
      "The job started",
      "checked started",
      "checked attempt 1 failed because time 1",
      "checked attempt 2 succeeded",
      "checked succeeded",
      "held started",
    ]);
    await page.locator(".log-row", { hasText: "attempt 2" }).getByRole("button", { name: "checked" }).click();
    await page.locator("#rightTitle", { hasText: /^checked$/ }).waitFor();
    await page.getByRole("button", { name: "Stop Job" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop Job" }).click();
    await page.locator(".log-row", { hasText: "The job canceled" }).waitFor();
    assert.equal((await lines()).at(-2), "held canceled");
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.locator("#changes").getByText("No file changed.").waitFor();
  });

  it("shows every run on the time line, including the earlier rounds of a loop", async t => {
    const { page } = await openTracking(t, "looping");
    await labelled(page, "SUCCEEDED");
    await page.getByRole("button", { name: "Time line" }).click();
    assert.deepEqual(await page.locator(".timeline .one-line").allTextContents(), ["plain", "checked"]);
    await page.locator(".timeline-row").first().click();
    await page.locator("#panel [data-type=User]", { hasText: "plain work" }).waitFor();
    await page.getByRole("button", { name: "Chart" }).click();
    assert.equal(await page.locator(".node.selected").getAttribute("data-work-id"), "0");
    await node(page, 0).click();
    await page.getByRole("heading", { name: "Summary" }).waitFor();
    assert.equal(await page.locator(".node.selected").count(), 0, "a click on the chosen node chooses none");
    await node(page, 0).click();
    await page.getByRole("heading", { name: "plain", exact: true }).waitFor();
    await page.locator(".flow-chart-view").click({ position: { x: 5, y: 200 } });
    await page.getByRole("heading", { name: "Summary" }).waitFor();
  });

  it("opens each round of a loop, failed ones too, from the chart and from the time line", async t => {
    const { page } = await openTracking(t, "rounds");
    await labelled(page, "SUCCEEDED");
    await node(page, 1).click();
    const rounds = page.getByRole("group", { name: "Rounds" }).getByRole("button");
    assert.deepEqual(await rounds.allTextContents(), ["Round 1: failed", "Round 2: succeeded"]);
    assert.match((await node(page, 1).locator(".detail").textContent()) ?? "", /^round 2, true, 1 attempt, /);
    await page.locator("#rightStatus", { hasText: "Succeeded" }).waitFor();
    await rounds.first().click();
    await page.locator("#rightStatus", { hasText: "Failed" }).waitFor();
    assert.equal(await rounds.first().getAttribute("aria-pressed"), "true");
    await nodeIs(page, 1, "Succeeded");
    await page.getByRole("button", { name: "Time line" }).click();
    const rows = page.locator(".timeline-row", { hasText: "condition" });
    await rows.nth(1).click();
    await page.locator("#rightStatus", { hasText: "Succeeded" }).waitFor();
    assert.deepEqual(await rows.evaluateAll(all => all.map(row => row.getAttribute("aria-pressed"))), [
      "false",
      "true",
    ]);
  });

  it("keeps the verdict of a task in a session after a reload, and chooses no task for the next request", async t => {
    const { portal, startSession } = await jobsPortal(t);
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${await startSession()}`);
    const choice = page.getByLabel("Choose a Task:");
    await choice.selectOption("failing");
    await page.getByRole("button", { name: "Send" }).click();
    const verdict = page.locator("#sessionTask");
    await page.locator("#sessionTask[data-status=Failed]").waitFor();
    assert.equal(await choice.inputValue(), "");
    await page.reload();
    await page.locator("#sessionTask[data-status=Failed]").waitFor();
    assert.equal(await verdict.textContent(), "failing: failed");
  });

  it("tells two runs of a job apart by their input", async t => {
    const { page, portal, startJob } = await openTracking(t, "named", "the red one\nin detail");
    await startJob("named", "the blue one");
    await page.goto(portal.url);
    for (const input of ["the red one", "the blue one"])
      await page.locator(".history-item", { hasText: input }).waitFor();
    assert.equal(await page.locator(".history-item", { hasText: "in detail" }).count(), 0);
  });

  it("stops after one question", async t => {
    const { page } = await openTracking(t, "held", "gate");
    await nodeIs(page, 1, "Running");
    await page.getByRole("button", { name: "Stop Job" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop Job" }).click();
    await labelled(page, "CANCELED");
    await nodeIs(page, 1, "Canceled");
  });

  it("continues under the open page after a kill of the server, and waits to be continued after a stop", async t => {
    const { page, portal, puppet } = await openTracking(t, "held", "gate", {}, portalWithEntry(t, entry));
    await nodeIs(page, 1, "Running");
    await node(page, 0).click();
    const before = await titles(page);
    // The job has its own copy of the entry: the portal may come back without one.
    const args = ["--test", "--port", new URL(portal.url).port];
    await portal.kill("SIGKILL");
    await page.getByText("The server cannot be reached.").waitFor();
    await portal.restart({ args });
    await page.getByText("The server cannot be reached.").waitFor({ state: "detached" });
    assert.deepEqual(await titles(page), before);
    await labelled(page, "RUNNING");
    await portal.stop();
    await portal.restart({ args });
    await labelled(page, "PAUSED");
    puppet.release("gate");
    await page.getByRole("button", { name: "Continue" }).click();
    await labelled(page, "SUCCEEDED");
  });

  it("shows hostile names and prompts as text", async t => {
    const { page } = await openTracking(t, "<b>hostile");
    await labelled(page, "SUCCEEDED");
    await node(page, 0).click();
    await page.locator("#panel .message-block").nth(3).waitFor();
    assert.equal(await page.locator("#jobName").textContent(), "<b>hostile");
    assert.equal(await page.locator("main b b, main img, main script").count(), 0);
  });

  it("shows one part at a time on a phone, with a way back", async t => {
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page } = await openTracking(t, "failing", "", phone);
    await labelled(page, "FAILED");
    assert.equal(await page.locator("#session-response-part").isVisible(), false);
    assert.equal(await page.locator("#timeline").isVisible(), true, "the time line comes first");
    await page.locator(".timeline-row", { hasText: "failing" }).tap();
    await page.getByRole("tab", { name: "Driving" }).waitFor();
    assert.equal(await page.locator("#timeline").isVisible(), false);
    await page.getByRole("button", { name: "Back" }).tap();
    await page.getByRole("button", { name: "Chart" }).tap();
    await node(page, 0).tap();
    await page.getByRole("tab", { name: "Driving" }).waitFor();
    await page.getByRole("button", { name: "Back" }).tap();
    assert.equal(await page.locator("#chart").isVisible(), true);
    await assertFits(page, "the tracking page on a phone");
  });
});

describe("the pages of jobs in light, in dark and at 360 px", () => {
  it("are readable and reachable everywhere", async t => {
    const { portal, startJob, jobLog, workingDirectory } = await jobsPortal(t);
    const jobId = await startJob("failing");
    await jobLog(jobId);
    await inEveryTheme(browser, `${portal.url}/jobs.html?wb=${workingDirectory}`, page =>
      page.getByRole("button", { name: "Held" }).click(),
    );
    await inEveryTheme(browser, `${portal.url}/jobTracking.html?jobName=held`, page =>
      node(page, 1).waitFor(),
    );
    await inEveryTheme(
      browser,
      `${portal.url}/jobTracking.html?jobName=failing&jobId=${jobId}`,
      page => labelled(page, "FAILED"),
      page => page.getByRole("button", { name: "Time line" }).click(),
      page => page.getByRole("button", { name: "Log", exact: true }).click(),
      async page => {
        await page.getByRole("button", { name: "Chart" }).click();
        await node(page, 1).click();
      },
    );
  });
});
