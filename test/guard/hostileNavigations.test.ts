import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { defer } from "../support/cleanup.js";
import { startPortal } from "../support/portal.js";

let browser: Browser;
before(async () => {
  browser = await launchBrowser(["--host-resolver-rules=MAP *.example 127.0.0.1"]);
});
after(() => browser.close());

const token = "a-token-for-tests-only-0123456789";
const acting = ["/api/stop", "/api/copilot/session/start/demo"];

/** A portal, and a browser whose user has opened it and, where it asks for a token, has presented the token. */
async function startVisited(t: TestContext, auth: boolean) {
  const portal = await startPortal(t, auth ? { args: ["--auth"], env: { PORTAL_TOKEN: token } } : {});
  const base = new URL(portal.stopUrl).origin;
  const context = await browser.newContext();
  defer(t, () => context.close());
  const page = await context.newPage();
  await page.goto(portal.url);
  const headers = { authorization: `Bearer ${token}` };
  const sessions = async () => {
    const answer = await fetch(`${base}/api/copilot/session/history`, { headers });
    assert.equal(answer.status, 200, "the portal was not stopped");
    return ((await answer.json()) as { sessions: unknown[] }).sessions;
  };
  return { portal, base, context, page, sessions };
}

/** A foreign server: each of its paths sends its visitor to `?to=` in a different way. */
async function startEvil(t: TestContext): Promise<number> {
  const pages: Record<string, (to: string) => string> = {
    "/speculation": to =>
      `<script type="speculationrules">${JSON.stringify({
        [new URL(to).searchParams.get("how") ?? ""]: [{ source: "list", urls: [to], eagerness: "immediate" }],
      })}</script>`,
    "/hints": to =>
      ["prefetch", "prerender", "preload", "modulepreload", "preconnect", "dns-prefetch"]
        .map(rel => `<link rel="${rel}" as="fetch" href="${to}">`)
        .join(""),
    "/link": to =>
      `<a href="${to}" referrerpolicy="no-referrer">x</a><script>document.links[0].click()</script>`,
    "/open": to => `<button onclick="open('${to}', '_self', 'noreferrer')">x</button>`,
    "/location": to => `<script>location = "${to}"</script>`,
    "/refresh": to =>
      `<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${to}">`,
    "/get": to => `<form action="${to}"></form><script>document.forms[0].submit()</script>`,
    "/post": to => `<form method="post" action="${to}"><input name="confirm" value="1.x"></form>
      <script>document.forms[0].submit()</script>`,
    "/history": to => `<script>location.replace("/303?to=${encodeURIComponent(to)}")</script>`,
  };
  const server = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? "/", "http://evil.example");
    const to = searchParams.get("to") ?? "";
    const status = Number(pathname.slice(1));
    if (status) return void res.writeHead(status, { location: to, "referrer-policy": "no-referrer" }).end();
    res.setHeader("content-type", "text/html");
    res.end(`<!doctype html><title>evil</title>${pages[pathname]?.(to) ?? ""}`);
  });
  server.listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  defer(t, () => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

/** The outcome of a prefetch or prerender, as the browser itself reports it. */
async function outcome(context: BrowserContext, page: Page, how: string, evil: string): Promise<string> {
  const client = await context.newCDPSession(page);
  await client.send("Preload.enable");
  const told = new Promise<string>(resolve => {
    client.on("Preload.prefetchStatusUpdated", ({ status, prefetchStatus }) => {
      if (how === "prefetch" && /Failure|Success|Ready/.test(status)) resolve(`${status} ${prefetchStatus}`);
    });
    client.on("Preload.prerenderStatusUpdated", ({ status, prerenderStatus }) => {
      if (how === "prerender" && /Failure|Success|Ready/.test(status))
        resolve(`${status} ${prerenderStatus}`);
    });
  });
  await page.goto(evil);
  return told;
}

for (const auth of [false, true])
  describe(`A foreign page cannot make its visitor's browser act, ${auth ? "with a token and its cookie" : "without a token"}`, () => {
    for (const host of ["localhost", "127.0.0.1", "evil.example"])
      test(`a foreign page on ${host} cannot act through a prefetch or prerender`, async t => {
        const { base, context, page, sessions } = await startVisited(t, auth);
        const port = await startEvil(t);
        for (const path of acting)
          for (const how of ["prefetch", "prerender"]) {
            const to = `${base}${path}?how=${how}`;
            const evil = `http://${host}:${port}/speculation?to=${encodeURIComponent(to)}`;
            assert.match(await outcome(context, page, how, evil), /^Failure/, `${how} ${path}`);
          }
        await page.goto(`http://${host}:${port}/hints?to=${encodeURIComponent(base + acting[1])}`, {
          waitUntil: "networkidle",
        });
        assert.deepEqual(await sessions(), []);
      });

    for (const host of ["localhost", "127.0.0.1", "evil.example"])
      test(`a foreign page on ${host} cannot act by sending its visitor to the portal`, async t => {
        const { base, page, sessions } = await startVisited(t, auth);
        const port = await startEvil(t);
        for (const path of acting)
          for (const way of ["link", "open", "location", "refresh", "get", "post", "history"]) {
            const arrival = page.waitForResponse(response => response.url().startsWith(`${base}${path}`));
            await page.goto(`http://${host}:${port}/${way}?to=${encodeURIComponent(base + path)}`);
            if (way === "open") await page.click("button");
            const answer = await arrival;
            assert.equal(answer.status(), 403, `${way} ${path}`);
            assert.match(await answer.text(), /OriginRefused/, `${way} ${path}`);
          }
        assert.deepEqual(await sessions(), []);
      });

    test("a foreign page cannot act by redirecting a typed address: the portal asks first, and then acts", async t => {
      const { base, page, sessions } = await startVisited(t, auth);
      const port = await startEvil(t);
      for (const path of acting)
        for (const status of [301, 302, 303, 307, 308]) {
          const answer = await page.goto(
            `http://evil.example:${port}/${status}?to=${encodeURIComponent(base + path)}`,
          );
          assert.equal(answer?.status(), 403);
          assert.match(await page.content(), /Nothing has happened yet/, `${status} ${path}`);
        }
      assert.deepEqual(await sessions(), []);
      assert.match(await page.content(), /Start a session/);
      await Promise.all([page.waitForResponse(response => response.status() === 200), page.click("button")]);
      assert.equal((await sessions()).length, 1);
    });
  });

describe("A browser that opens the printed stop address", () => {
  test("the stop page asks in the portal's own look, light and dark, and its button stops the portal", async t => {
    const { portal, page } = await startVisited(t, false);
    const backgrounds = new Set<string>();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const answer = await page.goto(portal.stopUrl);
      assert.equal(answer?.status(), 403);
      backgrounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
    }
    assert.equal(backgrounds.size, 2);
    assert.match(
      (await page.locator("main").textContent()) ?? "",
      /Stops every session, then the portal\s+\/api\/stop/,
    );
    await page.click("button");
    assert.equal((await portal.exited).code, 0);
  });

  test("the stop page ignores clicks at first, and again when a window above it has just closed", async t => {
    const { portal, page, sessions } = await startVisited(t, false);
    await page.clock.install({ time: 0 });
    await page.clock.pauseAt(1000);
    await page.goto(`${portal.stopUrl}#question`);
    const button = page.locator("button");
    const isHeld = page.locator("#question[aria-disabled=true]");
    await page.locator("button:enabled").waitFor();
    await isHeld.waitFor();
    await button.dispatchEvent("click");
    // An attacker's window above the page would have opened it long before.
    await page.clock.runFor(10_000);
    await page.locator("#question:not([aria-disabled])").waitFor();
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await button.dispatchEvent("click");
    await page.clock.runFor(499);
    await button.dispatchEvent("click");
    assert.deepEqual(await sessions(), []);
    assert.match(page.url(), /#question$/);
    assert.equal(await page.evaluate("document.activeElement.tagName"), "BODY", "the button has no focus");
    await page.clock.runFor(1);
    await button.click();
    assert.equal((await portal.exited).code, 0);
  });
});
