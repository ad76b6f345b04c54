import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, test } from "node:test";
import { agentSecrets, readAgents } from "./agentSettings.js";
import { duplicateAgents } from "./duplicateAgents.js";

const read = (section: unknown, env: NodeJS.ProcessEnv = {}) =>
  readAgents(section, resolve("/etc/portal.config.json"), env);

describe("acpAgents of portal.config.json", () => {
  test("a configuration without the section has no agents and no problems", () => {
    assert.deepEqual(read(undefined), { agents: [], broken: [], problems: [] });
  });

  test("an agent needs only a command, and the rest has the documented defaults", () => {
    const [agent] = read({ gemini: { command: "gemini" } }).agents;
    assert.ok(agent);
    const { title, enabled, transport, args, inheritEnv, policy, taskPolicy, clientFs, clientTerminal } =
      agent;
    assert.deepEqual(
      { title, enabled, transport, args, inheritEnv, policy, taskPolicy, clientFs, clientTerminal },
      {
        title: "gemini",
        enabled: true,
        transport: "stdio",
        args: [],
        inheritEnv: true,
        policy: undefined,
        taskPolicy: undefined,
        clientFs: false,
        clientTerminal: false,
      },
    );
    assert.deepEqual(
      [
        agent.startupTimeoutMs,
        agent.requestTimeoutMs,
        agent.promptTimeoutMs,
        agent.permissionTimeoutMs,
        agent.idleShutdownMs,
        agent.errorTextIsFailure,
      ],
      [30_000, 60_000, 0, 600_000, 300_000, "auto"],
    );
  });

  test("variables are replaced from the environment, and their values count as secrets", () => {
    const good = read(
      { a: { command: "a", env: { HOME_A: "\u0024{env:H}/x", PLAIN: "p" } } },
      { H: "/home" },
    );
    assert.deepEqual(good.agents[0]?.env, { HOME_A: "/home/x", PLAIN: "p" });
    assert.deepEqual(agentSecrets(good), ["/home/x", "p"]);
    const bad = read({ a: { command: "a", env: { K: "\u0024{env:NOT_SET}" } }, b: { command: "b" } });
    assert.deepEqual(bad.problems, ["acpAgents.a: env.K: the environment variable NOT_SET is not set"]);
    assert.deepEqual([bad.agents.map(({ id }) => id), bad.broken.map(({ id }) => id)], [["b"], ["a"]]);
  });

  test("one agent's problems do not affect the others and quote no value", () => {
    const { agents, broken, problems } = read({
      good: { command: "x", colour: "red" },
      types: { command: 7, args: "--acp", env: { KEY: 5 } },
      text: "copilot",
      nothing: {},
      "Bad-Id": { command: "x" },
      "-": { command: "x" },
      models: { command: "x", models: ["m"] },
      policy: { command: "x", policy: "sk-secret-value" },
      port: { transport: "tcp" },
      free: { transport: "tcp", port: 0 },
      remote: { transport: "tcp", port: 1, host: "192.0.2.1" },
      daring: { transport: "tcp", port: 1, host: "192.0.2.1", allowRemote: true },
    });
    assert.deepEqual(
      agents.map(({ id }) => id),
      ["good", "daring"],
    );
    assert.equal(broken.length, 10);
    assert.ok(problems.includes("acpAgents.good.colour: is not known here and is ignored"));
    assert.ok(!problems.join().includes("sk-secret-value"));
    assert.ok(problems.some(problem => /^acpAgents\.remote: host: is not on this machine/.test(problem)));
  });

  test("a section that is not an object is one problem", () => {
    for (const section of [[], "x", 7, null])
      assert.deepEqual(read(section).problems, ["acpAgents: must be an object, with an agent under each id"]);
  });

  test("a duplicate id is a problem, and the portal still runs", () => {
    const text =
      '{"providers": [{"a": 1, "a": 2}], "acpAgents": {"a": {"command": "{\\"a\\":"}, "b": {"a": {}}, "a": {}}}';
    assert.deepEqual(duplicateAgents(text), ["a"]);
    assert.deepEqual(duplicateAgents('{"acpAgents": {"a": {}, "b": {}}}'), []);
    assert.deepEqual(duplicateAgents("{ not json"), []);
  });
});
