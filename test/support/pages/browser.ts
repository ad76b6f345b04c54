import type { AddressInfo } from "node:net";
import { join } from "node:path";
import express from "express";
import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Page,
  type Request,
} from "playwright-core";
import { packageRoot } from "../../../src/base/paths.js";
import { createVendorRouter } from "../../../src/server/vendor.js";
import { defer } from "../cleanup.js";
import { shared } from "../sharing.js";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** All pages in one process, which takes far less processor time. What a page may send does not depend on it. */
export const oneProcess = [
  "--disable-site-isolation-trials",
  "--process-per-site",
  "--renderer-process-limit=1",
  "--in-process-gpu",
];

/** The portal's own policy; a page that needs more is wrong. */
export const strictPolicy = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";

/** A test context, or anything else that closes what was opened. */
export interface Cleanup {
  after(close: () => unknown): void;
}

/** For what a browser needs as long as it is open. */
export const withBrowser = (browser: Browser): Cleanup => ({
  after: close => browser.once("disconnected", close),
});

/** Nothing is timed here: a machine that is busy with other tests must not fail one. */
const patienceMs = 120_000;

/** The engine alone, which shows pages as the whole browser does at a quarter of the processor time. */
export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  return launch(process.env.CHROMIUM_SHELL, more);
}

/** One for all files of the process that ask for it. Call it at the top of a file. */
export function sharedBrowser(): () => Promise<Browser> {
  return shared("browser", scope => {
    let launched: Promise<Browser> | undefined;
    const start = async () => {
      const browser = await launchBrowser(oneProcess);
      defer(scope, () => browser.close());
      return browser;
    };
    return () => {
      launched ??= start();
      return launched;
    };
  });
}

/** With all that a user's browser does by itself: prefetches, prerenders, preloads. */
export function launchWholeBrowser(more: readonly string[] = []): Promise<Browser> {
  return launch(process.env.CHROMIUM, more);
}

function launch(executablePath = "/usr/bin/chromium", more: readonly string[]): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...flags, ...more] });
}

/** The website without the portal behind it: assets, vendor files and the routes that a test adds. */
export async function startWebsite(
  t: Cleanup,
  routes: express.RequestHandler = (_request, _response, next) => next(),
): Promise<string> {
  const app = express();
  app.use((_request, response, next) => {
    response.set("Content-Security-Policy", strictPolicy);
    next();
  });
  app.use(routes);
  app.use("/vendor", createVendorRouter());
  app.use("/fixture", express.static(join(packageRoot, "test", "support", "pages", "fixture")));
  app.use(express.static(join(packageRoot, "assets"), { dotfiles: "ignore" }));
  const server = app.listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface OpenedPage {
  page: Page;
  problems: string[];
}

/** What no test uses just now, by what cannot be changed: a new context costs a process and reads every script again. */
const idlePages = new WeakMap<Browser, Map<string, Page[]>>();

function idleOf(browser: Browser, ...about: unknown[]): Page[] {
  const known = idlePages.get(browser) ?? new Map<string, Page[]>();
  idlePages.set(browser, known);
  const key = JSON.stringify(about);
  const idle = known.get(key) ?? [];
  known.set(key, idle);
  return idle;
}

const blank = "about:blank";

/**
 * A page that fails its test on any script error, refused script or style, and foreign request. Another test may have
 * used it before; it has nothing left of that.
 */
export const openPage = (t: Cleanup, browser: Browser, url: string, options: BrowserContextOptions = {}) =>
  lend(t, browser, url, options, blank);

/** `home` is where the page waits for the next test: nowhere, or on a page that need not load again. */
async function lend(
  t: Cleanup,
  browser: Browser,
  url: string,
  options: BrowserContextOptions,
  home: string,
): Promise<OpenedPage> {
  const { viewport: _, colorScheme, ...others } = options;
  const idle = idleOf(browser, home, others);
  const page = idle.pop() ?? (await newPage(browser, options));
  const { problems, stop } = watchPage(page, url);
  // Before what the test started ends, which the page would show: what is deferred later runs earlier.
  defer(t, async () => {
    stop();
    if (page.isClosed()) return;
    try {
      await cleanPage(page, home);
      idle.push(page);
    } catch {
      await page.context().close();
    }
  });
  await page.setViewportSize(options.viewport ?? viewport);
  if (colorScheme) await page.emulateMedia({ colorScheme });
  if (page.url() !== url) await page.goto(url);
  return { page, problems };
}

/** For a test that leaves something behind: a clock, an exposed function, a script for every page. */
export async function openFreshPage(
  t: Cleanup,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const page = await newPage(browser, options);
  defer(t, () => page.context().close());
  const { problems } = watchPage(page, url);
  await page.goto(url);
  return { page, problems };
}

const viewport = { width: 1280, height: 800 };

async function newPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  // A sign that turns quickly takes a fifth of a core as long as something runs.
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(patienceMs);
  return context.newPage();
}

function watchPage(page: Page, url: string) {
  const problems: string[] = [];
  const onError = (error: Error) => problems.push(String(error));
  const onConsole = (message: ConsoleMessage) => {
    if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
  };
  const onRequest = (request: Request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && origin !== new URL(url).origin)
      problems.push(`asked ${request.url()}`);
  };
  page.on("pageerror", onError).on("console", onConsole).on("request", onRequest);
  const stop = () => page.off("pageerror", onError).off("console", onConsole).off("request", onRequest);
  return { problems, stop };
}

async function cleanPage(page: Page, home: string): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await Promise.all([
    context.clearPermissions(),
    context.clearCookies(),
    context.unrouteAll({ behavior: "ignoreErrors" }),
    page.unrouteAll({ behavior: "ignoreErrors" }),
    page.emulateMedia({ colorScheme: "light" }),
    page.evaluate("localStorage.clear(); sessionStorage.clear()"),
  ]);
  if (page.url() !== home) await page.goto(home);
  if (home !== blank) await page.evaluate("reset()");
}

const websites = new WeakMap<Browser, Promise<string>>();

/** One website for all that a browser opens. */
function websiteOf(browser: Browser): Promise<string> {
  const known = websites.get(browser) ?? startWebsite(withBrowser(browser));
  websites.set(browser, known);
  return known;
}

type Open = typeof openFreshPage;

/** A page of the folder fixture, which has what its script of the same name has. Each test gets a new log in it. */
async function openFixture(
  name: "renderer" | "chart",
  t: Cleanup,
  browser: Browser,
  options: BrowserContextOptions = {},
  open?: Open,
): Promise<OpenedPage> {
  const url = `${await websiteOf(browser)}/fixture/${name}.html`;
  const opened = await (open?.(t, browser, url, options) ?? lend(t, browser, url, options, url));
  await opened.page.waitForSelector("[data-ready]");
  return opened;
}

/** A page with nothing but the renderer. */
export const openRenderer = (
  t: Cleanup,
  browser: Browser,
  options?: BrowserContextOptions,
  open?: Open,
): Promise<OpenedPage> => openFixture("renderer", t, browser, options, open);

/** A page with nothing but a flow chart. */
export const openChart = (t: Cleanup, browser: Browser): Promise<OpenedPage> =>
  openFixture("chart", t, browser);

/** No page is ever silent, because it listens to what runs: nothing more has come for half a second of frames. */
export async function everythingLoaded(page: Page): Promise<void> {
  await page.waitForLoadState("load");
  for (let [frames, count] = [0, 0]; frames < 30; frames++) {
    const now = await page.evaluate<number>(
      "new Promise(requestAnimationFrame).then(() => performance.getEntriesByType('resource').length)",
    );
    if (now !== count) frames = 0;
    count = now;
  }
}
