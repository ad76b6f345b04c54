import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { packageRoot } from "../../src/base/paths.js";
import { forGroup, tempFolder } from "../support/cleanup.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import {
  byPrompt,
  callTool,
  runShell,
  type Script,
  scriptedModelId,
} from "../support/model/scriptedModel.js";
import { assertAccessible, inEveryTheme } from "../support/pages/axe.js";
import { openFreshPage, openPage, sharedBrowser } from "../support/pages/browser.js";
import { sharedPortal } from "../support/portal/restSession.js";

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
/** The same as in other files, and models that get plain tools. */
const portalOf = sharedPortal({ models: ["alpha", "beta", "gamma", scriptedModelId], args: ["--test"] });

describe("the cards of a session that asks", () => {
  const opened = forGroup(async scope => {
    const parts = await portalOf(scope, script);
    const session = await parts.startSession("?permissions=ask");
    const address = `${parts.portal.url}/index.html?session=${session.id}`;
    const { page, problems } = await openPage(scope, browser, address);
    scope.after(async () => assert.deepEqual(problems, []));
    return { ...parts, session, page };
  });

  it("a card works with the keyboard: it does not take the focus from a user who types, letters go to the request, Escape leaves it, Enter allows once", async () => {
    const { page, session } = opened();
    const request = page.locator("#request-textarea");
    await page.locator("#request-textarea:focus").waitFor();
    await request.fill("and then");
    await session.query("say hello");
    const card = page.locator("#session-part .permission-card[data-state=open]:not([aria-disabled])");
    await card.waitFor();
    await page.keyboard.type(" go on");
    await page.keyboard.press("Enter");
    assert.equal(await request.inputValue(), "and then go on\n");
    assert.equal(await page.locator(".permission-card[data-state=allowed]").count(), 0);

    await request.fill("");
    await page.reload();
    await page.locator("#session-part .permission-card[data-state=open]:focus").waitFor();
    await page.keyboard.type("x");
    assert.equal(await page.locator("#request-textarea:focus").inputValue(), "x");
    await page.keyboard.press("Enter");
    await request.fill("");
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

  it("a session asks on a card, and does what the user allows or says instead", async () => {
    const { page, portal, session, workingDirectory } = opened();
    await session.query("say hello");
    const card = page.locator("#session-part .permission-card[data-state=open]");
    await card.waitFor();
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
    await page.locator("#session-part .permission-card[data-state=allowed]").nth(1).waitFor();
    await page.locator("#session-part").getByText("I said it.").nth(1).waitFor();
    await titled(page, /^[^(]/);
    await session.untilIdle(2);

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
    await session.untilIdle(3);
  });

  it("remembering for the session creates a rule that no other session has", async () => {
    const { page, portal, session, workingDirectory } = opened();
    await session.query("say hello");
    const card = page.locator("#session-part .permission-card[data-state=open]");
    await card.getByLabel("Remember").selectOption({ label: "For this session" });
    await card.getByRole("button", { name: "Allow once" }).click();
    await session.untilIdle(4);
    await session.query("say hello");
    await page.locator("#session-part .notice", { hasText: "by the rule allow command echo" }).waitFor();
    const { folders } = (await portal.api<{ folders: object }>("copilot/permission/rules")).body;
    assert.ok(!(workingDirectory in folders));
    await session.untilIdle(5);
  });

  it("a change of the policy in the session's header settles the open requests", async () => {
    const { page, session } = opened();
    await session.query("write the file");
    await page.locator("#session-part .permission-card[data-state=open]").waitFor();
    const policy = page.locator("#session-ui").getByLabel("Permissions", { exact: true });
    await page.locator("#sessionModel:not(:empty)").waitFor();
    assert.equal(await policy.inputValue(), "ask");
    await policy.selectOption("deny");
    await page.locator("#session-part .permission-card[data-state=rejected]").nth(1).waitFor();
    await session.untilIdle(6);
    assert.equal((await session.call("")).permissions, "deny");
  });
});

const entry = {
  tasks: { talk: { prompt: ["talk", "@shell echo from-the-job"], model: { category: "driving" } } },
  jobs: { talk: { work: task("talk") } },
};

describe("permissions in the browser", () => {
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

  it("every page links to the rules", async () => {
    const folder = join(packageRoot, "assets");
    for (const name of ["index", "jobs", "jobTracking", "agents"])
      assert.match(await readFile(join(folder, `${name}.html`), "utf8"), /href="\/permissions\.html"/, name);
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

describe("a portal with a policy file, where nobody answers in time", () => {
  const policy = { folders: { "*": ["reject command rm"] } };
  const parts = forGroup(async scope => {
    const file = join(await tempFolder(scope), "policy.json");
    await writeFile(file, JSON.stringify(policy));
    const config = { permissions: { policy: file, timeoutSeconds: 1 } };
    return portalWithEntry(scope, entry, { args: ["--permissions", "ask"], config });
  });

  it("the rules page shows where rules come from, adds, removes and exports them, and judges a command as it is typed", async t => {
    const { portal, workingDirectory } = parts();
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

  it("a job whose request gets no answer continues with the rejection", async t => {
    const { portal, runJob } = parts();
    const { jobId, outcome } = await runJob("talk");
    assert.equal(outcome, "jobSucceeded");
    const { page } = await openPage(t, browser, `${portal.url}/jobTracking.html?jobName=talk&jobId=${jobId}`);
    await page.locator(".node[data-status]").first().click();
    await page
      .locator("#panel .permission-card[data-state=rejected]", { hasText: "nobody answered in time" })
      .waitFor();
  });
});

describe("jobs that ask", () => {
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
});
