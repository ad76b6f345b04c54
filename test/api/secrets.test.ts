import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fakeAgent } from "../support/acp/acp.js";
import { tempFolder } from "../support/cleanup.js";
import { collectUntil, sseEvents } from "../support/live/sse.js";
import { byPrompt, fault, runShell, startScriptedModel } from "../support/model/scriptedModel.js";
import { runPortal, startPortal } from "../support/portal/portal.js";

const secrets = {
  environment: "planted-environment-key-0001",
  config: "planted-config-key-0002",
  named: "planted-named-variable-key-0003",
  header: "planted-header-value-0004",
  bearer: "planted-bearer-token-0005",
  portal: "planted-portal-token-0006",
  agent: "planted-agent-variable-0007",
};

/** Where a text contains one of the planted secrets. */
function leaksIn(place: string, content: string): string[] {
  return Object.entries(secrets)
    .filter(([, secret]) => content.includes(secret))
    .map(([name]) => `${place} has the ${name} secret`);
}

async function leaksInFolder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  const found = await Promise.all(
    files.map(async file => leaksIn(file, (await readFile(file)).toString("latin1"))),
  );
  return found.flat();
}

describe("Secrets", () => {
  test("no key and no token appears in a log line, an answer, an error, an export or the store", async t => {
    // A provider can quote only what it was sent.
    const { agent: _, ...sendable } = secrets;
    const quoted = `wrong key ${Object.values(sendable).join(" ")}`;
    const script = byPrompt({
      fail: [[fault.http(401, {}, quoted)]],
      "look around": [[runShell("env; echo done")], [{ text: "I looked." }]],
    });
    const model = await startScriptedModel(t, { script, apiKey: secrets.config, models: ["plain-model"] });
    const folder = await tempFolder(t);
    const config = join(folder, "config.json");
    const { baseUrl } = model;
    const providers = [
      {
        name: "own",
        baseUrl,
        apiKey: secrets.config,
        headers: { "X-Extra": secrets.header },
        models: ["plain-model"],
      },
      { name: "named", baseUrl, apiKeyEnv: "MY_PLANTED_KEY" },
      { name: "bearer", baseUrl: "http://127.0.0.1:9/v1", bearerToken: secrets.bearer },
    ];
    const acpAgents = {
      fake: fakeAgent(
        {
          stderr: `my key is ${secrets.agent}`,
          refuse: { "session/prompt": { code: -32603, message: `not with ${secrets.agent}` } },
        },
        { env: { FAKE_KEY: secrets.agent } },
      ),
    };
    await writeFile(config, JSON.stringify({ providers, acpAgents }));
    const portal = await startPortal(t, {
      store: "embedded",
      args: ["--config", config, "--auth", "--log-level", "trace"],
      env: {
        PORTAL_TOKEN: secrets.portal,
        MY_PLANTED_KEY: secrets.named,
        COPILOT_PROVIDER_BASE_URL: "http://127.0.0.1:9/v1",
        COPILOT_PROVIDER_API_KEY: secrets.environment,
      },
    });
    const base = new URL(portal.url).origin;
    const headers = { authorization: `Bearer ${secrets.portal}` };
    const answers: string[] = [];
    const call = async (path: string, body?: string) => {
      const init = body === undefined ? { headers } : { method: "POST", body, headers };
      const text = await (await fetch(`${base}/api/${path}`, init)).text();
      answers.push(`${path}: ${text}`);
      return text;
    };

    for (const path of ["config", "health", "copilot/models", "openapi.json", "none", "copilot/session/%zz"])
      await call(path);
    const { sessionId } = JSON.parse(await call("copilot/session/start/plain-model", folder)) as {
      sessionId: string;
    };
    const session = `copilot/session/${sessionId}`;
    let idles = 0;
    await call(`${session}/query`, "please fail");
    await call(`${session}/query`, "look around");
    const events = sseEvents(`${base}/api/${session}/events`, { headers });
    const responses = await collectUntil(events, ({ data }) => data.callback === "onIdle" && ++idles === 2);
    answers.push(JSON.stringify(responses));
    for (const path of ["", "/export?format=json", "/export?format=markdown"])
      await call(`${session}${path}`);
    for (const path of ["copilot/session/history", "copilot/permission/rules"]) await call(path);

    const agent = JSON.parse(await call("copilot/session/start/acp:fake", folder)) as { sessionId: string };
    await call(`copilot/session/${agent.sessionId}/query`, "please");
    const said = sseEvents(`${base}/api/copilot/session/${agent.sessionId}/events`, { headers });
    answers.push(JSON.stringify(await collectUntil(said, ({ data }) => data.callback === "onIdle")));
    for (const path of ["agents", `session/${agent.sessionId}/traffic`]) await call(`acp/${path}`);
    for (const path of ["agent/fake/test", "reload"]) await call(`acp/${path}`, "");
    await fetch(`${base}/api/test`, { headers: { authorization: `Bearer ${secrets.portal}x` } });
    const { stderr } = await portal.kill("SIGTERM");

    assert.match(answers.join("\n"), /I looked\./, "the session worked");
    assert.match(answers.join("\n"), /sessionError/, "the session failed");
    assert.match(answers.join("\n"), /not with /, "the agent failed");
    assert.deepEqual(
      [
        ...answers.flatMap(answer => leaksIn(answer.slice(0, 60), answer)),
        ...leaksIn("the log", stderr),
        ...(await leaksInFolder(portal.dataDir)),
      ],
      [],
    );
  });

  test("a config with a key in the wrong place is refused, and the message does not contain the key", async t => {
    const folder = await tempFolder(t);
    const config = join(folder, "config.json");
    for (const content of [
      JSON.stringify({ providers: [{ name: secrets.config, baseUrl: `http://u:${secrets.config}@x` }] }),
      JSON.stringify({ providers: [{ name: "a", baseUrl: "http://x", apiKey: { key: secrets.config } }] }),
      `{"providers": [{"apiKey": "${secrets.config}" oops`,
    ]) {
      await writeFile(config, content);
      const { code, stdout, stderr } = await runPortal(t, { args: ["--config", config] });
      assert.equal(code, 1);
      assert.deepEqual(leaksIn("the message", stdout + stderr), []);
    }
  });
});
