import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { defer, tempFolder } from "../support/cleanup.js";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import { loggedLines } from "../support/portal/logLines.js";
import { type PortalExit, runPortal, startPortal } from "../support/portal/portal.js";

function assertOneLine(exit: PortalExit, message: RegExp): void {
  assert.equal(exit.code, 1);
  assert.equal(exit.stdout, "");
  assert.match(exit.stderr, message);
  assert.equal(exit.stderr.trimEnd().split("\n").length, 1, exit.stderr);
}

async function usedPort(t: TestContext): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  defer(t, () => server.close());
  await once(server, "listening");
  const address = server.address();
  return address && typeof address === "object" ? String(address.port) : "";
}

/** A server that the browser of this folder asks instead of showing a page. */
async function ownBrowser(t: TestContext) {
  const asked = createHttpServer((_req, res) => res.end()).listen(0, "127.0.0.1");
  defer(t, () => asked.close().closeAllConnections());
  await once(asked, "listening");
  const { port } = asked.address() as AddressInfo;
  const folder = await tempFolder(t);
  // Linux opens the browser with one of these names, macOS with the other.
  for (const name of ["xdg-open", "open"]) {
    const browser = `#!/bin/sh\ncurl -s "http://127.0.0.1:${port}/?$1"\n`;
    await writeFile(join(folder, name), browser, { mode: 0o755 });
  }
  return { opened: once(asked, "request"), PATH: `${folder}:${process.env.PATH}` };
}

describe("Starting the portal", () => {
  test("A portal that a program starts", async t => {
    const { baseUrl, apiKey } = await startScriptedModel(t, { models: ["one", "two"] });
    const config = join(await tempFolder(t), "config.json");
    await writeFile(config, JSON.stringify({ providers: [{ name: "mine", baseUrl, apiKey }] }));
    const { opened, PATH } = await ownBrowser(t);
    const args = ["--config", config, "--permissions", "ask", "--open"];
    const portal = await startPortal(t, { store: "embedded", args, env: { PATH } });

    await t.test("the portal opens its port before the store is ready, and health says so", async () => {
      const { body } = await portal.api("health");
      assert.equal(body.status, "starting");
      assert.equal(body.store, "opening");
    });

    await t.test("the portal opens the browser with --open", async () => {
      const [request] = await opened;
      assert.equal(request.url, `/?${portal.url}`);
    });

    await t.test("the portal serves its pages", async () => {
      const root = await fetch(portal.url);
      const index = await fetch(`${portal.url}/index.html`);
      assert.equal(root.status, 200);
      assert.match(root.headers.get("content-type") ?? "", /^text\/html/);
      assert.equal(await root.text(), await index.text());
    });

    await t.test("the portal reads providers from the config file", async () => {
      const { body } = await portal.api<{ models: { id: string }[] }>("copilot/models");
      const ids = body.models.map(({ id }) => id);
      assert.ok(ids.includes("one") && ids.includes("two"), ids.join());
    });

    await t.test("another start on its data folder fails with one line", async () => {
      const { dataDir, pid } = portal;
      assertOneLine(await runPortal(t, { dataDir }), new RegExp(`in use by another portal \\(pid ${pid}\\)`));
    });

    await t.test(
      "the portal prints its two URLs and nothing else to stdout, and one line to its log",
      async () => {
        assert.match(portal.url, /^http:\/\/localhost:[1-9]\d*$/);
        assert.equal(portal.stopUrl, `${portal.url}/api/stop`);
        assert.deepEqual(await portal.api("test"), { status: 200, body: { message: "Hello, world!" } });
        const { stdout, stderr } = await portal.stop();
        assert.equal(stdout, `${portal.url}\n${portal.stopUrl}\n`);
        const said = loggedLines(stderr).filter(({ msg }) => msg === "the portal is open");
        assert.deepEqual(
          said.map(({ url, permissions, level }) => [url, permissions, level]),
          [[portal.url, "ask", 30]],
        );
      },
    );

    await t.test("the portal starts with --open even when there is no browser", async () => {
      await portal.restart({ args: ["--open"], env: { PATH: "" } });
      assert.equal((await portal.api("test")).status, 200);
    });
  });

  test("the portal prints its help and its version", async t => {
    const help = await runPortal(t, { args: ["--help"] });
    assert.equal(help.code, 0);
    for (const option of ["port", "host", "test", "config", "data-dir", "demo", "open", "log-level"]) {
      assert.match(help.stdout, new RegExp(`--${option}\\b`));
    }
    const version = await runPortal(t, { args: ["--version"] });
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
  });
});

// What the command line refuses stands in `src/server/options.test.ts`.
describe("A start that cannot work ends with exit code 1 and one line that says why", () => {
  test("the start fails with one line for an unknown option", async t => {
    assertOneLine(await runPortal(t, { args: ["--prot", "1"] }), /Unknown argument: prot/);
  });

  test("the start fails with one line for a port in use", async t => {
    const port = await usedPort(t);
    assertOneLine(await runPortal(t, { args: ["--port", port] }), new RegExp(`Port ${port} is in use`));
  });

  test("the start fails with one line for each mistake in the config", async t => {
    const config = join(await tempFolder(t), "config.json");
    await writeFile(config, JSON.stringify({ providers: [{ name: "a", type: "x" }, 1] }));
    const { code, stderr } = await runPortal(t, { args: ["--config", config] });
    assert.equal(code, 1);
    assert.deepEqual(stderr.trimEnd().split("\n"), [
      `${config}: $.providers[0].baseUrl: is missing`,
      `${config}: $.providers[0].type: must be one of openai, azure, anthropic`,
      `${config}: $.providers[1]: must be object`,
    ]);
  });

  test("the start fails with one line for a data folder that is a file", async t => {
    const dataDir = join(await tempFolder(t), "file");
    await writeFile(dataDir, "");
    assertOneLine(await runPortal(t, { dataDir }), /data folder .*file cannot be used/);
  });

  test("the start fails with one line for a data folder inside something that is not a folder", async t => {
    assertOneLine(
      await runPortal(t, { dataDir: "/dev/null/portal" }),
      /data folder \/dev\/null\/portal cannot be used/,
    );
  });

  test("the start fails with one line for a store that turns out to be unusable after the port is open", async t => {
    const dataDir = await tempFolder(t);
    await writeFile(join(dataDir, "store"), "this is no store");
    const { code, stderr } = await runPortal(t, { dataDir, args: ["--log-level", "silent"] });
    assert.equal(code, 1);
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    assert.match(stderr, /store/);
  });
});
