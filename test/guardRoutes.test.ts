import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Express } from "express";
import { pino } from "pino";
import { createApp } from "../src/app.js";
import { send } from "./support/app.js";
import { startPortal } from "./support/portal.js";

const token = "a-token-for-tests-only-0123456789";

/** Why the portal's token is not asked for: these have another one in their path, which `x` is not. */
const withoutToken: Record<string, string> = {
  "/api/acp/mcp/x": "an agent has no token of the portal; each session's job tools have a secret of 128 bits",
};

interface Layer {
  name: string;
}

function layersOf(app: Express): string[] {
  return (app as unknown as { router: { stack: Layer[] } }).router.stack.map(layer => layer.name);
}

describe("Every router stands behind the guard", () => {
  test("only the pages are mounted before the last check of the guard", () => {
    const log = pino({ level: "silent" });
    const app = createApp({ routes: [], log, port: () => 1, stopping: () => false, token });
    const layers = layersOf(app);
    const before = layers.slice(0, layers.indexOf("checkToken") + 1);
    const pages = ["router", "router"];
    const expected = [
      "checkHost",
      "helmetMiddleware",
      "exchangeToken",
      ...pages,
      "checkOrigin",
      "checkPath",
      // Holds only the routes of `withoutToken` below.
      "router",
      "checkToken",
    ];
    assert.deepEqual(before, expected);
    assert.ok(layers.length > before.length, "the API comes after it");
  });

  test("every route of a running portal refuses foreign names, foreign pages and callers without the token", async t => {
    const portal = await startPortal(t, { args: ["--test", "--auth"], env: { PORTAL_TOKEN: token } });
    const port = Number(new URL(portal.stopUrl).port);
    const authorization = `Bearer ${token}`;
    const document = await send(port, "/api/openapi.json", { headers: { authorization } });
    const { paths } = JSON.parse(document.text) as { paths: Record<string, Record<string, unknown>> };
    const calls = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => ({ path: path.replaceAll(/\{\w+\}/g, "x"), method })),
    );
    assert.ok(calls.length > 20);
    // What no document lists is behind the guard too.
    calls.push(...["/mcp", "/acp", "/api", "/none"].map(path => ({ path, method: "post" })));
    for (const { path, method } of calls) {
      const call = (headers: Record<string, string>) =>
        send(port, path, { method: method.toUpperCase(), headers }).then(({ status }) => status);
      assert.equal(
        await call({ authorization, host: `evil.example:${port}` }),
        403,
        `${path}: a foreign name`,
      );
      assert.equal(
        await call({ authorization, origin: "https://evil.example" }),
        403,
        `${path}: a foreign page`,
      );
      assert.equal(await call({ authorization, "sec-fetch-site": "cross-site" }), 403, `${path}: an image`);
      assert.equal(await call({}), path in withoutToken ? 404 : 401, `${path}: no token`);
    }
    for (const path of Object.keys(withoutToken))
      assert.ok(
        calls.some(call => call.path === path),
        path,
      );
  });
});
