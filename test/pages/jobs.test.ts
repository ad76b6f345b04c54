import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forGroup } from "../support/cleanup.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { jobPages, labelled, node } from "../support/pages/jobPages.js";

const { browser, open, openJobs } = jobPages();

describe("the jobs page", () => {
  it("opens with the last folder when its address names none, and goes to the start page when there is none", async t => {
    const { page, portal } = await open(t, () => "/jobs.html");
    await page.waitForURL(`${portal.url}/index.html`);
    await page.evaluate("localStorage.setItem('folders', JSON.stringify(['/tmp', '/']))");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.locator("#directory", { hasText: /^\/tmp$/ }).waitFor();
    await page.getByRole("button", { name: "Plain" }).waitFor();
  });

  it("previews the commands that the portal will run, also those that a task reports", async t => {
    const { page } = await open(t, folder => `/jobTracking.html?jobName=reported&wb=${folder}`);
    await page.getByText("reported, before it starts: git status").waitFor();
    await page.getByText("reported, after each attempt: what the task reporting reports").waitFor();
  });
});

describe("the jobs page of a folder", () => {
  const opened = forGroup(openJobs);

  it("shows the grid with blank cells for holes, and shows names unchanged", async () => {
    const { page } = opened();
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

  it("has exclusive job buttons that name the job to start, and an input box only when it is needed", async () => {
    const { page } = opened();
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
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it("shows what a chosen job is for and its plan, and filters the grid", async () => {
    const { page } = opened();
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

  it("previews a job as its chart and its plan, and runs nothing", async () => {
    const { page, puppet } = opened();
    await page.getByRole("button", { name: "Held" }).click();
    const shown = page.context().waitForEvent("page", { predicate: window => window !== page });
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = await shown;
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
    await preview.close();
  });

  it("starts a job in a new window, and says what is missing", async () => {
    const { page, portal, puppet } = opened();
    await page.getByRole("button", { name: "Start Job: held" }).click();
    await page.locator("#startError", { hasText: "needs your input" }).waitFor();
    await page.getByLabel("User Input").fill("gate");
    const shown = page.context().waitForEvent("page", { predicate: window => window !== page });
    await page.getByRole("button", { name: "Start Job: held" }).click();
    const tracking = await shown;
    await tracking.waitForURL(/\/jobTracking\.html\?jobName=held&jobId=.+/);
    await labelled(tracking, "RUNNING");
    assert.equal(new URL(tracking.url()).origin, new URL(portal.url).origin);
    puppet.release("gate");
    await labelled(tracking, "SUCCEEDED");
    await tracking.close();
  });

  it("lists the last runs of the chosen job below its plan, newest first, and runs one again", async () => {
    const { page, portal, runJob, workingDirectory } = opened();
    const names = ["first", "second", "third", "fourth", "fifth", "sixth"];
    for (const name of names) await runJob("plain", `${name} of six\nmore words`);
    await runJob("failing");
    await page.getByRole("button", { name: "Plain" }).click();
    const runs = page.locator("#runs li");
    await runs.filter({ hasText: "sixth of six" }).waitFor();
    const inputs = await page.locator("#runs b").allTextContents();
    assert.deepEqual(
      inputs,
      names
        .slice(1)
        .reverse()
        .map(name => `${name} of six`),
    );
    const below = async (part: string) => (await page.locator(part).boundingBox())?.y ?? 0;
    await page.locator("#plan table").waitFor();
    assert.ok((await below("#runs")) > (await below("#plan table")));
    const shown = page.context().waitForEvent("page", { predicate: window => window !== page });
    await runs.filter({ hasText: "third of six" }).getByRole("button", { name: "Run again" }).click();
    await labelled(await shown, "SUCCEEDED");
    await runs.first().filter({ hasText: "third of six" }).getByText("Succeeded").waitFor();
    await page.getByRole("button", { name: "Fails" }).click();
    const failed = runs.first();
    await failed.filter({ hasText: "(no input)" }).getByText("Failed").waitFor();
    const { jobs } = (
      await portal.api<{ jobs: { reason: string; workingDirectory: string }[] }>(
        "copilot/job/history?limit=1&jobName=failing",
      )
    ).body;
    assert.equal(jobs[0]?.workingDirectory, workingDirectory);
    await failed.getByText(jobs[0]?.reason ?? "no reason").waitFor();
    await failed.getByRole("link").click();
    await labelled(page, "FAILED");
  });

  it("can be read and reached in light, in dark and at 360 px, with the pages of its jobs", async () => {
    const { page: failed, portal, workingDirectory } = opened();
    const jobId = new URL(failed.url()).searchParams.get("jobId");
    await inEveryTheme(browser(), `${portal.url}/jobs.html?wb=${workingDirectory}`, page =>
      page.getByRole("button", { name: "Held" }).click(),
    );
    await inEveryTheme(browser(), `${portal.url}/jobTracking.html?jobName=held`, page =>
      node(page, 1).waitFor(),
    );
    await inEveryTheme(
      browser(),
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
