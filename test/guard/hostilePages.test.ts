import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { defer } from "../support/cleanup.js";
import { startPortal } from "../support/portal.js";

let browser: Browser;
before(async () => {
  // A name server that answers with this machine's address: DNS rebinding.
  browser = await launchBrowser(["--host-resolver-rules=MAP *.example 127.0.0.1"]);
});
after(() => browser.close());

/** Everything a foreign page can try without being allowed to read the answer. */
const attacks = (portal: string) => {
  const stop = `${portal}/api/stop`;
  return `<!doctype html><title>evil</title><body>
<img src="${stop}"><script src="${stop}"></script><link rel="stylesheet" href="${stop}">
<link rel="prefetch" href="${stop}"><iframe src="${stop}"></iframe><video src="${stop}"></video>
<object data="${stop}"></object><iframe src="${portal}/index.html"></iframe><img src="/redirect"><iframe name="sink"></iframe>
<form id="get" action="${stop}" target="sink"></form>
<form id="text" method="post" enctype="text/plain" action="${portal}/api/copilot/session/start/demo" target="sink"><input name="/" value="x"></form>
<a id="link" href="${stop}">a link</a>
<script>
const results = [];
const note = (what, promise) => promise.then(() => results.push(what + ": " + "READ"), () => results.push(what + ": refused"));
const all = [
  note("cors", fetch("${stop}").then(r => r.text())),
  note("post", fetch("${portal}/api/copilot/session/start/demo", {method: "POST", body: "/"}).then(r => r.text())),
  note("json", fetch("${portal}/api/copilot/permission/rules/add", {method: "POST", headers: {"content-type": "application/json"}, body: "{}"}).then(r => r.text())),
  note("opaque", fetch("${stop}", {mode: "no-cors"}).then(r => r.text().then(t => t === "" ? Promise.reject() : t))),
  note("credentials", fetch("${portal}/api/copilot/models", {credentials: "include"}).then(r => r.text())),
  note("events", new Promise((yes, no) => { const s = new EventSource("${portal}/api/copilot/session/x/events"); s.onopen = yes; s.onerror = no; })),
  note("socket", new Promise((yes, no) => { const s = new WebSocket("${portal}/api/stop".replace("http", "ws")); s.onopen = yes; s.onerror = no; })),
];
navigator.sendBeacon("${stop}", "x");
document.getElementById("get").submit();
document.getElementById("text").submit();
Promise.all(all).then(() => { document.title = results.join(", "); });
</script>`;
};

async function startEvil(t: TestContext, portal: string): Promise<number> {
  const server = createServer((req, res) => {
    if (req.url === "/redirect") return void res.writeHead(302, { location: `${portal}/api/stop` }).end();
    res.writeHead(200, { "content-type": "text/html" }).end(attacks(portal));
  });
  server.listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  defer(t, () => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

describe("A foreign page in a real browser", () => {
  for (const host of ["evil.example", "localhost", "127.0.0.1"])
    test(`a foreign page on ${host} can neither call the portal nor read from it nor navigate to it`, async t => {
      const portal = await startPortal(t);
      const port = await startEvil(t, portal.url);
      const context = await browser.newContext();
      defer(t, () => context.close());
      const page = await context.newPage();
      const statuses: number[] = [];
      let attempts = 0;
      context.on("request", request => {
        if (request.url().startsWith(portal.url)) attempts++;
      });
      context.on("response", response => {
        if (response.url().startsWith(`${portal.url}/api`)) statuses.push(response.status());
      });
      await page.goto(`http://${host}:${port}/`);
      await page.waitForFunction("document.title.includes(': ')");
      assert.doesNotMatch(await page.title(), /READ/);
      for (const frame of page.frames())
        assert.equal(
          await frame.locator("#startForm").count(),
          0,
          "no page of the portal is shown in a frame",
        );
      const [answer] = await Promise.all([
        page.waitForResponse(
          response => response.request().isNavigationRequest() && response.frame() === page.mainFrame(),
        ),
        page.click("#link"),
      ]);
      assert.equal(answer.status(), 403);
      assert.ok(attempts >= 10, `only ${attempts} attempts were made`);
      assert.deepEqual([...new Set(statuses)], [403]);
      assert.equal((await portal.api("test")).status, 200, "the portal was not stopped");
      assert.deepEqual((await portal.api("copilot/session/history")).body, { sessions: [] });
    });

  test("a foreign page gets nothing through a name that resolves to the portal's address", async t => {
    const portal = await startPortal(t);
    const context = await browser.newContext();
    defer(t, () => context.close());
    const page = await context.newPage();
    const answer = await page.goto(`http://rebound.example:${new URL(portal.url).port}/`);
    assert.equal(answer?.status(), 403);
    assert.match(await page.content(), /HostRefused/);
  });

  test("a browser that opened the printed address stays signed in, and scripts never see the cookie", async t => {
    const token = "a-token-for-tests-only-0123456789";
    const portal = await startPortal(t, { args: ["--auth"], env: { PORTAL_TOKEN: token } });
    const context = await browser.newContext();
    defer(t, () => context.close());
    const page = await context.newPage();
    await page.goto(portal.url);
    assert.doesNotMatch(page.url(), /token/);
    assert.equal(await page.evaluate("document.cookie"), "");
    assert.equal(await page.evaluate("fetch('/api/test').then(r => r.status)"), 200);
    const other = await browser.newContext();
    defer(t, () => other.close());
    const stranger = await other.newPage();
    await stranger.goto(new URL("/index.html", portal.url).href);
    assert.equal(await stranger.evaluate("fetch('/api/test').then(r => r.status)"), 401);
  });
});
