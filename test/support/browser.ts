import type { AddressInfo } from "node:net";
import { join } from "node:path";
import express from "express";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { packageRoot } from "../../src/base/paths.js";
import { createVendorRouter } from "../../src/server/vendor.js";

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

/** The portal's own policy; a page that needs more is wrong. */
export const strictPolicy = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";

/** A test context, or anything else that closes what was opened. */
export interface Cleanup {
  after(close: () => unknown): void;
}

/** Generous, because a machine that is busy with other tests must not fail one. */
const patienceMs = 120_000;

export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [...flags, ...more],
  });
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
  app.use("/fixture", express.static(join(packageRoot, "test", "support", "fixture")));
  app.use(express.static(join(packageRoot, "assets"), { dotfiles: "ignore" }));
  const server = app.listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A page that fails its test on any script error, refused script or style, and foreign request. */
export async function openPage(
  t: Cleanup,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(patienceMs);
  t.after(() => context.close());
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", error => problems.push(String(error)));
  page.on("console", message => {
    if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
  });
  page.on("request", request => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && origin !== new URL(url).origin)
      problems.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}

/** A page with nothing but the renderer: its globals are in fixture/renderer.js. */
export async function openRenderer(t: Cleanup, browser: Browser, options?: BrowserContextOptions) {
  const url = await startWebsite(t);
  const opened = await openPage(t, browser, `${url}/fixture/renderer.html`, options);
  await opened.page.waitForSelector("[data-ready]");
  return opened;
}
