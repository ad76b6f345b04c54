import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { fakeAgent, type PortalWithAgent, portalWithAgent, steps } from "../support/acp/acp.js";
import type { Step } from "../support/acp/fakeAgentSteps.js";
import { defer, forGroup, type Scope, tempFolder } from "../support/cleanup.js";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import { assertAccessible, inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import type { RestSession } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";

const evil = `<img src=x onerror="document.title='evil'"><b>`;
const commands = [
  { name: "compact", description: "Summarise", input: { hint: "what to keep" } },
  { name: "context", description: "How full it is" },
  { name: "usage", description: evil },
];
const fake = {
  stderr: `the agent's last words ${evil}`,
  earlyUpdates: [{ sessionUpdate: "available_commands_update", availableCommands: commands }],
  configOptions: [
    {
      type: "select",
      id: "model",
      name: "Model",
      category: "model",
      currentValue: "small",
      options: [
        { name: "Ours", options: [{ value: "small", name: "Small one" }] },
        { name: "Theirs", options: [{ value: "large", name: evil }] },
      ],
    },
    { type: "boolean", id: "allow", name: "Allow All", currentValue: false },
    {
      type: "select",
      id: "effort",
      name: "Effort",
      category: "thought_level",
      currentValue: "low",
      options: [],
    },
  ],
};
const moded = {
  modes: {
    currentModeId: "#agent",
    availableModes: [
      { id: "#agent", name: "Agent" },
      { id: "#plan", name: "Plan" },
    ],
  },
};
const refusal = { code: -32602, message: "not now" };

const browserOf = sharedBrowser();
let browser: Browser;
let parts: PortalWithAgent;
let acpAgents: Record<string, object>;
const file = { after };
// The hook must be registered before anything starts.
defer(file, () => undefined);
before(async () => {
  browser = await browserOf();
  const memory = await tempFolder(file, "portal-memory");
  const model = await startScriptedModel(file, {});
  acpAgents = {
    fake: fakeAgent(fake, { title: "The fake" }, memory),
    moded: fakeAgent(moded),
    stubborn: fakeAgent({ ...moded, refuse: { "session/set_mode": refusal } }),
    deaf: fakeAgent({ ...fake, ignoresOptions: true }),
    locked: fakeAgent(
      {
        refuse: { "session/new": { code: -32000, message: "Authentication required" } },
        authMethods: [{ id: "browser", name: "Browser" }],
      },
      { loginHint: "Run `fake login`, then try again." },
    ),
    missing: { command: "/no/such/agent", title: "Missing", installHint: "Install it first." },
    "Bad Id": fakeAgent(),
  };
  parts = await portalWithAgent(file, { portal: { model }, acpAgents });
});

/** The portal reads its file again, with these agents. */
async function reconfigure(agents: Record<string, object>): Promise<void> {
  await parts.configure(agents);
  await parts.post("acp/reload");
}

async function open(t: Scope, path: string, options?: BrowserContextOptions) {
  const { page, problems } = await openPage(t, browser, `${parts.portal.url}${path}`, options);
  t.after(async () => assert.deepEqual(problems, []));
  return page;
}

async function openSession(t: Scope, modelId?: string) {
  const session = await parts.start(modelId);
  defer(t, () => session.call("delete", { method: "POST" }));
  const address = `/index.html?session=${session.id}`;
  return { session, address, page: await open(t, address) };
}

const prompt = (page: Page) => page.getByLabel("Request", { exact: true });
/** One turn after the other: each waits for its own end. */
async function play(opened: { page: Page; session: RestSession; turns?: number }, ...list: Step[]) {
  const { page, session } = opened;
  await prompt(page).fill(steps(...list));
  await prompt(page).press("Control+Enter");
  opened.turns = (opened.turns ?? 0) + 1;
  await session.untilIdle(opened.turns);
}
const update = (sessionUpdate: string, fields: object): Step => ({ update: { sessionUpdate, ...fields } });
const tool = (toolCallId: string, start: object, end: object): Step[] => [
  update("tool_call", { toolCallId, ...start }),
  update("tool_call_update", { toolCallId, status: "completed", ...end }),
];

const inEveryThemeAt = (path: string, look: (page: Page) => Promise<unknown>) =>
  inEveryTheme(browser, `${parts.portal.url}${path}`, look);

describe("ACP agents on the start page", () => {
  it("come after the models under their own heading, and start like models", async t => {
    const page = await open(t, "/");
    await page.locator("#start-button:enabled").waitFor();
    const names = await page
      .locator("#model-select > *")
      .evaluateAll(nodes =>
        nodes.map(node => `${node.tagName} ${node.getAttribute("label") ?? node.getAttribute("value")}`),
      );
    assert.deepEqual(names, ["OPTION gpt-5.1-mini", "OPTGROUP Agents (ACP)"]);
    assert.equal(await page.locator("#model-select optgroup option").count(), 6);
    await page.getByLabel("Model").selectOption("acp:moded");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByLabel("Mode", { exact: true }).waitFor();
  });

  it("say beside the field how to sign in or install, and are tried again on request", async () => {
    const check = async (page: Page) => {
      await page.locator("#start-button:enabled").waitFor();
      await page.getByLabel("Model").selectOption("acp:missing");
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.locator("#modelError", { hasText: "Install it first." }).waitFor();
      await page.getByLabel("Model").selectOption("acp:locked");
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.locator("#modelError", { hasText: "Run `fake login`, then try again." }).waitFor();
      const restarted = page.waitForResponse(/acp\/agent\/locked\/restart/);
      const startedAgain = page.waitForResponse(/session\/start\/acp%3Alocked/);
      await page.getByRole("button", { name: "Try again" }).click();
      await Promise.all([restarted, startedAgain]);
      await page.locator("#modelError", { hasText: "fake login" }).waitFor();
    };
    await inEveryThemeAt("/", check);
  });
});

describe("a session on an ACP agent", () => {
  const chosen = (page: Page, option: string, value: string) =>
    page.locator(`[data-option="${option}"] option[value="${value}"]:checked`).waitFor({ state: "attached" });
  const checked = (page: Page) => page.getByLabel("Allow All").isChecked();
  const opened = forGroup(scope => openSession(scope));

  it("offers the agent's options in its header, and shows the values that the agent reports", async () => {
    const { page } = opened();
    const labels = page.locator("#agentOptions label");
    await labels.nth(2).waitFor();
    const names = await labels.evaluateAll(nodes => nodes.map(node => node.firstChild?.textContent));
    assert.deepEqual(names, ["Model", "Effort", "Allow All"]);
    assert.deepEqual(
      await page
        .locator("#agentOptions optgroup")
        .evaluateAll(all => all.map(one => one.getAttribute("label"))),
      ["Ours", "Theirs"],
    );
    await page.locator("[data-option=model]").focus();
    await page.locator("[data-option=model]").selectOption("large");
    await page.locator("[data-option=model]:focus").waitFor();
    await chosen(page, "model", "large");
    await page.getByLabel("Allow All").click();
    await page.locator("[data-option=allow]:checked").waitFor();
    await page.reload();
    await labels.nth(2).waitFor();
    assert.deepEqual(
      [await page.locator("[data-option=model]").inputValue(), await checked(page)],
      ["large", true],
    );
  });

  it("completes the agent's commands with the keyboard while the request begins with a slash", async () => {
    const { page } = opened();
    const offered = page.getByRole("listbox", { name: "Commands" }).getByRole("option");
    await page.locator("#agentOptions label").first().waitFor();
    await prompt(page).pressSequentially("/co");
    await offered.first().waitFor();
    assert.deepEqual(await offered.locator("b").allTextContents(), ["/compact ", "/context "]);
    await page.keyboard.press("ArrowDown");
    const active = await prompt(page).getAttribute("aria-activedescendant");
    assert.equal(await page.locator(`#${active}[aria-selected=true] b`).textContent(), "/context ");
    await page.keyboard.press("Enter");
    assert.equal(await prompt(page).inputValue(), "/context ");
    await offered.first().waitFor({ state: "hidden" });
    await page.keyboard.press("Control+Enter");
    await page.getByText("You said: /context").waitFor();
    await prompt(page).fill("/");
    await offered.nth(2).waitFor();
    await page.keyboard.press("Escape");
    await offered.first().waitFor({ state: "hidden" });
    await prompt(page).fill("/usa");
    await offered.first().click();
    assert.equal(await prompt(page).inputValue(), "/usage ");
    await prompt(page).fill("/nobody-knows-it");
    await prompt(page).press("Control+Enter");
    await page.getByText("You said: /nobody-knows-it").waitFor();
  });

  it("says that a turn was cancelled, and takes the next request", async () => {
    const { page } = opened();
    await page.locator("#sessionState[data-status=Idle]").waitFor();
    await prompt(page).fill(steps({ message: "so far" }, { hang: true }));
    await prompt(page).press("Control+Enter");
    await page.locator("[data-type=Message]", { hasText: "so far" }).waitFor();
    await page.getByRole("button", { name: "Stop turn" }).click();
    await page.getByText("The turn was cancelled").waitFor();
    await prompt(page).fill("next");
    await prompt(page).press("Control+Enter");
    await page.getByText("You said: next").waitFor();
  });

  it("keeps its mode when the agent refuses another, and says why", async t => {
    const { page } = await openSession(t, "acp:stubborn");
    await page.getByLabel("Mode", { exact: true }).selectOption("#plan");
    await page.locator("#agentError", { hasText: "not now" }).waitFor();
    assert.equal(await page.getByLabel("Mode", { exact: true }).inputValue(), "#agent");
    const willing = (await openSession(t, "acp:moded")).page;
    await willing.getByLabel("Mode", { exact: true }).selectOption("#plan");
    await chosen(willing, "", "#plan");
  });

  it("marks a value that the agent accepts but does not report", async t => {
    const { page } = await openSession(t, "acp:deaf");
    await page.getByLabel("Allow All").click();
    await page.getByText("not confirmed").waitFor();
    assert.equal(await checked(page), false);
  });

  it("does not change the page of a session on a model", async t => {
    const { page } = await openSession(t, "gpt-5.1-mini");
    await prompt(page).pressSequentially("/co");
    await page.locator("#sessionModel", { hasText: basename(parts.workingDirectory) }).waitFor();
    assert.equal(await page.locator("#agentBar").isVisible(), false);
    assert.equal(await page.getByRole("listbox").isVisible(), false);
  });
});

describe("what an ACP agent does in a session", () => {
  const talk = forGroup(scope => openSession(scope));

  it("shows the agent's plan, title, context and notices as plain text, even after a reload", async () => {
    const { page, address } = talk();
    await play(
      talk(),
      update("plan", {
        entries: [
          { content: "Look", status: "completed" },
          { content: evil, status: "in_progress", priority: "high" },
          { content: "Tell", status: "whatever" },
        ],
      }),
      update("session_info_update", { title: `Our talk ${evil}` }),
      update("usage_update", { used: 3000, size: 12000, cost: { amount: 0.25, currency: "USD" } }),
      update("notice", { severity: "warning", title: "Careful", text: evil }),
      ...tool(
        "t1",
        { title: evil, kind: "read", locations: [{ path: evil, line: 3 }] },
        { rawOutput: { content: evil } },
      ),
      { stop: "max_tokens" },
    );
    const check = async (other: Page) => {
      await other.locator(".notice", { hasText: "Careful" }).waitFor();
      const plan = other.getByRole("button", { name: "Plan 1/3" });
      await plan.waitFor();
      // A wide window opens the first plan by itself, a little later.
      const isExpanded = (wanted: boolean) =>
        seen(async () => {
          if ((await plan.getAttribute("aria-expanded")) === `${wanted}`) return true;
          await plan.click();
          return false;
        });
      await isExpanded(true);
      assert.deepEqual(await other.locator("#planList li").allTextContents(), [
        "Look ",
        `${evil} high`,
        "Tell ",
      ]);
      await isExpanded(false);
      assert.match(
        (await other.locator("#context").textContent()) ?? "",
        /3,000 of 12,000 tokens · 0.25 USD/,
      );
      assert.equal(await other.locator("#contextMeter").getAttribute("value"), "3000");
      await other.locator(".notice", { hasText: "The answer was cut off" }).waitFor();
      await other.getByRole("button", { name: /^Tool/ }).click();
      await other.locator(".tool-view code", { hasText: ":3" }).waitFor();
      // The list of commands would cover a part of it.
      await other.getByRole("button", { name: /^Tool/ }).click();
      await prompt(other).pressSequentially("/");
      await other.locator("#command-2").waitFor();
      assert.equal(await other.locator("img").count(), 0);
    };
    await check(page);
    await inEveryThemeAt(address, check);
  });

  it("shows diffs, files, kinds and exit codes in tool blocks", async () => {
    const { page } = talk();
    const long = Array.from({ length: 40 }, (_, line) => `line ${line}`);
    const diff = (path: string, oldText: string | null, newText: string) => ({
      type: "diff",
      path,
      oldText,
      newText,
    });
    await play(
      talk(),
      ...tool(
        "t1",
        { title: "Viewing /a/b.ts", kind: "read", rawInput: { path: "/a/b.ts" } },
        { rawOutput: { content: "text" } },
      ),
      ...tool(
        "t2",
        { title: "Edit", kind: "edit", locations: [{ path: "/a/b.ts" }] },
        {
          content: [
            diff("/a/b.ts", long.join("\n"), long.with(20, "changed").join("\n")),
            diff("/a/new.ts", null, "one\n"),
          ],
        },
      ),
      ...tool(
        "t3",
        { title: "Test", kind: "execute", rawInput: { command: "npm test" } },
        {
          content: [{ type: "content", content: { type: "text", text: "\u001b[1;31m1 failed\u001b[0m" } }],
          rawOutput: { exitCode: 3 },
        },
      ),
    );
    await page.getByRole("button", { name: /^3 tools, \d+ s, 1 failed/ }).click();
    const group = page.locator(".tool-group");
    await group.locator("[data-type=Tool][data-outcome]").nth(2).waitFor();
    const titles = await group.locator("[data-type=Tool] .message-block-title").allTextContents();
    assert.deepEqual(titles, ["Tool (Viewing /a/b.ts)", "Tool (Edit)", "Tool (Test: npm test)"]);
    const notes = await group.locator("[data-type=Tool] .message-block-note").allTextContents();
    assert.deepEqual(
      notes.map(note => note.replace(/ · [\d.]+ s$/, "")),
      ["read", "edit", "execute · exit code 3"],
    );
    for (const toggle of await group.locator("[data-type=Tool] .message-block-toggle").all())
      await toggle.click();
    assert.deepEqual(await group.locator(".tool-view code").allTextContents(), ["/a/b.ts", "/a/new.ts"]);
    const [changes] = await group.locator(".diff-lines").allInnerTexts();
    assert.match(changes ?? "", /^… 17 lines\n line 17\n line 18\n line 19\n-line 20\n\+changed\n line 21/);
    assert.match((await group.locator(".terminal").textContent()) ?? "", /npm test.*1 failed.*exit code 3/s);
    const red = group.locator(".terminal-output span[style*='font-weight: 700'][style*='--hue-1)']");
    assert.equal(await red.textContent(), "1 failed");
  });
});

describe("the ACP traffic of a session", () => {
  it("is shown message by message, and can be copied as a replay that an agent can play", async t => {
    const opened = await openSession(t);
    const { page, address, session } = opened;
    await play(opened, { message: "Said before" });
    await page.getByRole("button", { name: "Traffic" }).click();
    const dialog = page.getByRole("dialog", { name: "Traffic" });
    await dialog.getByText("→ session/prompt").click();
    await dialog.getByText('"method": "session/prompt"').waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await dialog.getByRole("button", { name: "Copy as replay" }).click();
    await dialog.getByRole("button", { name: "Copied" }).waitFor();
    const replay = String(await page.evaluate("navigator.clipboard.readText()"));
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await inEveryThemeAt(address, async other => {
      await other.getByRole("button", { name: "Traffic" }).click();
      await other.getByRole("dialog").getByText("initialize").first().click();
    });

    const playback = join(await tempFolder(t, "portal-replay"), "replay.jsonl");
    await writeFile(playback, replay);
    await reconfigure({ ...acpAgents, again: fakeAgent({ playback }) });
    defer(t, () => reconfigure(acpAgents));
    const played = await parts.start("acp:again");
    defer(t, () => played.call("delete", { method: "POST" }));
    const [prompted] = await session
      .untilIdle()
      .then(all => all.filter(one => one.callback === "onUserRequest"));
    await played.query(String(prompted?.prompt));
    const said = (await played.untilIdle()).find(({ callback }) => callback === "onEndMessage");
    assert.equal(said?.completeContent, "Said before");
  });
});

describe("ACP agents on the agents page", () => {
  const program = (page: Page, title: string) => page.locator(".agents-program", { hasText: title });
  async function openProgram(page: Page, title: string) {
    const card = program(page, title);
    await card.locator("summary").first().click();
    return card;
  }

  it("show their state, version, capabilities and log, and can be tested and restarted", async t => {
    const page = await open(t, "/agents.html");
    await page.locator("#programProblems", { hasText: "Bad Id" }).waitFor();
    const card = await openProgram(page, "The fake");
    await card.getByRole("button", { name: "Test" }).click();
    await card.getByText("It answers. 1.2.3").waitFor();
    await card.locator(".status", { hasText: "ready" }).waitFor();
    await card.getByText("acp:fake · stdio · 1.2.3").waitFor();
    await card.getByText("Capabilities", { exact: true }).click();
    await card.getByText('"loadSession": true').waitFor();
    await card.getByText("Recent log").click();
    await card.locator("pre", { hasText: "the agent's last words" }).waitFor();
    assert.equal(await page.locator("img").count(), 0);
    await card.getByRole("button", { name: "Restart" }).click();
    await card.getByText("It answers. 1.2.3").waitFor();

    const gone = await openProgram(page, "Missing");
    await gone.getByRole("button", { name: "Test" }).click();
    await gone.locator("[data-part=told]", { hasText: "Install it first." }).waitFor();
    await gone.locator("[data-part=lastError]", { hasText: "Install it first." }).waitFor();
    await gone.getByRole("button", { name: "Try again" }).click();
    await gone.locator("[data-part=told]", { hasText: "Install it first." }).waitFor();

    const locked = await openProgram(page, "locked");
    await locked.getByRole("button", { name: "Test" }).click();
    await locked.getByRole("button", { name: "Sign in: Browser" }).click();
    await locked.getByText("Signed in.").waitFor();
  });

  it("load their earlier sessions with the history", async t => {
    const { session } = await openSession(t);
    await session.query("remember me");
    await session.untilIdle();
    const before = await open(t, "/agents.html");
    const card = await openProgram(before, "The fake");
    await card.getByRole("button", { name: "Earlier sessions" }).click();
    await card.getByRole("button", { name: "Load" }).first().waitFor();
    await inEveryThemeAt("/agents.html", async page => {
      const own = await openProgram(page, "The fake");
      await own.getByRole("button", { name: "Earlier sessions" }).click();
      await own.getByRole("button", { name: "Load" }).first().waitFor();
      await own.getByText("Recent log").click();
      const gone = await openProgram(page, "Missing");
      await gone.getByRole("button", { name: /Test/ }).click();
      await gone.locator("[data-part=told]", { hasText: "Install" }).waitFor();
    });
    await session.call("stop", { method: "POST" });
    await card.getByRole("button", { name: "Load" }).first().click();
    await before.getByText("The earlier conversation, as the agent remembers it").waitFor();
    await before.locator("[data-type=User]", { hasText: "remember me" }).waitFor();
    assert.equal(await before.locator(".message-block-title").first().textContent(), "User (earlier)");
    await prompt(before).fill("go on");
    await prompt(before).press("Control+Enter");
    await before.getByText("You said: go on").waitFor();
  });

  it("are explained when there are none, and appear when the configuration has them", async t => {
    await reconfigure({});
    const page = await open(t, "/agents.html");
    await page.getByText("None yet. Add one that speaks ACP").waitFor();
    await assertAccessible(page, "no agent programs");
    await parts.configure({ late: fakeAgent() });
    await page.getByRole("button", { name: "Reload" }).click();
    await program(page, "late").waitFor();
    assert.equal(await page.getByText("None yet.").isVisible(), false);
  });
});
