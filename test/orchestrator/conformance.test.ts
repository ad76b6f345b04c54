import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import express from "express";
import { packageRoot } from "../../src/base/paths.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { conformanceTools } from "../support/orchestrator/conformanceTools.js";
import { startModule } from "../support/orchestrator/orchestrator.js";
import { startPortal } from "../support/portal/portal.js";

const names = ["localhost", "127.0.0.1", "[::1]"];
const suite = join(packageRoot, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

const baseline = join(packageRoot, "test/support/orchestrator/conformanceBaseline.yml");

/** What any server must do. */
const required = [
  "server-initialize",
  "ping",
  "tools-list",
  "logging-set-level",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
];
/** What needs the demonstration tools of the suite. */
const demonstrated = [
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "tools-call-with-logging",
];

async function serve(t: TestContext): Promise<string> {
  const { module } = await startModule(t, { moreTools: () => conformanceTools });
  const app = express();
  app.use("/mcp", module.httpRouter({ allowedHosts: names, allowedOrigins: names, token: undefined }).router);
  const server = createServer(app);
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  defer(t, () => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function runSuite(t: TestContext, url: string, ...more: string[]): Promise<string> {
  const cwd = await tempFolder(t, "conformance");
  const run = promisify(execFile)(process.execPath, [suite, "server", "--url", url, ...more], {
    cwd,
    maxBuffer: 64 * 1024 * 1024,
  });
  const { stdout } = await run.catch(error => {
    throw new Error(`exit ${error.code}\n${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

describe("The MCP conformance suite", () => {
  test("passes with its demonstration tools, except for features that the server does not offer", async t => {
    const summary = await runSuite(t, await serve(t), "--expected-failures", baseline);
    for (const scenario of [...required, ...demonstrated])
      assert.match(summary, new RegExp(`✓ ${scenario}:`));
  });

  for (const scenario of ["json-schema-2020-12", "server-sse-polling"]) {
    test(`${scenario} has no failures`, async t => {
      const output = await runSuite(t, await serve(t), "--scenario", scenario);
      assert.doesNotMatch(output, /"status": "FAILURE"|[1-9]\d* failed/);
    });
  }

  test("passes at the portal's own address", async t => {
    const portal = await startPortal(t, { args: ["--demo"] });
    const expected = join(await tempFolder(t), "baseline.yml");
    const lines = demonstrated.map(scenario => `  - ${scenario}\n`).join("");
    await writeFile(expected, (await readFile(baseline, "utf8")) + lines);
    const summary = await runSuite(t, `${portal.url}/mcp`, "--expected-failures", expected);
    for (const scenario of required) assert.match(summary, new RegExp(`✓ ${scenario}:`));
  });
});
