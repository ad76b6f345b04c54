import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../../test/support/cleanup.js";
import { StartError } from "../base/startError.js";
import { configProblems, readConfig } from "../server/config.js";
import { environmentProvider, providerBackends, providerConfig } from "./providers.js";

const secret = "sk-secret-that-must-not-be-shown";

describe("portal.config.json", () => {
  test("portal.config.json may name several providers", () => {
    const providers = [
      { name: "ollama", baseUrl: "http://localhost:11434/v1" },
      {
        name: "azure",
        type: "azure",
        baseUrl: "https://x.example/",
        apiKeyEnv: "KEY",
        models: ["gpt", { id: "o" }],
      },
    ];
    assert.deepEqual(configProblems({ $schema: "x", providers }), []);
    assert.deepEqual(configProblems({}), []);
  });

  test("a wrong config is refused with every problem and its JSON path, but without any of its values", () => {
    const problems = configProblems({
      extra: secret,
      providers: [
        { name: "a b", type: secret, baseURL: secret, models: [1, "", { name: "x", maxPromptTokens: 0 }] },
        { name: "x", baseUrl: `http://u:${secret}@host/`, apiKey: 5, headers: { a: 1 } },
        secret,
      ],
    });
    const paths = problems.map(problem => problem.split(":")[0]);
    assert.deepEqual(paths, [
      "$.extra",
      "$.providers[0].baseUrl",
      "$.providers[0].baseURL",
      "$.providers[0].name",
      "$.providers[0].type",
      "$.providers[0].models[0]",
      "$.providers[0].models[1]",
      "$.providers[0].models[2].id",
      "$.providers[0].models[2].maxPromptTokens",
      "$.providers[1].baseUrl",
      "$.providers[1].apiKey",
      "$.providers[1].headers.a",
      "$.providers[2]",
    ]);
    assert.doesNotMatch(problems.join(), new RegExp(secret));
  });

  test("a config in which two providers have the same name is refused", () => {
    const provider = { name: "a", baseUrl: "http://localhost/" };
    assert.deepEqual(configProblems({ providers: [provider, provider] }), [
      "$.providers[1].name: another provider has this name",
    ]);
  });

  test("a config that is missing or not JSON is refused by name, and none of its content is quoted", async t => {
    const folder = await tempFolder(t);
    const file = join(folder, "portal.config.json");
    for (const content of [`{"apiKey": "${secret}" oops}`, `${secret}`, "", "[1"]) {
      await writeFile(file, content);
      assert.throws(
        () => readConfig(file),
        (error: unknown) => {
          assert.ok(error instanceof StartError);
          assert.match(error.message, /portal\.config\.json: is not valid JSON/);
          assert.doesNotMatch(error.message, /secret-that|oops/);
          return true;
        },
      );
    }
    await mkdir(join(folder, "folder"));
    assert.throws(() => readConfig(join(folder, "folder")), /cannot be read \(EISDIR\)/);
  });
});

describe("The environment variables of the Copilot CLI", () => {
  test("the environment variables of the Copilot CLI describe a provider", () => {
    assert.equal(environmentProvider({}), undefined);
    assert.equal(environmentProvider({ COPILOT_PROVIDER_BASE_URL: "", COPILOT_MODEL: "m" }), undefined);
    assert.deepEqual(
      environmentProvider({
        COPILOT_PROVIDER_BASE_URL: "http://localhost:1/v1",
        COPILOT_PROVIDER_TYPE: "azure",
        COPILOT_PROVIDER_API_KEY: "k",
        COPILOT_PROVIDER_BEARER_TOKEN: "t",
        COPILOT_PROVIDER_WIRE_API: "responses",
        COPILOT_PROVIDER_AZURE_API_VERSION: "2024-10-21",
        COPILOT_PROVIDER_WIRE_MODEL: "deployment",
        COPILOT_PROVIDER_MAX_PROMPT_TOKENS: "1000",
        COPILOT_MODEL: "gpt",
      }),
      {
        name: "environment",
        baseUrl: "http://localhost:1/v1",
        type: "azure",
        apiKey: "k",
        bearerToken: "t",
        wireApi: "responses",
        azureApiVersion: "2024-10-21",
        models: [{ id: "gpt", wireModel: "deployment", maxPromptTokens: 1000 }],
      },
    );
  });

  test("a mistake in the environment variables leaves the provider out, with a message that names it", async () => {
    const env = { COPILOT_PROVIDER_BASE_URL: "http://localhost:1/v1", COPILOT_PROVIDER_TYPE: "ollama" };
    const [backend] = providerBackends([], env);
    await assert.rejects(async () => backend?.list(AbortSignal.timeout(1000)), {
      message: /type: must be one of openai, azure, anthropic/,
    });
  });

  test("variables that a config names for its keys are read when needed", async () => {
    const settings = { name: "p", baseUrl: "http://localhost:1/v1", apiKeyEnv: "MY_KEY", models: ["m"] };
    assert.equal(providerConfig(settings, { id: "m" }, { MY_KEY: "k" }).apiKey, "k");
    const [backend] = providerBackends([settings], {});
    await assert.rejects(async () => backend?.list(AbortSignal.timeout(1000)), {
      message: /MY_KEY.*is not set/,
    });
  });
});
