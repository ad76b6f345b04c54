import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { agentEnvironment, gitHubTokenIn } from "../../src/backends/agentEnvironment.js";
import { fakeAgent } from "../support/acp/acp.js";
import { tempFolder } from "../support/cleanup.js";
import { collectUntil, sseEvents } from "../support/live/sse.js";
import { startScriptedGitHub } from "../support/model/github.js";
import { byPrompt, runShell } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";

/** Writes to files, because the runtime masks known secrets in the output of a tool. */
const lookAround =
  "env > env.txt; tr '\\0' '\\n' < /proc/$PPID/environ > runtime.txt; tr '\\0' '\\n' < /proc/$PPID/cmdline >> runtime.txt";

const planted = {
  GH_TOKEN: "gho_planted_gh_token",
  GITHUB_TOKEN: "planted-github-token",
  GH_ENTERPRISE_TOKEN: "planted-enterprise-token",
  GITHUB_ENTERPRISE_TOKEN: "planted-github-enterprise-token",
  COPILOT_PROVIDER_API_KEY: "planted-provider-key",
  COPILOT_PROVIDER_BEARER_TOKEN: "planted-bearer-token",
  MY_OWN_KEY: "planted-key-of-a-named-variable",
  PORTAL_TOKEN: "planted-portal-token",
  MCP_HTTP_TOKEN: "planted-mcp-token-0123456789",
};

async function runOnGitHub(t: TestContext, config: object) {
  const gitHub = await startScriptedGitHub(t, {
    models: [{ id: "of-github", name: "Of GitHub", multiplier: 1 }],
    script: byPrompt({ look: [[runShell(lookAround)], [{ text: "I looked." }]] }),
  });
  const folder = await tempFolder(t);
  const file = join(folder, "portal.config.json");
  const providers = [
    { name: "own", baseUrl: "http://127.0.0.1:9/v1", apiKeyEnv: "MY_OWN_KEY", models: ["m"] },
  ];
  await writeFile(file, JSON.stringify({ providers, ...config }));
  const portal = await startPortal(t, {
    args: ["--config", file],
    env: { ...planted, ...gitHub.env, KEPT: "an ordinary variable" },
  });
  const { body } = await portal.api("copilot/session/start/of-github", { method: "POST", body: folder });
  const session = `copilot/session/${body.sessionId}`;
  await portal.api(`${session}/query`, { method: "POST", body: "look" });
  const events = sseEvents(`${portal.url}/api/${session}/events`);
  const responses = JSON.stringify(await collectUntil(events, ({ data }) => data.callback === "onIdle"));
  assert.match(responses, /I looked\./, "the session is signed in to GitHub");
  const read = (name: string) => readFile(join(folder, name), "utf8");
  return {
    portal,
    folder,
    shell: await read("env.txt"),
    runtime: await read("runtime.txt"),
    secret: gitHub.apiKey,
  };
}

describe("The environment of agents", () => {
  test("a session of the user's GitHub plan works, and neither its shell nor its runtime nor an ACP agent sees the token or another secret", async t => {
    const settings = fakeAgent({}, { env: { HANDED_ON: "$" + "{env:GH_TOKEN}" } });
    const seenByAgent = join(await tempFolder(t), "env.txt");
    const command = `env > ${seenByAgent}; exec "$0" "$@"`;
    const agent = { ...settings, command: "sh", args: ["-c", command, settings.command, ...settings.args] };
    const { portal, folder, shell, runtime, secret } = await runOnGitHub(t, { acpAgents: { fake: agent } });
    for (const [name, value] of Object.entries({ ...planted, COPILOT_GITHUB_TOKEN: secret })) {
      assert.ok(!shell.includes(value), `the shell sees ${name}`);
      assert.ok(!runtime.includes(value), `the environment or the arguments of the runtime contain ${name}`);
    }
    assert.match(shell, /^KEPT=an ordinary variable$/m);

    const { body } = await portal.api("copilot/session/start/acp:fake", { method: "POST", body: folder });
    assert.equal(typeof body.sessionId, "string");
    const env = await readFile(seenByAgent, "utf8");
    const { GH_TOKEN, ...others } = planted;
    for (const [name, value] of Object.entries(others))
      assert.ok(!env.includes(value), `the agent sees ${name}`);
    assert.doesNotMatch(env, /^GH_TOKEN=/m);
    assert.ok(env.includes(`\nHANDED_ON=${GH_TOKEN}\n`), "the agent gets what its own settings name");
  });

  test("commands see a variable that toolEnv names, and still none of the others", async t => {
    const { shell } = await runOnGitHub(t, { toolEnv: ["GH_TOKEN", "PORTAL_TOKEN"] });
    assert.match(shell, /^GH_TOKEN=gho_planted_gh_token$/m);
    assert.ok(!shell.includes(planted.GITHUB_TOKEN));
    assert.ok(!shell.includes(planted.PORTAL_TOKEN), "the portal's own token is never passed on");
  });

  test("variable names are compared without regard to case, as on Windows", () => {
    assert.deepEqual(agentEnvironment({ Gh_Token: "x", Portal_Token: "y", Path: "z" }), { Path: "z" });
    assert.deepEqual(
      agentEnvironment({ GH_TOKEN: "x", PORTAL_TOKEN: "y" }, { toolEnv: ["gh_token", "portal_token"] }),
      {
        GH_TOKEN: "x",
      },
    );
  });

  const tokens: [string, NodeJS.ProcessEnv, string | undefined][] = [
    [
      "the order matches the Copilot CLI",
      { GITHUB_TOKEN: "gho_3", GH_TOKEN: "gho_2", COPILOT_GITHUB_TOKEN: "gho_1" },
      "gho_1",
    ],
    [
      "a classic token is ignored",
      { GH_TOKEN: "ghp_classic", GITHUB_TOKEN: "github_pat_new" },
      "github_pat_new",
    ],
    ["a token of an app counts", { GH_TOKEN: "ghu_user" }, "ghu_user"],
    ["a token of a workflow counts", { GITHUB_TOKEN: "ghs_server" }, "ghs_server"],
    ["an empty variable does not count", { GH_TOKEN: "" }, undefined],
  ];
  for (const [reason, env, expected] of tokens)
    test(`the GitHub token is found as the runtime would find it: ${reason}`, () => {
      assert.equal(gitHubTokenIn(env), expected);
    });
});
