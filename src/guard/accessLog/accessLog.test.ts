import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, test } from "node:test";
import type { Request, Response } from "express";
import { pino } from "pino";
import { accessLog, loggedPath, wordsBeforeSecrets } from "./accessLog.js";

const words = wordsBeforeSecrets(["copilot/session/{id}/live/{token}", "acp/mcp/{token}", "copilot/{id}"]);

describe("A path in the access log", () => {
  const shown: Record<string, [string, string]> = {
    "a logged path keeps its ids": ["/api/copilot/session/0b1c/query", "/api/copilot/session/0b1c/query"],
    "a logged path loses the secret of the job tools": ["/api/acp/mcp/s3cret", "/api/acp/mcp/…"],
    "a logged path loses a secret after an encoded slash": ["/api/acp/mcp%2Fs3cret", "/api/acp/mcp/…"],
    "a logged path loses a secret after a backslash": ["/api/acp/mcp\\s3cret", "/api/acp/mcp/…"],
    "a logged path loses a secret in any letter case": ["/API/ACP/MCP/s3cret", "/API/ACP/MCP/…"],
    "a logged path loses a secret and everything after it": ["/api/acp/mcp//s3cret/s3cret", "/api/acp/mcp/…"],
    "a logged path loses the name of a reader": [
      "/api/copilot/session/0b1c/live/s3cret",
      "/api/copilot/session/0b1c/live/…",
    ],
    "a logged path that ends before the secret stays as it is": ["/mcp", "/mcp"],
  };
  for (const [what, [path, expected]] of Object.entries(shown))
    test(what, () => assert.equal(loggedPath(path, words), expected));

  test("a logged path has a maximum length", () => {
    assert.equal(loggedPath(`/${"x".repeat(10_000)}`, words).length, 301);
    assert.equal(loggedPath(`/api/acp/mcp/${"s3cret".repeat(1000)}`, words), "/api/acp/mcp/…");
  });
});

describe("The access log", () => {
  test("the access log counts requests that come too fast, and logs their number", () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: "info" }, { write: line => void lines.push(JSON.parse(line)) });
    let nowMs = 0;
    const handler = accessLog({ log, maxLinesPerSecond: 3, nowMs: () => nowMs });
    const request = () => {
      const res = Object.assign(new EventEmitter(), { locals: {}, headersSent: true, statusCode: 200 });
      const req = { method: "GET", path: "/x", socket: { remoteAddress: "192.0.2.1" } };
      handler(req as unknown as Request, res as unknown as Response, () => undefined);
      res.emit("close");
    };
    for (let i = 0; i < 10; i++) request();
    assert.equal(lines.length, 3);
    nowMs = 1000;
    request();
    assert.deepEqual(
      lines.slice(3).map(({ msg, requests }) => [msg, requests]),
      [
        ["requests came too fast to be logged one by one", 7],
        ["request", undefined],
      ],
    );
  });
});
