import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import { messagesOf } from "../../support/portal/restSession.js";

const noHandshake = { initialize: "hang" } as const;
const auth = { code: -32000, message: "Authentication required" };
const bench = sharedAgent({
  acpAgents: {
    fine: fakeAgent({ stderr: "key is hunter2-hunter2" }, { env: { SECRET_KEY: "hunter2-hunter2" } }),
    off: fakeAgent({}, { enabled: false }),
    missing: { command: "no-such-agent-program", installHint: "Ask your administrator." },
    gemini: { command: "./gemini" },
    exits: fakeAgent({ exitAtOnce: 3, stderr: "offline without provider" }),
    silent: fakeAgent({ refuse: noHandshake }, { startupTimeoutSec: 0.5 }),
    future: fakeAgent({ protocolVersion: 2 }),
    login: fakeAgent({
      refuse: { "session/new": auth },
      authMethods: [{ id: "m", name: "Log in", description: "Run `fake login` in the terminal" }],
    }),
    hinted: fakeAgent({ refuse: { "session/new": auth } }, { loginHint: "Ask Bob for the key." }),
    terminal: fakeAgent({
      refuse: { "session/new": auth },
      authMethods: [{ id: "t", type: "terminal", args: ["auth", "login"] }],
    }),
    busy: fakeAgent({ refuse: { "session/new": "hang" } }, { requestTimeoutSec: 0.3 }),
    refuses: fakeAgent({
      refuse: { "session/new": { code: -32603, message: "no", data: { details: "disk full" } } },
    }),
    models: fakeAgent({}, { title: "M", models: ["a", "b:c"], modelArgs: ["--model", "{model}"] }),
    wrong: { command: 7 },
    "Bad Id": fakeAgent(),
  },
  portal: { env: { PORTAL_TOKEN: "must-not-be-inherited" } },
});

describe("Starting a session on an ACP agent", () => {
  test("a missing or unusable agent's error says what is wrong and what to do", async () => {
    const expected: [string, string, RegExp][] = [
      [
        "missing",
        "AgentNotAvailable",
        /^missing: the program "no-such-agent-program" was not found\. Ask your admin/,
      ],
      ["gemini", "AgentNotAvailable", /"\.\/gemini" was not found\. Install it with `npm install -g @google/],
      ["exits", "AgentNotAvailable", /^exits exited with code 3\.\noffline without provider$/],
      ["silent", "AgentStartTimeout", /^silent was not ready within 0\.5 s\.$/],
      ["future", "AgentProtocolMismatch", /speaks version 2 of the protocol; the portal speaks 1/],
      [
        "login",
        "AgentAuthenticationRequired",
        /not signed in\. Run `fake login` in the terminal, then try again/,
      ],
      ["hinted", "AgentAuthenticationRequired", /not signed in\. Ask Bob for the key\./],
      ["terminal", "AgentAuthenticationRequired", /Run `\S+ auth login` in a terminal/],
      ["busy", "AgentError", /^busy did not answer session\/new within 0\.3 s\.$/],
      ["refuses", "AgentError", /^refuses: no \(code -32603\)\ndisk full$/],
    ];
    for (const [agent, error, message] of expected) {
      const answer = await bench.tryStart(`acp:${agent}`);
      assert.equal(answer.error, error, JSON.stringify(answer));
      assert.match(String(answer.message), message);
    }
  });

  test("an agent that is unknown, disabled or misconfigured is not a model", async () => {
    for (const id of [
      "acp:nobody",
      "acp:off",
      "acp:wrong",
      "acp:models:z",
      "acp:",
      "acp:fine:x",
      "acp:Bad Id",
    ])
      assert.equal((await bench.tryStart(id)).error, "ModelIdNotFound", id);
    const { body } = await bench.portal.api<{ models: { id: string; name: string; multiplier: number }[] }>(
      "copilot/models",
    );
    const listed = body.models.filter(({ id }) => id.startsWith("acp:models"));
    assert.deepEqual(
      listed.map(({ id, name, multiplier }) => [id, name, multiplier]),
      [
        ["acp:models", "M", 0],
        ["acp:models:a", "M – a", 0],
        ["acp:models:b:c", "M – b:c", 0],
      ],
    );
    assert.equal((await bench.post("acp/agent/nobody/test")).error, "AgentNotFound");
    assert.equal((await bench.post("acp/agent/off/test")).error, "AgentNotAvailable");
  });

  test("an agent that is switched off is not a model until it is switched on", async () => {
    const toggle = (enabled: boolean) => bench.post("acp/agent/fine/enabled", { enabled });
    assert.deepEqual(await toggle(false), {});
    assert.equal((await bench.tryStart("acp:fine")).error, "ModelIdNotFound");
    assert.deepEqual(await toggle(true), {});
    assert.equal(typeof (await bench.tryStart("acp:fine")).sessionId, "string");
    assert.equal((await bench.post("acp/agent/nobody/enabled", { enabled: true })).error, "AgentNotFound");
  });

  test("an unusable folder starts nothing", async () => {
    const file = join(bench.workingDirectory, "file");
    await writeFile(file, "");
    for (const [folder, error] of [
      ["relative", "WorkingDirectoryNotAbsolutePath"],
      ["/no/such/folder", "WorkingDirectoryNotExists"],
      [file, "WorkingDirectoryNotExists"],
    ] as const) {
      const answer = await bench.portal.api("copilot/session/start/acp%3Amodels%3Aa", { body: folder });
      assert.equal(answer.body.error, error);
    }
    const { agents } = (await bench.portal.api<{ agents: { id: string; state: string }[] }>("acp/agents"))
      .body;
    assert.equal(agents.find(({ id }) => id === "models")?.state, "stopped");
  });

  test("an agent has one process for each model it is started with", async () => {
    const [one, two] = await Promise.all([bench.start("acp:models:a"), bench.start("acp:models:b:c")]);
    const ask = steps({ arguments: true });
    await one.query(ask);
    await two.query(ask);
    assert.match(String(messagesOf(await one.untilIdle())[0]), /--model a$/);
    assert.match(String(messagesOf(await two.untilIdle())[0]), /--model b:c$/);
  });

  test("an agent's environment values are never shown, and it does not get the portal's token", async () => {
    const session = await bench.start("acp:fine");
    await session.query(steps({ environment: "PORTAL_TOKEN" }, { environment: "SECRET_KEY" }));
    assert.deepEqual(messagesOf(await session.untilIdle()), ["undefinedhunter2-hunter2"], "the agent has it");
    const pages = [
      "acp/agents",
      `acp/session/${session.id}/traffic`,
      `copilot/session/${session.id}/state`,
      "copilot/models",
    ];
    for (const page of pages) {
      const { body } = await bench.portal.api(page);
      assert.ok(!JSON.stringify(body).includes("hunter2"), page);
    }
    assert.ok(!bench.portal.stderr.includes("hunter2"));
    const { agents } = (await bench.portal.api<{ agents: { id: string; stderr: string[] }[] }>("acp/agents"))
      .body;
    assert.deepEqual(agents.find(({ id }) => id === "fine")?.stderr, ["key is [redacted]"]);
  });

  test("misconfigured agents are shown with their problems, and the others still work", async () => {
    const { agents, problems } = (
      await bench.portal.api<{
        agents: { id: string; state: string; lastError?: string }[];
        problems: string[];
      }>("acp/agents")
    ).body;
    const broken = agents.filter(({ id }) => id === "wrong" || id === "Bad Id");
    assert.deepEqual(
      broken.map(({ state }) => state),
      ["failed", "failed"],
    );
    assert.equal(problems.length, 2);
    await writeFile(bench.configFile, "{ not json");
    const { problems: reloaded } = await bench.post<{ problems: string[] }>("acp/reload");
    assert.match(reloaded.join(), /is not valid JSON/);
    assert.equal((await bench.post("acp/agent/fine/test")).ok, true, "the previous settings still hold");
    await bench.configure({ fine: fakeAgent({}, { title: "New" }), more: fakeAgent() });
    assert.deepEqual(await bench.post("acp/reload"), { agents: 2, problems: [] });
    const { body } = await bench.portal.api<{ models: { name: string }[] }>("copilot/models");
    assert.deepEqual(
      body.models.slice(-2).map(({ name }) => name),
      ["New", "more"],
    );
  });
});
