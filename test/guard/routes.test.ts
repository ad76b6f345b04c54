import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Express } from "express";
import { pino } from "pino";
import { createApp } from "../../src/index.js";
import { groupScope } from "../support/cleanup.js";
import { send } from "../support/portal/app.js";
import { type Portal, startPortal } from "../support/portal/portal.js";

const token = "a-token-for-tests-only-0123456789";

/** Routes that do not need the portal's token: each has its own secret in the path, which `x` is not. */
const withoutToken: Record<string, string> = {
  "/api/acp/mcp/x": "an agent has no token of the portal; each session's job tools have a secret of 128 bits",
};

/**
 * The routes that a browser may open without confirmation, each with the reason why that changes nothing. All others
 * act: a route that is missing here fails the test until somebody has thought about it.
 */
const reading: Record<string, string> = {
  "/api/test": "says hello",
  "/api/config": "shows a path",
  "/api/token": "makes a number and keeps nothing",
  "/api/health": "shows the state of the parts",
  "/api/openapi.json": "a document",
  "/api/schema/entry.json": "a document",
  "/api/copilot/models": "lists, from a cache",
  "/api/copilot/events": "reads logs without a cursor",
  "/api/copilot/overview": "shows what is active",
  "/api/copilot/overview/events": "shows what is active",
  "/api/copilot/search": "shows what is stored",
  "/api/copilot/session/{id}": "shows what is stored",
  "/api/copilot/session/history": "shows what is stored",
  "/api/copilot/session/{id}/export": "shows what is stored",
  "/api/copilot/session/{id}/changes":
    "compares snapshots; of a running turn it takes one in the data folder",
  "/api/copilot/session/{id}/changes/file": "compares snapshots",
  "/api/copilot/session/{id}/changes/comments": "shows what is stored; only a POST writes",
  "/api/copilot/session/{id}/events": "reads a log without a cursor",
  "/api/copilot/session/{id}/responses": "reads a log without a cursor",
  "/api/copilot/session/{id}/picture/{pictureId}": "shows what was uploaded",
  "/api/copilot/session/{id}/state": "shows what the agent has reported",
  "/api/copilot/session/{sessionId}/task": "shows what is stored",
  "/api/copilot/task": "lists the entry",
  "/api/copilot/task/{id}/events": "reads a log without a cursor",
  "/api/copilot/task/{id}/responses": "reads a log without a cursor",
  "/api/copilot/task/{taskId}/evidence": "shows what is stored",
  "/api/copilot/job": "lists the entry",
  "/api/copilot/job/{jobName}/plan": "computes, and calls no agent",
  "/api/copilot/job/{jobId}/status": "shows what is stored",
  "/api/copilot/job/{jobId}/export": "shows what is stored",
  "/api/copilot/job/{jobId}/evidence": "shows what is stored",
  "/api/copilot/job/{jobId}/compare/{otherId}": "shows what is stored",
  "/api/copilot/job/{jobId}/changes":
    "compares snapshots; of a running attempt it takes one in the data folder",
  "/api/copilot/job/{jobId}/changes/file": "compares snapshots",
  "/api/copilot/job/{id}/changes/comments": "shows what is stored; only a POST writes",
  "/api/copilot/job/{jobId}/events": "reads a log without a cursor",
  "/api/copilot/job/{id}/responses": "reads a log without a cursor",
  "/api/copilot/job/running": "shows what is stored",
  "/api/copilot/job/history": "shows what is stored",
  "/api/copilot/permission/pending": "lists what waits",
  "/api/copilot/permission/rules": "lists the rules",
  "/api/copilot/permission/rules/words": "lists the rules",
  "/api/copilot/folder": "shows what was chosen, and reads the folder's files",
  "/api/copilot/folders": "lists folders",
  "/api/copilot/files": "lists files",
  "/api/copilot/permission/test": "decides, and remembers nothing",
  "/api/copilot/agent": "reads the repository's files",
  "/api/copilot/worktree": "lists what waits",
  "/api/copilot/storage": "shows how much is stored",
  "/api/copilot/nodes": "lists the portals on the same database",
  "/api/copilot/run/{id}": "shows what is stored",
  "/api/copilot/run/{id}/events": "reads a log without a cursor",
  "/api/copilot/run/{id}/responses": "reads a log without a cursor",
  "/api/copilot/run/history": "shows what is stored",
  "/api/acp/agents": "lists the configuration",
  "/api/acp/session/{id}/traffic": "shows the recorded messages",
};

interface Layer {
  name: string;
}

function layersOf(app: Express): string[] {
  return (app as unknown as { router: { stack: Layer[] } }).router.stack.map(layer => layer.name);
}

describe("The guard runs before every router", () => {
  test("only the pages are mounted before the last check of the guard", () => {
    const log = pino({ level: "silent" });
    const app = createApp({ routes: [], log, port: () => 1, stopping: () => false, token });
    const layers = layersOf(app);
    const before = layers.slice(0, layers.indexOf("checkToken") + 1);
    const pages = ["sendFile", "router", "answerUnknownPage"];
    const expected = [
      "logAccess",
      "checkHost",
      "helmetMiddleware",
      "checkPrefetch",
      "exchangeToken",
      ...pages,
      "checkOrigin",
      "checkPath",
      // Holds only the routes of `withoutToken`.
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
    // The guard also covers paths that no document lists.
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

describe("What a link may open", () => {
  const group = groupScope();
  let portal: Portal;
  let port: number;
  before(async () => {
    portal = await startPortal(group, { args: ["--test"] });
    port = Number(new URL(portal.url).port);
  });

  test("a link may open only routes that are known to read; all others ask first and do nothing", async () => {
    const { body } = await portal.api<{ paths: Record<string, Record<string, { "x-acts": boolean }>> }>(
      "openapi.json",
    );
    const operations = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { "x-acts": acts }]) => ({ path, method, acts })),
    );
    const marked = new Set(operations.filter(({ acts }) => !acts).map(({ path }) => path));
    assert.deepEqual([...marked].sort(), Object.keys(reading).sort());

    const headers = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const acting = operations.filter(({ acts, path }) => acts && !/\{token\}$/.test(path));
    assert.ok(acting.length > 30);
    for (const { path, method } of acting) {
      const address = path.replaceAll(/\{\w+\}/g, "demo");
      const answer = await send(port, address, { method: method.toUpperCase(), headers });
      assert.equal(answer.status, 403, `${method} ${path}`);
      const isPage = /^text\/html/.test(String(answer.headers["content-type"]));
      assert.ok(isPage || JSON.parse(answer.text).error === "NavigationRefused", `${method} ${path}`);
    }
    assert.equal((await send(port, "/mcp", { headers })).status, 403);
    assert.deepEqual((await portal.api("copilot/session/history")).body, { sessions: [] });
  });

  test("opening every address that reads changes nothing", async () => {
    const { body: started } = await portal.api<{ sessionId: string }>("copilot/session/start/demo", {
      body: portal.dataDir,
    });
    const state = async () => {
      const paths = [
        "session/history",
        "job/history",
        "run/history",
        "permission/rules",
        "permission/pending",
      ];
      const answers = await Promise.all(paths.map(path => portal.api(`copilot/${path}`)));
      return [...answers, await portal.api("acp/agents")].map(({ body }) => body);
    };
    const before = await state();
    const headers = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    for (const path of Object.keys(reading)) {
      // A stream does not end by itself.
      if (path.endsWith("/events")) continue;
      const address = path.replaceAll(/\{\w+\}/g, started.sessionId);
      const { status } = await send(port, address, { headers });
      assert.ok(status === 200 || (status === 405 && path.endsWith("/test")), `${path}: ${status}`);
    }
    assert.deepEqual(await state(), before);
  });
});
