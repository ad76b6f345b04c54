import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { knownSecrets } from "../backends/providers.js";
import { createLog } from "./log.js";

describe("The log", () => {
  test("the log contains no secret, neither under its name nor inside a message", () => {
    const providers = [
      {
        name: "a",
        baseUrl: "http://localhost/",
        apiKey: 'key-with-"quotes"',
        headers: { "x-auth": "header-secret" },
      },
      { name: "b", baseUrl: "http://localhost/", bearerTokenEnv: "MY_TOKEN" },
    ];
    const env = {
      MY_TOKEN: "token-of-b",
      GH_TOKEN: "gho_of-the-user",
      COPILOT_PROVIDER_API_KEY: "key-of-env",
    };
    const secrets = knownSecrets(providers, env);
    const lines: string[] = [];
    const log = createLog("info", secrets, { isTerminal: false, write: line => lines.push(line) });
    log.info({ apiKey: "unknown-one", provider: { bearerToken: "unknown-two" } }, "started");
    for (const secret of secrets) log.error({ err: new Error(`401 for ${secret}`) }, `refused ${secret}`);
    const text = lines.join("");
    assert.equal(secrets.length, 5);
    assert.equal(lines.length, 6);
    assert.doesNotMatch(text, /quotes|header-secret|token-of-b|gho_of|key-of-env|unknown-/);
    assert.match(text, /refused \[redacted\]/);
  });

  test("the log keeps ordinary words when a key is very short", () => {
    const lines: string[] = [];
    createLog("info", ["e"], { isTerminal: false, write: line => lines.push(line) }).info("exit");
    assert.match(lines.join(""), /"exit"/);
  });
});
