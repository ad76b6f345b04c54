import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import type { Browser } from "playwright-core";
import type { WorktreeAnswer } from "../../src/worktrees/worktreeAnswers.js";
import { sharedPortalWithEntry, task } from "../support/jobs/jobs.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { repositoryIn } from "../support/repository.js";
import { seen } from "../support/seen.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const portalOf = sharedPortalWithEntry({
  setup: [{ run: ["echo", "the nest is ready"] }],
  tasks: { held: { prompt: ["@wait $user-input"], model: { category: "driving" } } },
  jobs: { held: { work: task("held") } },
});

async function makeRepository(folder: string) {
  const git = repositoryIn(folder);
  await writeFile(join(folder, "a.txt"), "one\n");
  git("add", "-A");
  git("commit", "-qm", "first");
  return git;
}

test("A session that starts isolated waits in the history, names the conflicts, and is applied or discarded there", async t => {
  const { portal, workingDirectory } = await portalOf(t);
  await makeRepository(workingDirectory);
  const { page, problems } = await openPage(t, browser, portal.url);
  t.after(() => assert.deepEqual(problems, []));
  // The list of the start page has it too, and may load again behind the session.
  const waiting = page.locator("#worktree .worktree");
  const listed = page.locator("#running-jobs-list .worktree");

  await page.locator("#start-button:enabled").waitFor();
  await page.getByLabel("Working Directory").fill(workingDirectory);
  await page.getByLabel("Isolate").check();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await waiting.waitFor();
  const { worktrees } = (await portal.api<{ worktrees: { worktree: WorktreeAnswer }[] }>("copilot/worktree"))
    .body;
  const { folder = "", branch = "" } = worktrees[0]?.worktree ?? {};
  assert.ok((await waiting.textContent())?.includes(branch));
  await writeFile(join(folder, "a.txt"), "agent\n");
  await writeFile(join(workingDirectory, "a.txt"), "user\n");

  await waiting.getByRole("button", { name: "Apply to my folder" }).click();
  await waiting.getByText("Nothing was applied.").waitFor();
  assert.deepEqual(await waiting.locator("li").allTextContents(), ["a.txt"]);
  assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "user\n");

  await inEveryTheme(browser, portal.url, async shown => {
    const list = shown.locator("#running-jobs-list");
    await list.getByRole("button", { name: "Apply to my folder" }).click();
    await list.getByText("Nothing was applied.").waitFor();
  });
  await page.goto(portal.url);
  await listed.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await listed.waitFor({ state: "detached" });
  assert.equal(existsSync(folder), false);
  assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "user\n");
});

test("A job that shares its folder with another is isolated with one click", async t => {
  const { portal, puppet, workingDirectory, startJob } = await portalOf(t);
  const git = await makeRepository(workingDirectory);
  await startJob("held", "first");
  await puppet.arrived("first");
  const second = await startJob("held", "second");
  await puppet.arrived("second");
  const address = `${portal.url}/jobTracking.html?jobName=held&jobId=${second}`;
  const { page, problems } = await openPage(t, browser, address);
  t.after(() => assert.deepEqual(problems, []));
  await page.getByRole("button", { name: "Isolate" }).click();
  await page.getByRole("link", { name: "Repeats an earlier job" }).waitFor();
  const jobId = new URL(page.url()).searchParams.get("jobId") ?? "";
  type Status = { status: string; worktree?: WorktreeAnswer };
  const statusOf = async (id: string) => (await portal.api<Status>(`copilot/job/${id}/status`)).body;
  assert.equal((await statusOf(jobId)).worktree?.workingDirectory, workingDirectory);
  assert.equal((await statusOf(second)).status, "Canceled");
  // The page shows the running task; this leads to the summary.
  await page.locator("#rightStatus", { hasText: "Running" }).waitFor();
  await page.keyboard.press("Escape");
  const setup = page.locator("#panel section", { hasText: "Setup" });
  await setup.getByRole("button", { name: /echo/ }).click();
  await setup.locator(".message-block-body", { hasText: "the nest is ready" }).waitFor();
  await portal.api(`copilot/job/${jobId}/stop`, { method: "POST" });
  await page.getByRole("button", { name: "Keep the branch" }).click();
  await page.locator(".worktree").waitFor({ state: "detached" });
  assert.match(git("branch"), /portal\/held-/);
});

test("What a deleted session left in its worktree needs the user on the start page, and is applied there", async t => {
  const { portal, workingDirectory } = await portalOf(t);
  await makeRepository(workingDirectory);
  const isolated = `copilot/session/start/${scriptedModelId}?isolate=worktree`;
  const { sessionId } = (await portal.api<{ sessionId: string }>(isolated, { body: workingDirectory })).body;
  type Waiting = { id: string; kind?: string; orphaned?: boolean; worktree: WorktreeAnswer };
  const waiting = async () =>
    (await portal.api<{ worktrees: Waiting[] }>("copilot/worktree")).body.worktrees.find(
      ({ id }) => id === sessionId,
    );
  const { kind, worktree } = (await waiting()) ?? {};
  assert.equal(kind, "session");
  await writeFile(join(worktree?.folder ?? "", "b.txt"), "agent\n");
  await portal.api(`copilot/session/${sessionId}/delete`, { method: "POST" });
  assert.equal((await waiting())?.orphaned, true);
  const { page, problems } = await openPage(t, browser, portal.url);
  t.after(() => assert.deepEqual(problems, []));
  const group = page.locator(".history-group", { has: page.getByRole("heading", { name: "Needs you" }) });
  const item = group.locator(".history-item", { hasText: worktree?.branch ?? "" });
  assert.match((await item.textContent()) ?? "", /worktree.*deleted, but what it did waits/s);
  assert.equal(await item.getByRole("link").count(), 0);
  await item.getByRole("button", { name: "Apply to my folder" }).click();
  await item.waitFor({ state: "detached" });
  assert.equal(await readFile(join(workingDirectory, "b.txt"), "utf8"), "agent\n");
});

test("A worktree is listed once, with the newest job that worked in it, also when the job that made it is deleted", async t => {
  const { portal, puppet, workingDirectory, jobLog } = await portalOf(t);
  await makeRepository(workingDirectory);
  const post = async (path: string, body = "") =>
    (await portal.api<{ jobId: string }>(`copilot/job/${path}`, { method: "POST", body })).body.jobId;
  const old = await post("start/held?isolate=worktree", `${workingDirectory}\nnest`);
  await puppet.arrived("nest");
  await post(`${old}/stop`);
  puppet.release("nest");
  const retried = await post(`${old}/retry`);
  assert.equal((await jobLog(retried)).at(-1)?.callback, "jobSucceeded");
  const { page, problems } = await openPage(t, browser, portal.url);
  t.after(() => assert.deepEqual(problems, []));
  const listed = page.locator(".history-item", { has: page.locator(".worktree") });
  const onlyThatOfTheRetry = async () => {
    await listed.locator(`a[href*="${retried}"]`).first().waitFor();
    // The list of running jobs and that of recent ones are drawn one after the other.
    await seen(async () => {
      if ((await listed.count()) === 1) return true;
      await page.reload();
      await listed.first().waitFor();
      return false;
    });
  };
  await onlyThatOfTheRetry();
  await post(`${old}/delete`);
  await page.reload();
  await onlyThatOfTheRetry();
});
