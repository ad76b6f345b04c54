import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { forGroup } from "../support/cleanup.js";
import { portalWithEntry } from "../support/jobs/jobs.js";
import { assertFits } from "../support/pages/axe.js";
import { openFreshPage, openPage } from "../support/pages/browser.js";
import { entry, jobPages, labelled, node, nodeIs, titles } from "../support/pages/jobPages.js";

const { browser, jobsPortal, open, openTracking } = jobPages();

/** The lines of the log without their times. */
const logLines = async (page: Page) =>
  (await page.locator(".log-row").allTextContents()).map(text =>
    text
      .trim()
      .replace(/\s+/g, " ")
      .replace(/^[\d:]+( [AP]M)? /, ""),
  );

describe("a job on its chart", () => {
  it("goes to the start page without a job name, and says when the job is gone", async t => {
    const { page, portal } = await open(t, () => "/jobTracking.html");
    await page.waitForURL(`${portal.url}/index.html`);
    await page.goto(`${portal.url}/jobTracking.html?jobName=plain&jobId=never`);
    await page.locator("#problem", { hasText: "This job" }).waitFor();
    await page.goto(`${portal.url}/jobTracking.html?jobName=nothing`);
    await page.locator("#problem", { hasText: "There is no job nothing." }).waitFor();
  });

  it("keeps the verdict of a task in a session after a reload, and chooses no task for the next request", async t => {
    const { portal, startSession } = await jobsPortal(t);
    const { page } = await openPage(t, browser(), `${portal.url}/index.html?session=${await startSession()}`);
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
    const { portal, startJob } = await jobsPortal(t);
    await startJob("named", "the red one\nin detail");
    await startJob("named", "the blue one");
    const { page } = await openPage(t, browser(), portal.url);
    for (const input of ["the red one", "the blue one"])
      await page.locator(".history-item", { hasText: input }).waitFor();
    assert.equal(await page.locator(".history-item", { hasText: "in detail" }).count(), 0);
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
    await page.getByText("The server cannot be reached.").waitFor({ state: "hidden" });
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
});

describe("the page of a job that waits for its input", () => {
  const opened = forGroup(scope => openTracking(scope, "held", "gate\nand <b>more</b>"));
  const picture = async (window: Page) => {
    await nodeIs(window, 0, "Succeeded");
    // The address keeps what was chosen, and a second click would choose none.
    if ((await window.locator(".node.selected").count()) === 0) await node(window, 0).click();
    await window.getByText("[TASK SUCCEEDED]").waitFor();
    return titles(window);
  };

  it("follows what runs until the user chooses, and goes back to the summary, with JSON only on demand", async () => {
    const { page } = opened();
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
  });

  it("lists what happened in the order of time, and leads to the task of each line", async () => {
    const { page } = opened();
    await page.getByRole("button", { name: "Log", exact: true }).click();
    assert.deepEqual(await logLines(page), [
      "The job started",
      "checked started",
      "checked attempt 1 failed because time 1",
      "checked attempt 2 succeeded",
      "checked succeeded",
      "held started",
    ]);
    await page.locator(".log-row", { hasText: "attempt 2" }).getByRole("button", { name: "checked" }).click();
    await page.locator("#rightTitle", { hasText: /^checked$/ }).waitFor();
    await page.getByRole("button", { name: "Chart", exact: true }).click();
    await page.keyboard.press("Escape");
  });

  it("shows each task's state, and its sessions as tabs: driving first, then the attempts", async () => {
    const { page } = opened();
    await nodeIs(page, 1, "Running");
    await nodeIs(page, 0, "Succeeded");
    assert.match((await node(page, 0).locator(".detail").textContent()) ?? "", /^succeeded, 2 attempts, /);
    assert.match((await node(page, 1).locator(".detail").textContent()) ?? "", /^attempt 1 of 1, /);
    assert.equal(await node(page, 2).getAttribute("data-status"), null);

    await node(page, 0).click();
    const tabs = page.getByRole("tab");
    assert.deepEqual(await tabs.allTextContents(), ["Overview", "Attempt #1", "Attempt #2", "Changes"]);
    assert.equal(await tabs.first().getAttribute("value"), "Driving");
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
  });

  it("loads at most 60 KB of the portal's own scripts and styles before its conversation is there", async t => {
    const { portal, jobId } = opened();
    // What comes from a cache has no size.
    const { page } = await openFreshPage(t, browser(), `${portal.url}/jobTracking.html?jobId=${jobId}`);
    await page.locator("#panel .message-block").first().waitFor();
    const bytes = await page.evaluate<number>(`performance.getEntriesByType("resource")
      .filter(({ name }) => /\\.(js|css)$/.test(name) && !name.includes("/vendor/"))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
    assert.ok(bytes > 30_000 && bytes <= 60_000, `${bytes} bytes`);
  });

  it("looks the same in a second window, after a reload and after the end, and what was chosen shows what it does", async t => {
    const { page, portal, puppet, address } = opened();
    await page.keyboard.press("Escape");
    const live = await picture(page);
    const second = (await openPage(t, browser(), `${portal.url}${address}`)).page;
    await nodeIs(second, 1, "Running");
    assert.deepEqual(await picture(second), live);
    await page.reload();
    assert.deepEqual(await picture(page), live);

    // What turns is never at rest.
    for (let n = 0; n < 2; n++) await node(page, 1).click({ force: true });
    await node(second, 2).click();
    await second.getByText("This task has not started yet.").waitFor();
    puppet.release("gate");
    await labelled(page, "SUCCEEDED");
    await page.locator("#rightTitle", { hasText: /^Summary$/ }).waitFor();
    await labelled(second, "SUCCEEDED");
    await nodeIs(second, 2, "Succeeded");
    await second.locator("#panel [data-type=User]", { hasText: "plain work" }).waitFor();
    await page.reload();
    await labelled(page, "SUCCEEDED");
    assert.deepEqual(await picture(page), live);
  });
});

it("a job stops after one question, and its log and its changes say how it ended", async t => {
  const { page } = await openTracking(t, "held", "later");
  await nodeIs(page, 1, "Running");
  await page.getByRole("button", { name: "Stop Job" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop Job" }).click();
  await labelled(page, "CANCELED");
  await nodeIs(page, 1, "Canceled");
  await page.getByRole("button", { name: "Log", exact: true }).click();
  await page.locator(".log-row", { hasText: "The job canceled" }).waitFor();
  assert.equal((await logLines(page)).at(-2), "held canceled");
  await page.getByRole("button", { name: "Changes", exact: true }).click();
  await page.locator("#changes").getByText("No file changed.").waitFor();
});

describe("the page of a job that failed", () => {
  const input = "a greeting that is kind to everybody, also at night, ".repeat(5);
  const opened = forGroup(scope => openTracking(scope, "failing", input));

  it("ends with a summary of tasks, attempts and tokens, and stops at the first failure", async () => {
    const { page } = opened();
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

  it("leaves the chart half of a window that has no room for 800 px beside it, until the bar is moved", async () => {
    const { page } = opened();
    const widthOf = async (selector: string) => (await page.locator(selector).boundingBox())?.width ?? 0;
    const [chart, side] = [await widthOf("#chart"), await widthOf("#session-response-part")];
    assert.ok(chart > 500 && Math.abs(chart - side) < 20, `${chart} and ${side}`);
    await page.locator("#bar").press("ArrowLeft");
    assert.equal(await widthOf("#session-response-part"), side + 20);
    await page.setViewportSize({ width: 2400, height: 800 });
    await page.reload();
    assert.equal(await widthOf("#session-response-part"), 800);
  });

  it("keeps the buttons of a failed job in one line beside a long reason, and fits a phone with a long input", async () => {
    const { page } = opened();
    await page.setViewportSize({ width: 1280, height: 800 });
    await labelled(page, "FAILED");
    // After a reload it comes a little later than the label.
    await page.locator("#retryJob").waitFor();
    await page.locator("#reason").evaluate(reason => {
      reason.textContent = "It cannot do or judge this, and says so in many words. ".repeat(3);
    });
    const topOf = async (selector: string) => (await page.locator(selector).boundingBox())?.y;
    assert.equal(await topOf("#retryJob"), await topOf("#stop-job-button"));
    await page.setViewportSize({ width: 390, height: 800 });
    await assertFits(page, "the job");
  });

  it("shows one part at a time on a phone, with a way back", async t => {
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { portal, address } = opened();
    const { page, problems } = await openPage(t, browser(), `${portal.url}${address}`, phone);
    await labelled(page, "FAILED");
    assert.equal(await page.locator("#session-response-part").isVisible(), false);
    assert.equal(await page.locator("#timeline").isVisible(), true, "the time line comes first");
    await page.locator(".timeline-row", { hasText: "failing" }).tap();
    await page.getByRole("tab", { name: "Overview" }).waitFor();
    assert.equal(await page.locator("#timeline").isVisible(), false);
    await page.getByRole("button", { name: "Back" }).tap();
    await page.getByRole("button", { name: "Chart" }).tap();
    await node(page, 0).tap();
    await page.getByRole("tab", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Back" }).tap();
    assert.equal(await page.locator("#chart").isVisible(), true);
    await assertFits(page, "the tracking page on a phone");
    assert.deepEqual(problems, []);
  });
});

describe("the page of a job that went round a loop", () => {
  const opened = forGroup(scope => openTracking(scope, "rounds"));

  it("opens each round of a loop, failed ones too, from the chart and from the time line", async () => {
    const { page } = opened();
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
    await rows.nth(1).and(page.locator("[aria-pressed=true]")).waitFor();
    await page.locator("#rightStatus", { hasText: "Succeeded" }).waitFor();
    assert.deepEqual(await rows.evaluateAll(all => all.map(row => row.getAttribute("aria-pressed"))), [
      "false",
      "true",
    ]);
  });

  it("shows every run on the time line, including the earlier rounds of a loop", async () => {
    const { page } = opened();
    await page.getByRole("button", { name: "Time line" }).click();
    assert.deepEqual(await page.locator(".timeline .one-line").allTextContents(), [
      "plain",
      "condition",
      "plain",
      "condition",
    ]);
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

  it("keeps the view, the task, the round and the attempt in its address", async () => {
    const { page } = opened();
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
});
