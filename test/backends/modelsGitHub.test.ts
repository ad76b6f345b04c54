import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { pino } from "pino";
import { createCatalog } from "../../src/backends/catalog.js";
import { gitHubBackend } from "../../src/backends/github.js";
import { defer } from "../support/cleanup.js";
import { gitHubTokenForTest, startScriptedGitHub } from "../support/model/github.js";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";
import { startRuntime } from "../support/portal/runtime.js";

const log = pino({ level: "silent" });

async function listSignedInAt(t: TestContext, url: string) {
  const client = await startRuntime(t, {
    COPILOT_API_URL: url,
    COPILOT_DEBUG_GITHUB_API_URL: url,
  });
  await client.start();
  return createCatalog({ backends: [gitHubBackend(async () => client, gitHubTokenForTest)], log }).list();
}

describe("The models of GitHub Copilot", () => {
  test("GitHub's models are listed with their cost when the user is signed in", async t => {
    const gitHub = await startScriptedGitHub(t, {
      models: [
        { id: "claude-sonnet-4.6", name: "Claude Sonnet 4.6", multiplier: 1 },
        { id: "gpt-5.1-mini", name: "GPT-5.1 mini", multiplier: 0 },
        { id: "claude-opus-4.6", name: "Claude Opus 4.6", multiplier: 3 },
      ],
    });
    const client = await startRuntime(t, gitHub.env);
    await client.start();
    const catalog = createCatalog({ backends: [gitHubBackend(async () => client)], log });
    const { models, notices } = await catalog.list();
    assert.deepEqual(notices, []);
    assert.deepEqual(models.map(({ id, multiplier, backend }) => [id, multiplier, backend]).sort(), [
      ["auto", 1, "github"],
      ["claude-opus-4.6", 3, "github"],
      ["claude-sonnet-4.6", 1, "github"],
      ["gpt-5.1-mini", 0, "github"],
    ]);
    assert.equal(models.find(({ id }) => id === "claude-opus-4.6")?.name, "Claude Opus 4.6");
    assert.deepEqual((await catalog.find("gpt-5.1-mini"))?.target, { model: "gpt-5.1-mini" });
  });

  test("GitHub's models come before those of the user's own providers, and keep their plain ids", async t => {
    const both = { id: "gpt-5.1-mini", name: "GPT-5.1 mini", multiplier: 0.33 };
    const gitHub = await startScriptedGitHub(t, { models: [both] });
    const model = await startScriptedModel(t, { models: [both.id, "own"] });
    const portal = await startPortal(t, { model, env: gitHub.env });
    const { body } = await portal.api<{ models: { id: string; multiplier: number; backend: string }[] }>(
      "copilot/models",
    );
    assert.deepEqual(
      body.models.map(({ id, multiplier, backend }) => [id, multiplier, backend]),
      [
        ["auto", 1, "github"],
        [both.id, 0.33, "github"],
        [`environment/${both.id}`, 0, "provider"],
        ["own", 0, "provider"],
      ],
    );
    assert.equal((await portal.api("health")).body.runtime, "running");
  });

  test("GitHub's models are missing when the user is not signed in, and a notice says how to sign in", async t => {
    const client = await startRuntime(t);
    await client.start();
    const { models, notices } = await createCatalog({
      backends: [gitHubBackend(async () => client)],
      log,
    }).list();
    assert.deepEqual(models, []);
    assert.equal(notices[0]?.level, "info");
    assert.match(notices[0]?.message ?? "", /not signed in.*gh auth login.*COPILOT_PROVIDER_BASE_URL/);
  });

  test("GitHub's models are missing when GitHub refuses the sign-in or fails, and a notice says which", async t => {
    const answers: [number, RegExp][] = [
      [401, /refused your sign-in \(HTTP 401\).*gh auth login/],
      [403, /refused your sign-in \(HTTP 403\)/],
      [502, /answered HTTP 502/],
    ];
    for (const [status, message] of answers) {
      const server = createServer((_req, res) => res.writeHead(status).end("{}")).listen(0, "127.0.0.1");
      defer(t, () => server.close().closeAllConnections());
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const { models, notices } = await listSignedInAt(t, `http://127.0.0.1:${port}`);
      assert.deepEqual(models, []);
      assert.deepEqual(
        notices.map(({ level }) => level),
        ["error"],
      );
      assert.match(notices[0]?.message ?? "", message);
      assert.doesNotMatch(JSON.stringify(notices), new RegExp(gitHubTokenForTest));
    }
  });

  test("GitHub's models are missing when GitHub cannot be reached, and a notice says so", async t => {
    const { notices } = await listSignedInAt(t, "http://127.0.0.1:1");
    assert.deepEqual(notices, [
      { level: "error", message: "GitHub Copilot cannot be reached. Check the network, then try again." },
    ]);
  });

  test("GitHub's models are missing when the runtime cannot start, and the list works without them", async () => {
    const backends = [gitHubBackend(() => Promise.reject(new Error("no runtime")))];
    const { models, notices } = await createCatalog({ backends, log }).list();
    assert.deepEqual(models, []);
    assert.match(notices[0]?.message ?? "", /"github" cannot be listed/);
  });
});
