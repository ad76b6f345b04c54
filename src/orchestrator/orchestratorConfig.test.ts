import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseDuration } from "../base/duration.js";
import { ConfigError, readOrchestratorConfig } from "./orchestratorConfig.js";

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    readOrchestratorConfig(env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
};

describe("parseDuration", () => {
  const cases: [string, number | undefined][] = [
    ["30s", 30_000],
    ["1m30s", 90_000],
    ["1.5h", 5_400_000],
    ["500ms", 500],
    ["0", 0],
    ["30", undefined],
    ["-1s", undefined],
    ["1d", undefined],
    ["", undefined],
  ];
  for (const [text, ms] of cases)
    test(`reads ${JSON.stringify(text)} as ${ms}`, () => assert.equal(parseDuration(text), ms));
});

describe("the orchestrator's settings", () => {
  test("have the documented defaults, and an empty value counts as unset", () => {
    const config = readOrchestratorConfig({ CACHE_SIZE: "", AGENT_TIMEOUT: "" });
    assert.deepEqual(
      [config.agentTimeoutMs, config.cacheSize, config.cacheTtlMs, config.maxAgents, config.maxPromptChars],
      [30_000, 1000, 3_600_000, 3, 32_000],
    );
    assert.deepEqual(
      [config.transport, config.permissions, config.logLevel, config.http.port, config.http.path],
      ["stdio", "read-only", "info", 8080, "/mcp"],
    );
    assert.equal(readOrchestratorConfig({ LOG_LEVEL: "WARN" }).logLevel, "warn");
  });

  const bad: [string, string][] = [
    ["REPO_ROOT", "/does/not/exist"],
    ["LOG_LEVEL", "loud"],
    ["AGENT_TIMEOUT", "30"],
    ["AGENT_TIMEOUT", "0"],
    ["AGENT_TIMEOUT", "25h"],
    ["MCP_TRANSPORT", "smoke"],
    ["CACHE_SIZE", "-1"],
    ["CACHE_TTL", "soon"],
    ["MAX_AGENTS", "11"],
    ["MAX_PROMPT_CHARS", "0"],
    ["MAX_CONCURRENT_AGENTS", "33"],
    ["DEFAULT_AGENT", "  "],
    ["COPILOT_PROVIDER_BASE_URL", "ftp://x"],
    ["COPILOT_PROVIDER_TYPE", "other"],
    ["STRICT_PROMPTS", "yes"],
    ["ALLOW_AGENT_MCP_SERVERS", "2"],
    ["AGENT_PERMISSIONS", "some"],
    ["MCP_HTTP_PORT", "65536"],
    ["MCP_HTTP_TOKEN", "short"],
  ];
  for (const [name, value] of bad) {
    test(`${name}=${value} is refused by name`, () => {
      const [problem, ...more] = problemsOf({ [name]: value });
      assert.deepEqual(more, []);
      assert.ok(problem?.startsWith(name), problem);
      assert.match(problem ?? "", /expected/);
    });
  }

  test("require a model for a provider, and for an open port a token that is never shown", () => {
    assert.match(problemsOf({ COPILOT_PROVIDER_BASE_URL: "http://x" }).join(), /^COPILOT_MODEL/);
    assert.match(problemsOf({ MCP_HTTP_HOST: "0.0.0.0" }).join(), /^MCP_HTTP_TOKEN/);
    assert.doesNotMatch(problemsOf({ MCP_HTTP_TOKEN: "tooshort" }).join(), /tooshort/);
  });

  test("report all problems at once", () => {
    assert.equal(problemsOf({ AGENT_TIMEOUT: "30", CACHE_SIZE: "-1", LOG_LEVEL: "loud" }).length, 3);
  });
});
