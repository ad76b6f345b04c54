import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { defer, groupScope } from "../support/cleanup.js";
import { initialize, startForeignServer } from "../support/hostile/foreignServer.js";
import { byPrompt, type ScriptedModel, startScriptedModel } from "../support/model/scriptedModel.js";
import { agentRepo, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";
import { launchBrowser, launchWholeBrowser, oneProcess } from "../support/pages/browser.js";
import { type Portal, startPortal } from "../support/portal/portal.js";

const file = groupScope();
/** The engine sends what the whole browser sends, and costs a quarter of its processor time. */
let browser: Browser;
/** Prefetches and prerenders too. */
let wholeBrowser: Browser;
let port: number;
let model: ScriptedModel;
before(async () => {
  model = await startScriptedModel(file, byPrompt({}));
  // A name server that answers with this machine's address: DNS rebinding.
  const flags = ["--host-resolver-rules=MAP *.example 127.0.0.1", ...oneProcess];
  browser = await launchBrowser(flags);
  wholeBrowser = await launchWholeBrowser(flags);
  port = await startForeignServer(file);
});
after(() => Promise.all([browser.close(), wholeBrowser.close()]));

const token = "a-token-for-tests-only-0123456789";
const stopping = "/api/stop";
const starting = "/api/copilot/session/start/demo";
/** Each way is tried on both, on one with and on the other without a token; `routes.test` tries every address. */
const actingFor = (i: number, auth: boolean) => ((i + Number(auth)) % 2 === 0 ? stopping : starting);
const ways = ["link", "open", "location", "refresh", "get", "post", "history"];

const portals = new Map<boolean, Promise<Portal>>();
/** One portal with and one without a token for all tests of the file. */
function portalOf(auth: boolean): Promise<Portal> {
  const start = async () => {
    if (auth) return startPortal(file, { args: ["--auth"], env: { PORTAL_TOKEN: token } });
    const env = { REPO_ROOT: await agentRepo(file, referenceFiles()) };
    return startPortal(file, { model, env, args: ["--demo"] });
  };
  const portal = portals.get(auth) ?? start();
  portals.set(auth, portal);
  return portal;
}

const contexts = new Map<string, Promise<BrowserContext>>();
/** A browser whose user has opened the portal and, where it asks for a token, has presented the token. */
async function contextOf(auth: boolean, used: Browser): Promise<BrowserContext> {
  const open = async () => {
    const context = await used.newContext();
    const page = await context.newPage();
    await page.goto((await portalOf(auth)).url);
    await page.close();
    return context;
  };
  const key = `${auth} ${used === wholeBrowser}`;
  const context = contexts.get(key) ?? open();
  contexts.set(key, context);
  return context;
}

/** A new page of a browser that has never been at the portal. */
async function openStrange(t: TestContext): Promise<Page> {
  const context = contexts.get("strange") ?? browser.newContext();
  contexts.set("strange", context);
  const page = await (await context).newPage();
  defer(t, () => page.close());
  return page;
}

/** A new page in that browser. */
async function openVisited(t: TestContext, auth: boolean, used = browser) {
  const portal = await portalOf(auth);
  const base = new URL(portal.stopUrl).origin;
  const context = await contextOf(auth, used);
  const page = await context.newPage();
  // The whole browser sometimes never confirms that a page has closed; it ends with the file anyway.
  defer(t, () => void page.close().catch(() => {}));
  const headers = { authorization: `Bearer ${token}` };
  const sessions = async () => {
    const answer = await fetch(`${base}/api/copilot/session/history`, { headers });
    assert.equal(answer.status, 200, "the portal was not stopped");
    return ((await answer.json()) as { sessions: unknown[] }).sessions;
  };
  return { portal, base, context, page, sessions };
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

describe("A foreign page in a real browser", () => {
  for (const host of ["evil.example", "localhost", "127.0.0.1"])
    test(`a foreign page on ${host} can neither call the portal nor read from it nor navigate to it`, async t => {
      const portal = await portalOf(false);
      const page = await openStrange(t);
      const statuses: number[] = [];
      let attempts = 0;
      page.on("request", request => {
        if (request.url().startsWith(portal.url)) attempts++;
      });
      page.on("response", response => {
        if (response.url().startsWith(`${portal.url}/api`)) statuses.push(response.status());
      });
      await page.goto(`http://${host}:${port}/attacks?to=${encodeURIComponent(portal.url)}`);
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
    const portal = await portalOf(false);
    const page = await openStrange(t);
    const answer = await page.goto(`http://rebound.example:${new URL(portal.url).port}/`);
    assert.equal(answer?.status(), 403);
    assert.match(await page.content(), /HostRefused/);
  });

  test("a foreign page can neither call the agents at /mcp nor read from it, whatever its origin is called", async t => {
    const portal = await portalOf(false);
    const mcp = `${portal.url}/mcp`;
    for (const host of ["evil.example", "localhost", "127.0.0.1"]) {
      const page = await openStrange(t);
      const statuses: number[] = [];
      const methods = new Set<string>();
      page.on("request", request => {
        if (request.url() === mcp) methods.add(request.method());
      });
      page.on("response", response => {
        if (response.url() === mcp) statuses.push(response.status());
      });
      await page.goto(`http://${host}:${port}/mcp?to=${encodeURIComponent(mcp)}`);
      await page.waitForFunction("document.title.includes(': ')");
      assert.equal((await page.title()).match(/: refused/g)?.length, 6, await page.title());
      assert.ok(methods.has("POST") && methods.has("GET"), [...methods].join());
      assert.deepEqual([...new Set(statuses)], [403], host);
    }
    assert.equal(model.requests.length, 0, "no agent ran");
    assert.deepEqual((await portal.api("copilot/run/history")).body, { runs: [] });

    const { page: own } = await openVisited(t, false);
    await own.goto(`${portal.url}/agents.html`);
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const init = JSON.stringify({ method: "POST", headers, body: initialize });
    assert.equal(
      await own.evaluate(`fetch("/mcp", ${init}).then(r => r.status)`),
      200,
      "the portal's own page may",
    );
  });

  test("a browser that opened the printed address stays signed in, and scripts never see the cookie", async t => {
    const { portal, page } = await openVisited(t, true);
    await page.goto(new URL("/index.html", portal.url).href);
    assert.equal(await page.evaluate("fetch('/api/test').then(r => r.status)"), 200);
    await page.goto(portal.url);
    assert.doesNotMatch(page.url(), /token/);
    assert.equal(await page.evaluate("document.cookie"), "");
    assert.equal(await page.evaluate("fetch('/api/test').then(r => r.status)"), 200);
    const stranger = await openStrange(t);
    await stranger.goto(new URL("/index.html", portal.url).href);
    assert.equal(await stranger.evaluate("fetch('/api/test').then(r => r.status)"), 401);
  });
});

for (const auth of [false, true])
  describe(`A foreign page cannot make its visitor's browser act, ${auth ? "with a token and its cookie" : "without a token"}`, () => {
    for (const host of ["localhost", "127.0.0.1", "evil.example"])
      test(`a foreign page on ${host} cannot act through a prefetch or prerender`, async t => {
        const { base, context, page, sessions } = await openVisited(t, auth, wholeBrowser);
        for (const [i, how] of ["prefetch", "prerender"].entries()) {
          const path = actingFor(i, auth);
          const to = `${base}${path}?how=${how}`;
          const evil = `http://${host}:${port}/speculation?to=${encodeURIComponent(to)}`;
          const said = await outcome(context, page, how, evil);
          console.log("OUTCOME", how, path, said);
          assert.match(said, /^Failure/, `${how} ${path}`);
        }
        await page.goto(`http://${host}:${port}/hints?to=${encodeURIComponent(base + starting)}`, {
          waitUntil: "networkidle",
        });
        assert.deepEqual(await sessions(), []);
      });

    for (const host of ["localhost", "127.0.0.1", "evil.example"])
      test(`a foreign page on ${host} cannot act by sending its visitor to the portal`, async t => {
        const { base, page, sessions } = await openVisited(t, auth);
        for (const [i, way] of ways.entries()) {
          const path = actingFor(i, auth);
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
      const { base, page, sessions } = await openVisited(t, auth);
      const redirections: [number, string][] = [301, 302, 303, 307, 308].map((status, i) => [
        status,
        actingFor(i, auth),
      ]);
      for (const [status, path] of [...redirections, [302, starting] as const]) {
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
  test("the stop page asks in the portal's own look, light and dark", async t => {
    const { portal, page } = await openVisited(t, false);
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
  });

  test("the stop page ignores clicks at first, and again when a window above it has just closed; then its button stops the portal", async t => {
    const { portal, page, sessions } = await openVisited(t, false);
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
    await sessions();
    assert.match(page.url(), /#question$/);
    assert.equal(await page.evaluate("document.activeElement.tagName"), "BODY", "the button has no focus");
    await page.clock.runFor(1);
    await button.click();
    assert.equal((await portal.exited).code, 0);
  });
});
