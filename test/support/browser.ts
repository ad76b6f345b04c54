import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import express from "express";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { packageRoot } from "../../src/paths.js";
import { createVendorRouter } from "../../src/vendor.js";

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

/** What the portal sends too; a page that needs more is wrong. */
export const strictPolicy = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
}

/** The website without the portal behind it: assets, vendor files and the routes that a test adds. */
export async function startWebsite(
  t: Pick<TestContext, "after">,
  routes: express.RequestHandler = (_request, _response, next) => next(),
): Promise<string> {
  const app = express();
  app.use((_request, response, next) => {
    response.set("Content-Security-Policy", strictPolicy);
    next();
  });
  app.use(routes);
  app.use("/vendor", createVendorRouter());
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
  t: Pick<TestContext, "after">,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
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

const rendererHtml = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Renderer</title>
    <link rel="icon" href="data:," />
    ${["design", "markdown", "messageBlock", "sessionResponse", "fixture"].map(name => `<link rel="stylesheet" href="/${name}.css" />`).join("")}
  </head>
  <body><main><div id="log"></div></main><script type="module" src="/fixture.js"></script></body>
</html>`;

const rendererScript = `
import { SessionResponseRenderer } from "/sessionResponse.js";
import { getMessageBlock, MessageBlock } from "/messageBlock.js";
const renderer = new SessionResponseRenderer(document.getElementById("log"));
Object.assign(window, {
  renderer, getMessageBlock, MessageBlock,
  feed: responses => responses.map(response => renderer.processCallback(response)),
});
document.body.dataset.ready = "true";`;

/** A page with nothing but the renderer: `feed`, `renderer` and `MessageBlock` are its globals. */
export const rendererRoutes: express.RequestHandler = (request, response, next) => {
  if (request.path === "/fixture.html") response.type("html").send(rendererHtml);
  else if (request.path === "/fixture.css") response.type("css").send("#log { height: 100vh }");
  else if (request.path === "/fixture.js") response.type("js").send(rendererScript);
  else next();
};
