import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { launchBrowser } from "../support/browser.js";
import { defer } from "../support/cleanup.js";
import { agentRepo, referenceFiles } from "../support/orchestratorRepo.js";
import { startPortal } from "../support/portal.js";
import { byPrompt, startScriptedModel } from "../support/scriptedModel.js";

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "evil", version: "1" } },
});
const call = JSON.stringify({
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "run_agent", arguments: { agentName: "code-reviewer", prompt: "Run for me" } },
});

/** Every way for a page to send something to an MCP endpoint and read the response. */
const attacks = (mcp: string) => `<!doctype html><title>evil</title><body><iframe name="sink"></iframe>
<form id="form" method="post" enctype="text/plain" action="${mcp}" target="sink"><input name='${initialize.slice(0, -1)},"x":"' value='"}'></form>
<script>
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const plain = { accept: "application/json, text/event-stream" };
const results = [];
const note = (what, promise) => promise.then(() => results.push(what + ": READ"), () => results.push(what + ": refused"));
const read = response => response.text().then(text => response.ok && text !== "" ? text : Promise.reject());
const all = [
  note("json", fetch("${mcp}", { method: "POST", headers, body: ${JSON.stringify(initialize)} }).then(read)),
  note("simple", fetch("${mcp}", { method: "POST", headers: plain, body: ${JSON.stringify(initialize)} }).then(read)),
  note("opaque", fetch("${mcp}", { method: "POST", mode: "no-cors", body: ${JSON.stringify(initialize)} }).then(read)),
  note("call", fetch("${mcp}", { method: "POST", headers: { ...headers, "mcp-session-id": "x" }, body: ${JSON.stringify(call)} }).then(read)),
  note("stream", new Promise((yes, no) => { const s = new EventSource("${mcp}"); s.onopen = yes; s.onerror = () => { s.close(); no(); }; })),
  note("end", fetch("${mcp}", { method: "DELETE", headers: { "mcp-session-id": "x" } }).then(read)),
];
navigator.sendBeacon("${mcp}", ${JSON.stringify(initialize)});
document.getElementById("form").submit();
Promise.all(all).then(() => { document.title = results.join(", "); });
</script>`;

async function startEvil(t: TestContext, mcp: string): Promise<number> {
  const server = createServer((_req, res) => {
    res.writeHead(200, { "content-type": "text/html" }).end(attacks(mcp));
  });
  server.listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  defer(t, () => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

describe("A foreign page in a real browser", () => {
  test("can neither call agents at /mcp nor read its responses, whatever the page's origin is", async t => {
    const model = await startScriptedModel(t, byPrompt({}));
    const env = { REPO_ROOT: await agentRepo(t, referenceFiles()) };
    const portal = await startPortal(t, { model, env });
    const browser = await launchBrowser(["--host-resolver-rules=MAP *.example 127.0.0.1"]);
    defer(t, () => browser.close());
    const mcp = `${portal.url}/mcp`;
    const port = await startEvil(t, mcp);
    for (const host of ["evil.example", "localhost", "127.0.0.1"]) {
      const context = await browser.newContext();
      const page = await context.newPage();
      const statuses: number[] = [];
      const methods = new Set<string>();
      context.on("request", request => {
        if (request.url() === mcp) methods.add(request.method());
      });
      context.on("response", response => {
        if (response.url() === mcp) statuses.push(response.status());
      });
      await page.goto(`http://${host}:${port}/`);
      await page.waitForFunction("document.title.includes(': ')");
      assert.equal((await page.title()).match(/: refused/g)?.length, 6, await page.title());
      assert.ok(methods.has("POST") && methods.has("GET"), [...methods].join());
      assert.deepEqual([...new Set(statuses)], [403], host);
      await context.close();
    }
    assert.equal(model.requests.length, 0, "no agent ran");
    assert.deepEqual((await portal.api("copilot/run/history")).body, { runs: [] });

    const own = await (await browser.newContext()).newPage();
    await own.goto(`${portal.url}/agents.html`);
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const init = JSON.stringify({ method: "POST", headers, body: initialize });
    assert.equal(
      await own.evaluate(`fetch("/mcp", ${init}).then(r => r.status)`),
      200,
      "the portal's own page may",
    );
  });
});
