import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { defer, tempFolder } from "../support/cleanup.js";
import { launchWholeBrowser } from "../support/pages/browser.js";
import { startPortal } from "../support/portal/portal.js";

const token = "a-token-for-tests-only-0123456789";

/** A PATH whose browser opener sends its argument here and waits for the answer. */
async function fakeOpener(t: TestContext) {
  const server = createServer().listen(0, "127.0.0.1");
  defer(t, () => server.close().closeAllConnections());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const folder = await tempFolder(t);
  // Linux opens the browser with one of these names, macOS with the other.
  for (const name of ["xdg-open", "open"]) {
    const program = `#!/bin/sh\ncurl -s --data-raw "$1" "http://127.0.0.1:${port}/"\n`;
    await writeFile(join(folder, name), program, { mode: 0o755 });
  }
  const called = once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;
  return {
    path: `${folder}:${process.env.PATH}`,
    async opened() {
      const [req, res] = await called;
      const chunks: Buffer[] = await req.toArray();
      return { url: Buffer.concat(chunks).toString(), go: () => res.end() };
    },
  };
}

/** The arguments of every process on this machine. */
async function allArguments(): Promise<string> {
  const pids = (await readdir("/proc")).filter(name => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.join("\n");
}

describe("Opening the browser on a portal that asks for a token", () => {
  test("opening the browser shows the token to no process, and still signs the user in", async t => {
    const opener = await fakeOpener(t);
    const portal = await startPortal(t, {
      args: ["--auth", "--open"],
      env: { PORTAL_TOKEN: token, PATH: opener.path },
    });
    const { url, go } = await opener.opened();
    assert.match(url, /^file:\/\/\/.*\/open\.html$/);
    assert.ok(!(await allArguments()).includes(token), "no argument of any process contains the token");
    const file = fileURLToPath(url);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    go();

    const browser = await launchWholeBrowser();
    defer(t, () => browser.close());
    const page = await browser.newPage();
    const base = new URL(portal.stopUrl).origin;
    const arrived = page.waitForURL(`${base}/`);
    await page.goto(url);
    await arrived;
    assert.equal(await page.evaluate("fetch('/api/test').then(r => r.status)"), 200);
    assert.ok(!existsSync(file), "the file is removed after use");
  });

  test("opening the browser leaves no file behind when nobody used it or the portal was killed", async t => {
    const opener = await fakeOpener(t);
    const env = { PORTAL_TOKEN: token, PATH: opener.path };
    const portal = await startPortal(t, { args: ["--auth", "--open"], env });
    const { url, go } = await opener.opened();
    go();
    const file = fileURLToPath(url);
    await portal.kill("SIGKILL");
    assert.ok(existsSync(file));
    await portal.restart({ args: ["--auth"] });
    assert.ok(!existsSync(file), "the next start removes it");
    await portal.restart({ args: ["--auth", "--open"] });
    assert.ok(existsSync(file));
    await portal.kill("SIGTERM");
    assert.ok(!existsSync(file));
  });
});
