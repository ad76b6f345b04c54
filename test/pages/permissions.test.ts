import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { packageRoot } from "../../src/base/paths.js";
import { tempFolder } from "../support/cleanup.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { byPrompt, callTool, runShell, type Script } from "../support/model/scriptedModel.js";
import { assertAccessible, inEveryTheme } from "../support/pages/axe.js";
import { openFreshPage, openPage, sharedBrowser } from "../support/pages/browser.js";
import { portalWithModel, sharedPortal } from "../support/portal/restSession.js";

const browserOf = sharedBrowser();
let browser: Browser;
before(async () => {
  browser = await browserOf();
});

const titled = (page: Page, title: RegExp) =>
  page.waitForFunction(
    source =>
      new RegExp(source).test((globalThis as unknown as { document: { title: string } }).document.title),
    title.source,
  );

const script: Script = byPrompt({
  "say hello": [[runShell("echo '<b>hello</b>' from the shell")], [{ text: "I said it." }]],
  "write the file": request => [
    request.round === 0
      ? callTool("create", { path: join(request.workingDirectory ?? "", "note.txt"), file_text: "a note\n" })
      : { text: "It is written." },
  ],
  "ask me": [
    [callTool("ask_user", { question: "Which colour?", choices: ["red", "blue"] })],
    request => [{ text: `You chose: ${request.toolResults.at(-1)?.content}` }],
  ],
});
const portalOf = sharedPortal({ models: ["plain-model"] });

describe("permissions in the browser", () => {
  it("a session asks on a card that survives a reload, and does what the user allows", async t => {
    const { portal, startSession, workingDirectory } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    const address = `${portal.url}/index.html?session=${session.id}`;
    const { page, problems } = await openPage(t, browser, address);
    await session.query("say hello");
    const card = page.locator("#session-part .permission-card");
    await card.waitFor();
    await page.reload();
    await page.locator("#session-part .permission-card[data-state=open]").waitFor();
    await page.locator("#sessionState", { hasText: "Needs you" }).waitFor();
    assert.equal(await card.locator(".command-part").textContent(), "echo '<b>hello</b>' from the shell");
    const always = card.locator("[data-kind=allow_always] + .permission-about");
    assert.match(
      (await always.textContent()) ?? "",
      /echo/,
      "the card says what Always covers before it is pressed",
    );
    await titled(page, /^\(1\) /);
    await page.screenshot({ path: process.env.SCREENSHOT ?? join(portal.dataDir, "card.png") });
    await card.getByRole("button", { name: "Allow once" }).click();
    await page.locator("#session-part .permission-card[data-state=allowed]").waitFor();
    await page.locator("#session-part", { hasText: "I said it." }).waitFor();
    await titled(page, /^[^(]/);

    await session.query("write the file");
    const edit = page.locator("#session-part .permission-card[data-state=open]");
    await edit.locator(".diff-line.added", { hasText: "a note" }).waitFor();
    // At the pace of a person: a card takes no answer in its first moments.
    await edit.getByLabel("What to do instead").pressSequentially("Call it other.txt.", { delay: 40 });
    await edit.getByLabel("What to do instead").press("Enter");
    await page
      .locator("#session-part .permission-card[data-state=rejected]", { hasText: "other.txt" })
      .waitFor();
    await page.locator("#session-part", { hasText: "It is written." }).waitFor();
    await assert.rejects(readFile(join(workingDirectory, "note.txt")));
    assert.deepEqual(problems, []);
  });

  it("a card works with the keyboard: letters go to the request, Escape leaves it, Enter allows once", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await page.locator("#request-textarea:focus").waitFor();
    await session.query("say hello");
    const focused = page.locator("#session-part .permission-card[data-state=open]:focus");
    await focused.waitFor();
    await page.reload();
    await focused.waitFor();
    await page.keyboard.type("x");
    assert.equal(await page.locator("#request-textarea:focus").inputValue(), "x");
    await page.keyboard.press("Enter");
    await page.locator("#request-textarea").fill("");
    const card = page.locator("#session-part .permission-card[data-state=open]:not([aria-disabled])");
    await card.focus();
    await page.keyboard.press("Escape");
    await page.locator("#request-textarea:focus").waitFor();
    assert.equal(await card.count(), 1, "nothing was answered");
    await card.focus();
    await page.keyboard.press("Enter");
    await page.locator("#session-part .permission-card[data-state=allowed]").waitFor();
    await page.locator("#request-textarea:focus").waitFor();
    await session.untilIdle();
  });

  it("a card does not take the keyboard focus from a user who types", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await page.locator("#request-textarea").fill("and then");
    await session.query("say hello");
    await page.locator("#session-part .permission-card[data-state=open]:not([aria-disabled])").waitFor();
    await page.keyboard.type(" go on");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#request-textarea").inputValue(), "and then go on\n");
    assert.equal(await page.locator(".permission-card[data-state=allowed]").count(), 0);
  });

  it("a title in the header, the tab and the history shows invisible characters", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession();
    await session.query("tidy \u202eup\u200b");
    await session.untilIdle();
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await titled(page, /tidy \\u\{202E\}up/);
    await page.locator("#sessionTitle .unseen").first().waitFor();
    await page.goto(portal.url);
    await page.locator(".history-item b", { hasText: "tidy \\u{202E}up" }).waitFor();
  });

  it("the inbox on every page shows and answers the open requests of all sessions", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    await session.query("ask me");
    const address = `${portal.url}/jobs.html?wb=${encodeURIComponent("/tmp")}`;
    const { page, problems } = await openPage(t, browser, address);
    const count = page.getByRole("button", { name: "1 request waits for you" });
    await count.click();
    const card = page.locator(".inbox .permission-card");
    assert.match((await card.textContent()) ?? "", /Which colour\?/);
    await page.screenshot({ path: process.env.SCREENSHOT2 ?? join(portal.dataDir, "inbox.png") });
    await card.getByRole("button", { name: "blue" }).click();
    await page.locator(".inbox").waitFor({ state: "hidden" });
    const responses = await session.untilIdle();
    assert.match(JSON.stringify(responses), /You chose: .*blue/);
    assert.deepEqual(problems, []);
  });

  it("every page except the test page has the frame with the inbox", async () => {
    const folder = join(packageRoot, "assets");
    const pages = (await readdir(folder)).filter(name => name.endsWith(".html") && name !== "test.html");
    for (const name of pages)
      assert.match(await readFile(join(folder, name), "utf8"), /src="\/shell\/shell\.js"/, name);
  });

  it("the start form starts a session that asks", async t => {
    const { portal, workingDirectory } = await portalOf(t, script);
    const { page } = await openPage(t, browser, portal.url);
    await page.locator("#start-button:enabled").waitFor();
    await page.getByLabel("Working Directory").fill(workingDirectory);
    await page.locator("#setup-ui").getByLabel("Permissions").selectOption("ask");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("#session-ui").waitFor();
    const id = new URL(page.url()).searchParams.get("session");
    const { body } = await portal.api(`copilot/session/${id}`);
    assert.equal(body.permissions, "ask");
  });

  it("every page links to the rules", async () => {
    const folder = join(packageRoot, "assets");
    for (const name of ["index", "jobs", "jobTracking", "agents"])
      assert.match(await readFile(join(folder, `${name}.html`), "utf8"), /href="\/permissions\.html"/, name);
  });

  it("the rules page shows where rules come from, adds, removes and exports them, and judges a command as it is typed", async t => {
    const config = join(await tempFolder(t), "config.json");
    const policy = { folders: { "*": ["reject command rm"] } };
    await writeFile(join(config, "..", "policy.json"), JSON.stringify(policy));
    await writeFile(config, JSON.stringify({ permissions: { policy: "policy.json" } }));
    const { portal, workingDirectory } = await portalWithModel(t, script, { args: ["--config", config] });
    const { page, problems } = await openPage(t, browser, `${portal.url}/permissions.html`);
    const rules = page.locator("#list li");
    const given = rules.filter({ hasText: "Every command that begins with rm" });
    await given.filter({ hasText: "reject command rm" }).getByText("from the policy file").waitFor();
    assert.equal(await page.getByRole("button", { name: /^Remove/ }).count(), 0);

    const verdict = page.locator("#verdict");
    const test = async (words: string) => {
      await page.getByLabel("Would this be allowed?").fill(words);
      return verdict;
    };
    await page.getByLabel("Folder").fill(workingDirectory);
    await (await test("git status -s")).filter({ hasText: "You would be asked" }).waitFor();
    await page.getByLabel("New rule").fill("allow everything");
    await page.getByRole("button", { name: "Add" }).click();
    await page.locator("#ruleError", { hasText: "a rule is allow or reject" }).waitFor();
    await page.getByLabel("New rule").fill("allow command git status");
    await page.getByRole("button", { name: "Add" }).click();
    await rules.filter({ hasText: "allow command git status" }).waitFor();
    await verdict.filter({ hasText: "Allowed · allow command git status" }).waitFor();
    await (await test("git status && rm x")).filter({ hasText: "Rejected · reject command rm" }).waitFor();
    await page.getByLabel("Kind").selectOption("edits");
    await (await test("/etc/passwd")).filter({ hasText: "outside the folder" }).waitFor();
    await page.getByLabel("Folder").fill("relative");
    await verdict.filter({ hasText: "not an absolute path" }).waitFor();

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "policy.json");
    assert.deepEqual(JSON.parse(await readFile(await download.path(), "utf8")), {
      folders: { ...policy.folders, [workingDirectory]: ["allow command git status"] },
    });
    await page.getByRole("button", { name: "Remove allow command git status" }).click();
    await rules.filter({ hasText: "git status" }).waitFor({ state: "detached" });
    assert.deepEqual((await portal.api("copilot/permission/rules")).body, policy);
    assert.deepEqual(problems, []);
  });

  it("a change of the policy in the session's header settles the open requests", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    await session.query("say hello");
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    await page.locator("#session-part .permission-card[data-state=open]").waitFor();
    const policy = page.locator("#session-ui").getByLabel("Permissions", { exact: true });
    await page.locator("#sessionModel:not(:empty)").waitFor();
    assert.equal(await policy.inputValue(), "ask");
    await policy.selectOption("deny");
    await page.locator("#session-part .permission-card[data-state=rejected]").waitFor();
    await session.untilIdle();
    assert.equal((await session.call("")).permissions, "deny");
  });

  it("remembering for the session creates a rule that no other session has", async t => {
    const { portal, startSession, workingDirectory } = await portalOf(t, script);
    const session = await startSession("?permissions=ask");
    await session.query("say hello");
    const { page } = await openPage(t, browser, `${portal.url}/index.html?session=${session.id}`);
    const card = page.locator("#session-part .permission-card[data-state=open]");
    await card.getByLabel("Remember").selectOption({ label: "For this session" });
    await card.getByRole("button", { name: "Allow once" }).click();
    await session.untilIdle();
    await session.query("say hello");
    await page.locator("#session-part .notice", { hasText: "by the rule allow command echo" }).waitFor();
    const { folders } = (await portal.api<{ folders: object }>("copilot/permission/rules")).body;
    assert.ok(!(workingDirectory in folders));
  });

  it("a user who asked for notifications gets one per request while the page is hidden", async t => {
    const { portal, startSession } = await portalOf(t, script);
    const { page } = await openFreshPage(t, browser, portal.url);
    await page.context().grantPermissions(["notifications"]);
    const told: string[] = [];
    let first = () => {};
    const notified = new Promise<void>(resolve => {
      first = resolve;
    });
    await page.exposeFunction("tell", (body: string) => {
      told.push(body);
      first();
    });
    await page.context().addInitScript(`
      Object.defineProperty(document, "hidden", { get: () => true });
      window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, { body }) { tell(body); }
      };`);
    await page.goto(`${portal.url}/permissions.html`);
    await page.locator(".top .menu summary").click();
    await page.getByLabel("Notify me").check();
    await page.goto(`${portal.url}/jobs.html?wb=/tmp`);
    const session = await startSession("?permissions=ask");
    await session.query("say hello");
    await notified;
    await page.getByRole("button", { name: "1 request waits for you" }).click();
    await page.locator(".top .menu summary").click();
    assert.equal(await page.getByLabel("Notify me").isChecked(), true);
    await page.getByLabel("Notify me").uncheck();
    await page.reload();
    await page.getByRole("button", { name: "1 request waits for you" }).waitFor();
    assert.deepEqual(told, ["say hello waits for you"]);
  });

  it("cards, the inbox and the rules are accessible in light, in dark and on a phone", async t => {
    const { portal, startSession, workingDirectory: folder } = await portalOf(t, script);
    for (const rule of ["allow command git status", "reject command rm"])
      await portal.api("copilot/permission/rules/add", { body: JSON.stringify({ folder, rule }) });
    const [edit, question] = await Promise.all([
      startSession("?permissions=ask"),
      startSession("?permissions=ask"),
    ]);
    await edit.query("write the file");
    await question.query("ask me");
    await edit.waitFor("onPermissionRequest");
    await question.waitFor("onQuestion");
    const count = (page: Page) => page.getByRole("button", { name: "2 requests wait for you" });
    await inEveryTheme(browser, `${portal.url}/index.html?session=${edit.id}`, async page => {
      await page.locator("#session-part .permission-card[data-state=open]").waitFor();
      await count(page).click();
    });
    await inEveryTheme(browser, `${portal.url}/permissions.html`, async page => {
      await page.getByLabel("Would this be allowed?").fill("git status");
      await page.locator("#verdict:visible").waitFor();
      await page.locator("#list li").first().waitFor();
      await count(page).waitFor();
    });
  });
});

describe("jobs that ask", () => {
  const entry = {
    tasks: { talk: { prompt: ["talk", "@shell echo from-the-job"], model: { category: "driving" } } },
    jobs: { talk: { work: task("talk") } },
  };

  it("a job waits for the card on its page, and continues when it is answered", async t => {
    const { portal, startJob, jobLog } = await portalWithEntry(t, entry, { args: ["--permissions", "ask"] });
    const jobId = await startJob("talk");
    const address = `${portal.url}/jobTracking.html?jobName=talk&jobId=${jobId}`;
    const { page, problems } = await openPage(t, browser, address);
    await titled(page, /^\(1\) /);
    await page.getByRole("button", { name: "1 request waits for you" }).click();
    await page.locator(".inbox-entry a").click();
    await page.waitForURL(/jobTracking\.html\?jobId=.*&task=/);
    await page.getByRole("heading", { name: "talk", exact: true }).first().waitFor();
    const card = page.locator("#panel .permission-card[data-state=open]");
    assert.equal(await card.locator(".command-part").textContent(), "echo from-the-job");
    await page
      .locator(".node[data-status='Needs you'] .detail", { hasText: "needs you, attempt 1" })
      .waitFor();
    await assertAccessible(page, "a job with a card");
    await card.getByRole("button", { name: "Allow once" }).click();
    await page.locator("#job-status-label", { hasText: "SUCCEEDED" }).waitFor();
    await page.locator("#panel .permission-card[data-state=allowed]").waitFor();
    await titled(page, /^[^(]/);
    const responses = await jobLog(jobId);
    assert.equal(responses.at(-1)?.callback, "jobSucceeded");
    assert.deepEqual(problems, []);
  });

  it("a job whose request gets no answer continues with the rejection", async t => {
    const config = { permissions: { timeoutSeconds: 1 } };
    const { portal, runJob } = await portalWithEntry(t, entry, { args: ["--permissions", "ask"], config });
    const { jobId, outcome } = await runJob("talk");
    assert.equal(outcome, "jobSucceeded");
    const { page } = await openPage(t, browser, `${portal.url}/jobTracking.html?jobName=talk&jobId=${jobId}`);
    await page.locator(".node[data-status]").first().click();
    await page
      .locator("#panel .permission-card[data-state=rejected]", { hasText: "nobody answered in time" })
      .waitFor();
  });
});
