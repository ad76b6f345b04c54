import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { defer, forGroup } from "../support/cleanup.js";
import { barrier, byPrompt, startScriptedModel } from "../support/model/scriptedModel.js";
import { callTool, newClient } from "../support/orchestrator/orchestrator.js";
import { agentRepo, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";
import { inEveryTheme } from "../support/pages/axe.js";
import { openPage, sharedBrowser } from "../support/pages/browser.js";
import { startPortal } from "../support/portal/portal.js";

const browserOf = sharedBrowser();

interface Run {
  runId: string;
  status: string;
  agents: string[];
  failure?: string;
}

const hold = barrier();
/** For both, one after the other: the page then also lists the runs of before. */
const parts = forGroup(async scope => {
  const model = await startScriptedModel(scope, byPrompt({ hold: [hold.step, { text: "late" }] }));
  const env = {
    REPO_ROOT: await agentRepo(scope, { ...referenceFiles(), "bad.md": "broken" }),
    AGENT_TIMEOUT: "5m",
    ALLOW_AGENT_MCP_SERVERS: "true",
  };
  return { model, env, portal: await startPortal(scope, { model, env }) };
});

describe("runs of agents over REST", () => {
  test("can be started, followed, stopped, listed and deleted; a restart ends the running ones", async t => {
    const { model, portal } = parts();
    const { body: listed } = await portal.api<{ agents: unknown[]; problems: { code: string }[] }>(
      "copilot/agent",
    );
    assert.equal(listed.agents.length, 5);
    assert.ok(listed.problems.some(({ code }) => code === "no-front-matter"));
    const { body: judged } = await portal.api("copilot/agent/evaluate", { body: "Write tests" });
    assert.deepEqual(judged.selectedAgents, ["test-generator"]);
    const start = async (prompt: string, query = "") =>
      (await portal.api<Run>(`copilot/run/start${query}`, { body: prompt })).body.runId;
    const about = async (id: string) => (await portal.api<Run>(`copilot/run/${id}`)).body;
    const events = async (id: string) => (await fetch(`${portal.url}/api/copilot/run/${id}/events`)).text();

    const both = await start("Review the authentication module for security issues");
    const text = await events(both);
    const order = [
      "runPlanned",
      "runAgentStarted",
      "onUserRequest",
      "onEndMessage",
      "runAgentEnded",
      "runSucceeded",
      "RunClosed",
    ];
    const places = order.map(name => text.indexOf(name));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      text,
    );
    assert.match(text, /"messageId":"1\./);
    assert.match(text, /"messageId":"2\./);
    const known = await about(both);
    assert.deepEqual([known.status, known.agents], ["Succeeded", ["code-reviewer", "devops-engineer"]]);

    const failed = await start("hello", "?agents=nobody");
    assert.match(await events(failed), /runFailed","code":"AGENT_NOT_FOUND"/);
    assert.match((await about(failed)).failure ?? "", /nobody/);

    const stopped = await start("hold this", "?agents=code-reviewer");
    await hold.reached;
    await portal.api(`copilot/run/${stopped}/stop`, { body: "" });
    assert.equal((await about(stopped)).status, "Canceled");

    const server = "mcp-servers:\n  own:\n    command: touch\n    args: [ran]\n";
    const elsewhere = await agentRepo(t, {
      "only-here.md": `---\nname: only-here\ndescription: Writes tests\n${server}---\nTest.`,
    });
    const at = `folder=${encodeURIComponent(elsewhere)}`;
    const { body: others } = await portal.api<{
      repoRoot: string;
      agents: { name: string }[];
      problems: { code: string }[];
    }>(`copilot/agent?${at}`);
    assert.deepEqual([others.repoRoot, others.agents.map(({ name }) => name)], [elsewhere, ["only-here"]]);
    assert.deepEqual(
      others.problems.map(({ code }) => code),
      ["mcp-servers-ignored"],
      "the settings allow programs only in their own repository",
    );
    const { body: judgedThere } = await portal.api(`copilot/agent/evaluate?${at}`, { body: "Write tests" });
    assert.deepEqual(judgedThere.selectedAgents, ["only-here"]);
    const there = await start("Where am I", `?agents=only-here&${at}&model=${model.modelId}`);
    assert.match(await events(there), /runSucceeded/);
    const { body: ran } = await portal.api(`copilot/run/${there}`);
    assert.equal(ran.repoRoot, elsewhere);
    const errorOf = async (query: string) =>
      (await portal.api(`copilot/run/start?${query}`, { body: "Write tests" })).body.error;
    assert.equal(await errorOf("model=no-such-model"), "ModelIdNotFound");
    assert.equal(await errorOf("folder=here"), "WorkingDirectoryNotAbsolutePath");
    await portal.api(`copilot/run/${there}/delete`, { body: "" });

    const bad = await portal.api("copilot/run/start", { body: " " });
    assert.deepEqual([bad.status, bad.body.error], [400, "PromptInvalid"]);
    const { body: history } = await portal.api<{ runs: Run[] }>("copilot/run/history");
    assert.deepEqual(
      history.runs.map(({ runId }) => runId),
      [stopped, failed, both],
    );
    await portal.api(`copilot/run/${failed}/delete`, { body: "" });
    assert.equal((await portal.api(`copilot/run/${failed}`)).body.error, "RunNotFound");

    const cut = await start("hold that", "?agents=test-generator");
    await model.waitForRequest(({ userText }) => userText.includes("hold that"));
    await portal.kill();
    await portal.restart();
    assert.equal((await about(cut)).status, "Failed");
    assert.match(await events(cut), /runFailed[\s\S]*RunClosed/);
    assert.match(await events(both), /runSucceeded[\s\S]*RunClosed/);
  });
});

describe("the agents page", () => {
  test("shows agents and problems, judges the prompt as it is typed, and shows a run with live blocks", async t => {
    const { model, env, portal } = parts();
    const browser = await browserOf();
    const { page, problems } = await openPage(t, browser, `${portal.url}/agents.html`);
    await page.waitForSelector("#list button >> nth=4");
    assert.match((await page.textContent("#problems")) ?? "", /bad\.md: .*\(no-front-matter\)/);
    await page.fill("#prompt", "Write tests");
    await page.waitForSelector("#evaluation >> text=Would run: test-generator");
    const other = page.locator("#list button", { hasText: "code-reviewer" });
    await other.click();
    await page.waitForSelector("#evaluation >> text=Would run: code-reviewer");
    await other.click();
    await page.waitForSelector("#evaluation >> text=Would run: test-generator");
    assert.match((await page.textContent("#evaluation")) ?? "", /Unclear, confidence 60 %: missing-context/);
    await page.click("#run");
    await page.waitForSelector("#status[data-status=Succeeded]");
    await page.waitForSelector("#responses >> text=You said: Write tests");
    assert.match(page.url(), /\?run=/);

    await page.click("[data-agent=code-reviewer]");
    await page.click("[data-agent=architecture-advisor]");
    await page.fill("#prompt", "Look at the login flow");
    assert.equal(await page.textContent("#run"), "Run code-reviewer → architecture-advisor");
    await page.click("#run");
    await page.waitForSelector("#responses >> text=Step 2: architecture-advisor");
    await page.waitForSelector("#status[data-status=Succeeded]");

    await page.reload();
    await inEveryTheme(browser, page.url(), async other => {
      await other.waitForSelector("#responses >> text=Step 2: architecture-advisor");
      await other.waitForSelector("#evaluation >> text=confidence");
    });
    await page.waitForSelector("#responses >> text=Step 2: architecture-advisor");
    assert.equal(await page.inputValue("#prompt"), "Look at the login flow");
    await page.waitForSelector("#runs a[aria-current=page] >> text=Look at the login flow");
    const client = newClient();
    defer(t, () => client.close());
    const transport = new StreamableHTTPClientTransport(new URL(`${portal.url}/mcp`));
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    await client.listTools();
    await callTool(client, "run_agent", { agentName: "test-generator", prompt: "Asked over MCP" });
    await page.click("#runs a:has-text('Asked over MCP')");
    await page.waitForSelector("#responses >> text=You said: Asked over MCP");
    await page.waitForSelector("#status[data-status=Succeeded]");

    const elsewhere = await agentRepo(t, {
      "only-here.md": "---\nname: only-here\ndescription: Writes tests\n---\nTest.",
    });
    await page.goto(`${portal.url}/agents.html`);
    await page.waitForSelector("#list button >> nth=4");
    assert.equal(await page.getByLabel("Repository").inputValue(), env.REPO_ROOT);
    await page.getByLabel("Prompt").fill("Write tests");
    await page.getByLabel("Repository").fill("nowhere");
    await page.locator("#folderError", { hasText: "absolute path" }).waitFor();
    await page.getByLabel("Repository").fill(elsewhere);
    await page.waitForSelector("#evaluation >> text=Would run: only-here");
    assert.equal(await page.locator("#list button").count(), 1);
    await page.getByLabel("Model").selectOption(model.modelId);
    await page.waitForSelector("#evaluation >> text=/Would run: only-here on ./");
    await page.click("#run");
    await page.waitForSelector("#status[data-status=Succeeded]");
    await page.reload();
    await page.waitForSelector("[data-agent=only-here]");
    assert.equal(await page.getByLabel("Repository").inputValue(), elsewhere);

    await page.goto(`${portal.url}/index.html`);
    await page.waitForSelector(".history-item >> text=Look at the login flow");
    await page.waitForSelector(".history-item >> text=Asked over MCP");
    assert.deepEqual(problems, []);
  });
});
