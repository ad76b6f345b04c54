import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { pino } from "pino";
import { defer } from "../../test/support/cleanup.js";
import { type Backend, BackendUnavailable } from "./backend.js";
import { createCatalog, mergeModels } from "./catalog.js";
import { modelListUrl, parseModelList } from "./providerModels.js";
import { providerBackends } from "./providers.js";

const log = pino({ level: "silent" });
const secret = "sk-secret-that-must-not-be-shown";

function backend(name: string, ids: string[], kind: Backend["kind"] = "provider"): Backend {
  const models = ids.map(id => ({ id, name: id, multiplier: 0, target: { model: id } }));
  return { kind, name, list: () => Promise.resolve(models) };
}

const broken: Backend = {
  kind: "github",
  name: "github",
  list: () => Promise.reject(BackendUnavailable.notSetUp("Sign in")),
};

describe("The model list", () => {
  test("an unlisted backend's model is found by its id beside any other, and never listed", async () => {
    const hidden: Backend = { ...backend("hidden", ["hidden:a"]), owns: id => id === "hidden:a" };
    for (const backends of [[backend("x", ["a"])], []]) {
      const catalog = createCatalog({ backends, unlisted: [hidden], log });
      assert.equal((await catalog.find("hidden:a"))?.target?.model, "hidden:a");
      assert.deepEqual(
        (await catalog.list()).models.map(({ id }) => id),
        backends.map(() => "a"),
      );
    }
  });

  test("the model list keeps plain ids, and prefixes a taken id with the backend's name", () => {
    const lists = [
      backend("github", ["a", "b"], "github"),
      backend("x", ["b", "c", "c"]),
      backend("y", ["b", "c"]),
    ];
    const merged = mergeModels(
      lists.map(each => ({
        backend: each,
        models: ["a", "b", "c"].map(id => ({
          id,
          name: id,
          multiplier: 0,
          target: { model: `${each.name}:${id}` },
        })),
      })),
    );
    assert.deepEqual([...merged.keys()], ["a", "b", "c", "x/a", "x/b", "x/c", "y/a", "y/b", "y/c"]);
    assert.equal(merged.get("x/b")?.target?.model, "x:b");
  });

  test("the model list is fetched once for simultaneous calls, and again after a minute", async () => {
    let fetches = 0;
    let time = 0;
    const counted: Backend = {
      ...backend("x", ["m"]),
      list: async () => {
        fetches++;
        return [{ id: "m", name: "m", multiplier: 0, target: { model: "m" } }];
      },
    };
    const catalog = createCatalog({ backends: [counted], log, now: () => time });
    await Promise.all([catalog.list(), catalog.list(), catalog.find("m")]);
    time = 59_999;
    await catalog.list();
    assert.equal(fetches, 1);
    time = 60_000;
    await catalog.list();
    assert.equal(fetches, 2);
  });

  test("the catalog asks a slow backend once more before it says that a model does not exist", async () => {
    let asked = 0;
    const slow: Backend = {
      ...backend("x", []),
      list: () =>
        ++asked === 1
          ? new Promise(() => {})
          : Promise.resolve([{ id: "m", name: "m", multiplier: 0, target: { model: "m" } }]),
    };
    const catalog = createCatalog({ backends: [slow], log, backendTimeoutMs: 1 });
    assert.equal((await catalog.find("m"))?.model.id, "m");
    assert.equal(await catalog.find("none"), undefined);
    assert.equal(asked, 2);
  });

  test("a backend that is missing, fails or never answers does not break the model list", async () => {
    const crashing: Backend = {
      ...backend("crashing", []),
      list: () => Promise.reject(new Error(`no ${secret}`)),
    };
    const silent: Backend = { ...backend("silent", []), list: () => new Promise(() => {}) };
    const catalog = createCatalog({
      backends: [broken, crashing, silent, backend("x", ["m"])],
      log,
      backendTimeoutMs: 20,
    });
    const { models, notices } = await catalog.list();
    assert.deepEqual(models, [{ id: "m", name: "m", multiplier: 0, backend: "provider" }]);
    assert.deepEqual(
      notices.map(({ level }) => level),
      ["info", "error", "error"],
    );
    assert.doesNotMatch(JSON.stringify(notices), new RegExp(secret));
  });

  test("the model list has the demo model only when there is no other", async () => {
    const demo = backend("demo", ["demo"], "demo");
    const without = await createCatalog({ backends: [backend("x", ["m"])], demo, log }).list();
    assert.deepEqual(
      without.models.map(({ id }) => id),
      ["m"],
    );
    const alone = createCatalog({ backends: [broken], demo, log });
    const { models, notices } = await alone.list();
    assert.deepEqual(models, [{ id: "demo", name: "demo", multiplier: 0, backend: "demo" }]);
    assert.match(notices.map(({ message }) => message).join(), /Sign in.*demo model/);
    assert.equal((await alone.find("demo"))?.target?.model, "demo");
    assert.equal(await alone.find("__proto__"), undefined);
  });
});

async function provider(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  defer(t, () => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

async function listOf(settings: {
  baseUrl: string;
  type?: "openai" | "azure" | "anthropic";
  apiKey?: string;
}) {
  const [first] = providerBackends([{ name: "mine", ...settings }], {});
  return createCatalog({ backends: first ? [first] : [], log, backendTimeoutMs: 2000 }).list();
}

describe("A provider's own model list", () => {
  test("the request for a provider's model list carries the key in the form that the provider expects", async t => {
    const seen: unknown[] = [];
    const baseUrl = await provider(t, (req, res) => {
      seen.push([req.url, req.headers.authorization, req.headers["x-api-key"]]);
      res.end(JSON.stringify({ data: [{ id: "m", display_name: "Model M" }, { id: "n" }] }));
    });
    const { models, notices } = await listOf({ baseUrl: `${baseUrl}/`, apiKey: secret });
    await listOf({ baseUrl, type: "anthropic", apiKey: secret });
    assert.deepEqual(models, [
      { id: "m", name: "Model M", multiplier: 0, backend: "provider" },
      { id: "n", name: "n", multiplier: 0, backend: "provider" },
    ]);
    assert.deepEqual(notices, []);
    assert.deepEqual(seen, [
      ["/v1/models", `Bearer ${secret}`, undefined],
      ["/v1/models", undefined, secret],
    ]);
    assert.equal(
      modelListUrl({ type: "anthropic", baseUrl: "https://x.example" }),
      "https://x.example/v1/models",
    );
  });

  const answers: Record<string, [RequestListener, RegExp]> = {
    "refuses the key": [(_req, res) => res.writeHead(401).end(secret), /refused the key \(HTTP 401\)/],
    "has no list": [(_req, res) => res.writeHead(404).end(), /no model list \(HTTP 404\).*under "models"/],
    "is overloaded": [(_req, res) => res.writeHead(503).end(), /HTTP 503/],
    redirects: [(_req, res) => res.writeHead(302, { location: "http://127.0.0.1:1/" }).end(), /HTTP 302/],
    "answers with a page": [(_req, res) => res.end(`<html>${secret}</html>`), /not a model list/],
    "answers with other JSON": [(_req, res) => res.end('{"models": []}'), /not a model list/],
    "answers with null": [(_req, res) => res.end("null"), /not a model list/],
    "lists nonsense": [(_req, res) => res.end('{"data": [1, null, {"id": ""}]}'), /not a model list/],
    "lists nothing": [(_req, res) => res.end('{"data": []}'), /lists no models/],
    "answers endlessly": [(_req, res) => res.end("x".repeat(5 * 1024 * 1024)), /not a model list/],
    "hangs up": [req => req.socket.destroy(), /cannot be reached/],
    "never answers": [() => {}, /did not arrive in time/],
  };
  for (const [what, [answer, message]] of Object.entries(answers)) {
    test(`a notice says what to do when the provider ${what}`, async t => {
      const { models, notices } = await listOf({ baseUrl: await provider(t, answer), apiKey: secret });
      assert.deepEqual(models, []);
      assert.match(notices[0]?.message ?? "", message);
      assert.match(notices[0]?.message ?? "", /"mine"/);
      assert.doesNotMatch(JSON.stringify(notices), new RegExp(secret));
    });
  }

  test("a notice says when no provider listens or the key cannot be sent", async t => {
    const closed = await listOf({ baseUrl: "http://127.0.0.1:1/v1", apiKey: secret });
    assert.match(closed.notices[0]?.message ?? "", /127\.0\.0\.1:1\/v1 cannot be reached \(\w+\)/);
    const baseUrl = await provider(t, (_req, res) => res.end());
    const unsendable = await listOf({ baseUrl, apiKey: `${secret}\nx` });
    assert.match(unsendable.notices[0]?.message ?? "", /cannot be reached/);
    assert.doesNotMatch(JSON.stringify(unsendable.notices), new RegExp(secret));
  });

  test("Azure is not asked for a model list, because its deployments have to be named", async () => {
    const { notices } = await listOf({ type: "azure", baseUrl: "https://x.example/" });
    assert.match(notices[0]?.message ?? "", /name its deployments under "models"/);
  });

  test("the valid models of a partly broken list are kept", () => {
    assert.deepEqual(parseModelList('{"data": [{"id": "a"}, 5, {"id": 7}]}'), [{ id: "a", name: "a" }]);
  });
});
