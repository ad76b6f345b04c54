import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { forGroup, groupScope, type Scope, tempFolder } from "../support/cleanup.js";
import { type Nodes, nodeSeen, nodesOf } from "../support/nodes/nodes.js";
import { assertAccessible, inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import type { Portal } from "../support/portal/portal.js";
import { seen } from "../support/seen.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

const file = groupScope();
const browserOf = sharedBrowser();
let browser: Browser;
let nodes: Nodes;
let a: Portal;
let b: Portal;
before(async () => {
  browser = await browserOf();
  nodes = await nodesOf(file, await runningPostgres(file));
  [a, b] = await Promise.all([nodes.start("a"), nodes.start("b")]);
});

async function open(t: Scope, path: string, by = a) {
  const { page, problems } = await openPage(t, browser, `${by.url}/${path}`);
  t.after(async () => assert.deepEqual(problems, []));
  return page;
}

const itemOf = (page: Page, name: string) =>
  page.locator("#nodes > li").filter({ has: page.getByRole("heading", { name, exact: true }) });
const stateOf = (page: Page, name: string, state: string) =>
  itemOf(page, name).getByRole("status").getByText(state, { exact: true }).waitFor();
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const isBack = (portal: Portal, name: string) =>
  seen(async () => (await nodeSeen(portal, name))?.state === "running");
const answer = (page: Page, name: string) =>
  page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
const question = (page: Page) => page.getByRole("dialog").locator("p");

describe("the nodes page", () => {
  const opened = forGroup(scope => open(scope, "nodes.html"));

  it("shows what each node is, how busy it is and when it was last seen, and keeps it current", async t => {
    const page = opened();
    await stateOf(page, "a", "running");
    await stateOf(page, "b", "running");
    // Until its first renewal a node has said nothing of its places.
    await itemOf(page, "b").locator("[data-part=jobs]", { hasText: "0 / 8" }).waitFor();
    assert.match((await itemOf(page, "a").textContent()) ?? "", /this node/);
    assert.ok(await itemOf(page, "b").getByText("this node").isHidden());
    const said = Object.fromEntries(
      await Promise.all(
        (await itemOf(page, "b").locator("dl > div").all()).map(async one => [
          await one.locator("dt").textContent(),
          (await one.locator("dd").textContent()) ?? "",
        ]),
      ),
    );
    const { origin, port } = new URL(b.url);
    assert.match(said.Address ?? "", new RegExp(`^http://.*:${port}$`), origin);
    assert.match(said.Version ?? "", /^\d+\.\d+\.\d+/);
    assert.match(said["Running since"] ?? "", /^just now$|^\d+ min/);
    assert.match(said["Last sign of life"] ?? "", /^\d+(\.\d)? s ago$/);
    assert.equal(said["Jobs waiting"], "0");
    assert.match(said["Memory of the portal"] ?? "", /^\d+ MB$/);
    assert.equal(said["Shared folders"], nodes.sharedDir);

    const jobId = await nodes.startJob(b, await tempFolder(t));
    await nodes.puppet.arrived("held 1");
    await itemOf(page, "b").locator("[data-part=jobs]", { hasText: "1 / 8" }).waitFor();
    // What the node says may be of a moment at which the job had no task yet.
    await itemOf(page, "b").locator("[data-part=tasks]", { hasText: /^1$/ }).waitFor();
    await itemOf(page, "b")
      .locator("[data-part=left]", { hasText: /^1 job$/ })
      .waitFor();
    await a.api(`copilot/job/${jobId}/stop`, { body: "" });
    await itemOf(page, "b").locator("[data-part=jobs]", { hasText: "0 / 8" }).waitFor();
  });

  it("warns of a node whose settings differ, and stops it from another one", async () => {
    const odd = await nodes.start("c", {
      config: { providers: [{ name: "other", baseUrl: "http://127.0.0.1:1/v1" }] },
    });
    const page = opened();
    await itemOf(page, "c").getByText("jobs do not move between them").waitFor();
    assert.equal(await page.locator("#nodes .notice").count(), 1);
    await press(page, "Stop node c");
    assert.match(
      (await question(page).textContent()) ?? "",
      /^Stop node c\? What works in a shared folder goes on/,
    );
    await assertAccessible(page, "with a question");
    await answer(page, "Stop node");
    assert.equal((await odd.exited).code, 0);
    await itemOf(page, "c").waitFor({ state: "detached" });
  });

  it("drains a node with the keyboard alone, and asks before it does", async () => {
    const page = opened();
    await stateOf(page, "b", "running");
    await page.getByRole("button", { name: "Drain b" }).focus();
    await page.keyboard.press("Enter");
    assert.match((await question(page).textContent()) ?? "", /^Drain node b\? It starts no new job\./);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal((await nodeSeen(a, "b"))?.state, "running");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await stateOf(page, "b", "drained");
    assert.ok(await page.getByRole("button", { name: "Drain b" }).isHidden());
    assert.ok(await page.getByRole("button", { name: "Stop node b" }).isVisible());
    await b.restart();
    await stateOf(page, "b", "running");
  });

  it("is in the rail and in the search, and can be read in light, in dark and at 360 px", async t => {
    const page = await open(t, "");
    await page.locator(".rail").getByRole("link", { name: "Nodes" }).click();
    await stateOf(page, "b", "running");
    assert.equal(
      await page
        .locator(".rail [aria-current]")
        .textContent()
        .then(text => text?.trim()),
      "Nodes",
    );
    // The search lists the pages that the rail has.
    await page.locator(".rail").getByRole("link", { name: "Nodes" }).waitFor();
    await page.keyboard.press("Control+K");
    await page.getByRole("dialog", { name: "Search" }).getByRole("link", { name: "Nodes" }).waitFor();
    await inEveryTheme(browser, `${a.url}/nodes.html`, shown => stateOf(shown, "b", "running"));
  });

  it("tells a node that is silent from one that is gone, and shows what nodes say as text", async t => {
    const page = await open(t, "test.html");
    const hostile = "<img src=x onerror=alert(1)> `rm` \u202e";
    await page.route("**/api/copilot/nodes", async route => {
      const answer = await route.fetch();
      const { nodes: known } = (await answer.json()) as { nodes: object[] };
      const [one = {}] = known;
      const made = ["notSeen", "gone", "draining"].map(state => ({ ...one, name: `x-${state}`, state }));
      await route.fulfill({ json: { nodes: [...made, { ...one, url: hostile, warnings: [hostile] }] } });
    });
    await page.goto(`${a.url}/nodes.html`);
    await stateOf(page, "x-notSeen", "not seen for 12 s");
    await stateOf(page, "x-gone", "gone");
    await stateOf(page, "x-draining", "draining");
    assert.equal(await page.locator("#nodes img").count(), 0);
    await page.locator("#nodes .notice", { hasText: "<img src=x onerror=alert(1)>" }).waitFor();
    const buttons = async (name: string) => {
      const shown = await itemOf(page, name).getByRole("button").allTextContents();
      return shown.map(text => text.trim());
    };
    assert.deepEqual(await buttons("x-notSeen"), []);
    assert.deepEqual(await buttons("x-gone"), ["Give up"]);
    assert.deepEqual(await buttons("x-draining"), ["Stop node"]);
    await press(page, "Give up x-gone");
    await answer(page, "Give up");
    await page.locator("#problem", { hasText: 'There is no node "x-gone".' }).waitFor();
  });
});

describe("where work is done, when there are several nodes", () => {
  it("a session starts on the node that was chosen, where its folder is checked", async t => {
    await isBack(a, "b");
    const folder = await tempFolder(t);
    const page = await open(t, "");
    const choice = page.getByLabel("Node", { exact: true });
    await choice.waitFor();
    await page.getByLabel("Working Directory").fill(folder);
    assert.deepEqual(await choice.locator("option").allTextContents(), ["a", "b"]);
    assert.equal(await choice.inputValue(), "a");
    const asked = (path: string) =>
      page.waitForRequest(
        request => request.url().includes(`copilot/${path}`) && request.url().includes("node=b"),
      );
    const checks = Promise.all(["folder?", "models?"].map(asked));
    await choice.selectOption("b");
    await checks;
    await inEveryTheme(browser, a.url, shown => shown.getByLabel("Node", { exact: true }).waitFor());
    const start = asked("session/start");
    await press(page, "Start");
    await start;
    const sign = page
      .locator(".session-header")
      .getByRole("img", { name: `Node b, pinned: its folder ${folder} is there` });
    await sign.waitFor();
    assert.equal(await sign.textContent(), "b");
    const id = new URL(page.url()).searchParams.get("session");
    const { body } = await a.api(`copilot/session/${id}`);
    assert.deepEqual([body.node, body.pinned], ["b", true]);

    await page.goto(a.url);
    const row = page.locator(".history-item", { has: page.locator(`a[href*="${id}"]`) });
    await row.getByRole("img", { name: `Node b, pinned: its folder ${folder} is there` }).waitFor();
  });

  it("any node will do in a shared folder", async t => {
    const folder = await nodes.sharedFolder();
    const page = await open(t, "", b);
    const choice = page.getByLabel("Node", { exact: true });
    await choice.waitFor();
    await page.getByLabel("Working Directory").fill(folder);
    await choice.locator("option", { hasText: "(any)" }).waitFor({ state: "attached" });
    assert.equal(await choice.inputValue(), "");
    await press(page, "Start");
    await page.locator(".session-header").getByRole("img", { name: "Node b", exact: true }).waitFor();
    await press(page, "Stop Server");
    assert.match((await question(page).textContent()) ?? "", /^Stop node b\?/);
    await press(page, "Cancel");
  });

  it("a job starts there too; its row, its page and the rail show the node", async t => {
    const folder = await tempFolder(t);
    const page = await open(t, `jobs.html?wb=${encodeURIComponent(folder)}&node=b`);
    await page.locator("#directory", { hasText: "on node b" }).waitFor();
    await page.locator("[data-job-name=three]").click();
    const tab = page.context().waitForEvent("page");
    await page.locator("#start-job-button").click();
    const tracking = await tab;
    const sign = { name: `Node b, pinned: its folder ${folder} is there` };
    await tracking.locator("#job-part").getByRole("img", sign).waitFor();
    await page.locator("#runs").getByRole("img", sign).waitFor();
    await page.locator("#activeList").getByRole("img", sign).waitFor();
    await assertAccessible(tracking, "a job on a node");
    const jobId = new URL(tracking.url()).searchParams.get("jobId");
    await a.api(`copilot/job/${jobId}/stop`, { body: "" });
  });

  it("a node that is not known is named, and nothing starts", async () => {
    const start = `copilot/session/start/${nodes.model.modelId}`;
    const { body } = await a.api(`${start}?node=nowhere`, { body: nodes.sharedDir });
    assert.deepEqual(body, { error: "NodeNotFound", message: 'There is no node "nowhere".' });
  });
});

describe("what waits for a node that is gone", () => {
  it("says so, can be given up, and ends with its node when that is given up", async t => {
    const folder = await tempFolder(t);
    const sessionId = await nodes.startSession(b, folder);
    const sessionToEnd = await nodes.startSession(b, folder);
    const jobs = [await nodes.startJob(b, folder), await nodes.startJob(b, folder)];
    const [first = "", second = ""] = jobs;
    const page = await open(t, "");
    await page.locator("#activeList li").nth(1).waitFor();
    await b.kill();
    const waiting = "Waiting for node b: its folder is there.";
    const row = (id: string) => page.locator(".history-item", { has: page.locator(`a[href*="${id}"]`) });
    for (const id of [sessionId, ...jobs]) await row(id).getByText(waiting).waitFor();
    await assertAccessible(page, "rows that wait");

    await row(first).getByRole("button", { name: "Give up three" }).click();
    await answer(page, "Give up");
    await row(first).getByText("Canceled").waitFor();
    assert.equal(await row(first).getByText(waiting).count(), 0);

    await page.goto(`${a.url}/index.html?session=${sessionId}`);
    await page.locator("#session-ui").getByText(waiting).waitFor();
    await assertAccessible(page, "a session that waits");
    await page.locator("#waiting").getByRole("button", { name: "Give up" }).click();
    await answer(page, "Give up");
    await page.getByRole("button", { name: "Reopen" }).waitFor();

    await page.goto(`${a.url}/jobTracking.html?jobName=three&jobId=${second}`);
    await page.locator("#job-part").getByText(waiting).waitFor();
    await assertAccessible(page, "a job that waits");

    await page.goto(`${a.url}/nodes.html`);
    await stateOf(page, "b", "gone");
    await press(page, "Give up b");
    const asked = (await question(page).textContent()) ?? "";
    const { left } = (await nodeSeen(a, "b")) as unknown as { left: { jobs: number; sessions: number } };
    assert.equal(left.jobs, 1);
    assert.ok(asked.startsWith("Give up node b for good? This ends what is pinned to it: 1 job and "), asked);
    await answer(page, "Give up");
    await itemOf(page, "b").waitFor({ state: "detached" });
    // They are the other node's from now on, which ends one after the other.
    const statusOf = async (path: string) => (await a.api<{ status: string }>(`copilot/${path}`)).body.status;
    await seen(async () => (await statusOf(`job/${second}/status`)) === "Failed");
    await seen(async () => (await statusOf(`session/${sessionToEnd}`)) === "Closed");
  });
});
