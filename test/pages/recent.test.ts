import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type EntryOfTest, sharedPortalWithEntry, task } from "../support/jobs/jobs.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { seen } from "../support/seen.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const model = { category: "driving" };
const entry: EntryOfTest = {
  tasks: {
    "a-task-that-changes-one-file-twice": {
      prompt: ["twice", "@shell echo x >> made.txt"],
      model,
      criteria: {
        commands: [{ run: ["test $(wc -l < made.txt) -ge 2"], shell: true, name: "lines" }],
        failureAction: { retryTimes: 1 },
      },
    },
  },
  jobs: { twice: { work: { kind: "Seq", works: [task("a-task-that-changes-one-file-twice")] } } },
  grid: [{ keyword: "Some", jobs: [{ name: "Twice", jobName: "twice" }] }],
};
const portalOf = sharedPortalWithEntry(entry);

interface Row {
  jobId: string;
  lastWords?: string;
  changes?: object;
}

/** How much further a place can be scrolled sideways. */
const sideways = (page: Page, selector: string) =>
  page.locator(selector).evaluate(place => place.scrollWidth - place.clientWidth);

describe("what ran", () => {
  it("is listed with what it changed and its last words, and a file that was changed twice is one file", async t => {
    const { portal, runJob, workingDirectory } = await portalOf(t);
    execFileSync("git", ["-C", workingDirectory, "init", "-q"]);
    const first = await runJob("twice");
    const second = await runJob("twice");
    const list = async (kind: string) =>
      (await portal.api<Record<string, Row[]>>(`copilot/${kind}/history`)).body[`${kind}s`] ?? [];
    const changesOf = async ({ jobId }: { jobId: string }) =>
      (await list("job")).find(job => job.jobId === jobId)?.changes;
    // The last snapshot of a job may come after its end.
    for (const { jobId } of [first, second]) await seen(async () => changesOf({ jobId }));
    assert.deepEqual(await changesOf(first), { added: 2, deleted: 0 });
    assert.deepEqual(await changesOf(second), { files: 1, added: 1, deleted: 0 });

    const path = `copilot/job/${first.jobId}/compare/${second.jobId}`;
    const { works } = (await portal.api<{ works: { runs: Row[] }[] }>(path)).body;
    const compared = works[0]?.runs.map(({ changes }) => changes);
    assert.deepEqual(compared, [
      { files: 1, added: 2, deleted: 0 },
      { files: 1, added: 1, deleted: 0 },
    ]);

    const started = await portal.api<{ sessionId: string }>("copilot/session/start/gpt-5.1-mini", {
      body: workingDirectory,
    });
    const { sessionId } = started.body;
    await portal.api(`copilot/session/${sessionId}/query`, { body: "@shell echo y > other.txt" });
    await seen(async () => (await list("session"))[0]?.changes);
    const [session] = await list("session");
    assert.deepEqual(session?.changes, { files: 1, added: 1, deleted: 0 });
    const words = session?.lastWords ?? "";
    assert.match(words, /\S/);

    const { page, problems } = await openPage(t, browser, portal.url);
    t.after(() => assert.deepEqual(problems, []));
    const row = (kind: string) =>
      page.locator(".history-item", { has: page.getByText(kind, { exact: true }) });
    await row("job").nth(1).waitFor();
    const details = await row("job").locator(".history-details").allTextContents();
    assert.match(details[0] ?? "", /1 file changed, \+1 −0/);
    assert.match(details[1] ?? "", /\+2 −0/);
    await row("session").locator(".history-details > span", { hasText: words }).waitFor();
    await row("session").getByText("1 file changed, +1 −0").waitFor();
  });
});

describe("the frame of a page", () => {
  it("names the folder of a session or job, shortened in the middle, with the whole on hover", async t => {
    const { portal, runJob, workingDirectory } = await portalOf(t);
    const { jobId } = await runJob("twice");
    const { page } = await openPage(
      t,
      browser,
      `${portal.url}/jobTracking.html?jobName=twice&jobId=${jobId}`,
    );
    const place = page.locator(".top #place");
    await place.getByText(/\S/).waitFor();
    assert.equal(await place.getAttribute("title"), workingDirectory);
    const short = await page.evaluate(async ([part, path]) => (await import(part)).shortPath(path), [
      "/lib/format.js",
      "/home/somebody/projects/of/the/year/portal/assets",
    ] as [string, string]);
    assert.equal(short, "/home/…/portal/assets");
  });

  it("has a menu that can stop the server, on every page and at every width", async t => {
    const { portal } = await portalOf(t);
    const { page } = await openPage(t, browser, `${portal.url}/permissions.html`);
    for (const name of ["permissions.html", "agents.html", "nodes.html", "index.html", "jobs.html?wb=/tmp"]) {
      await page.goto(`${portal.url}/${name}`);
      await page.setViewportSize({ width: name === "nodes.html" ? 390 : 1280, height: 800 });
      await page.locator(".top .menu summary").click();
      await page.locator(".top").getByRole("button", { name: "Stop Server" }).click();
      await page.getByRole("dialog", { name: "Stop the server" }).getByText("Cancel").click();
    }
  });

  it("says so when the server has stopped", async t => {
    const { portal } = await portalOf(t);
    const { page } = await openPage(t, browser, `${portal.url}/permissions.html`);
    await page.route("**/api/stop", route => route.fulfill({ json: {} }));
    await page.evaluate("window.close = () => undefined");
    await page.locator(".top .menu summary").click();
    await page.locator(".top").getByRole("button", { name: "Stop Server" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop Server" }).click();
    await page.getByRole("heading", { name: "The server has stopped" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Permissions" }).isVisible(), false);
  });
});

describe("a narrow window", () => {
  it("scrolls neither a job's summary nor its plan sideways", async t => {
    const { portal, runJob, workingDirectory } = await portalOf(t);
    const { jobId } = await runJob("twice");
    const { page } = await openPage(t, browser, portal.url);
    for (const width of [390, 768, 1100]) {
      await page.setViewportSize({ width, height: 1024 });
      await page.goto(`${portal.url}/jobTracking.html?jobName=twice&jobId=${jobId}&view=chart`);
      await page.getByText("JOB: SUCCEEDED").waitFor();
      if (width === 390) await page.getByRole("button", { name: "Details" }).click();
      await page.locator("#panel .table td").first().waitFor();
      assert.equal(await sideways(page, "#panel > *"), 0, `the summary at ${width} px`);
      await page.goto(`${portal.url}/jobs.html?wb=${encodeURIComponent(workingDirectory)}`);
      await page.locator("[data-job-name=twice]").click();
      await page.locator("#plan .table td").first().waitFor();
      assert.equal(await sideways(page, "#about"), 0, `the plan at ${width} px`);
    }
  });
});
