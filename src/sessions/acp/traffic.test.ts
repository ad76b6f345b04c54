import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HeldUpdates } from "./heldUpdates.js";
import { ConnectionTraffic, redacted, SessionTraffic } from "./traffic.js";

const line = (message: object) => JSON.stringify(message);

describe("Recorded traffic", () => {
  test("recorded traffic contains no environment, no headers, no job tool address and no known secret", () => {
    const message = {
      params: {
        env: { KEY: "hunter2" },
        mcpServers: [
          {
            name: "x",
            env: [{ name: "TOKEN", value: "hunter2" }],
            headers: [{ name: "Authorization", value: "hunter2" }],
          },
          { url: "http://127.0.0.1:1/api/acp/mcp/abc_DEF-123" },
        ],
        prompt: [{ text: "my key is hunter2, and oh-well stays" }],
      },
    };
    const text = JSON.stringify(redacted(line(message), ["hunter2", "oh"]));
    assert.ok(!text.includes("hunter2") && !text.includes("abc_DEF"), text);
    assert.match(text, /my key is \[redacted\], and oh-well stays/);
    assert.match(text, /"name":"TOKEN","value":"\[redacted\]"/);
    assert.match(text, /\/api\/acp\/mcp\/\[redacted\]/);
  });

  test("recorded traffic is bounded in number and size, and says how much is missing", () => {
    const traffic = new SessionTraffic();
    for (let i = 0; i < 600; i++) traffic.add({ atMs: 0, direction: "sent", line: line({ i }) });
    assert.equal(traffic.records([]).length, 500);
    assert.equal(traffic.dropped, 100);
    traffic.add({
      atMs: 0,
      direction: "received",
      line: line({ method: "m", params: { sessionId: "s", text: "x".repeat(100_000) } }),
    });
    assert.deepEqual(Object(traffic.records([]).at(-1)?.message).method, "m");
    for (let i = 0; i < 100; i++)
      traffic.add({ atMs: 0, direction: "sent", line: line({ text: "y".repeat(30_000) }) });
    assert.ok(JSON.stringify(traffic.records([])).length < 1_200_000);
  });

  test("a session's traffic begins with the handshake and the session's own start, whenever it is adopted", () => {
    const all = new ConnectionTraffic();
    const record = (
      direction: "sent" | "received",
      message: Record<string, unknown>,
      about?: { method: string; params: unknown },
    ) => all.record(direction, line(message), message, about);
    record("sent", { id: 1, method: "initialize" });
    record("received", { id: 1, result: {} }, { method: "initialize", params: {} });
    record("sent", { id: 2, method: "session/new", params: { cwd: "/" } });
    record("received", { method: "session/update", params: { sessionId: "s" } });
    record("received", { method: "session/update", params: { sessionId: "other" } });
    record(
      "received",
      { id: 2, result: { sessionId: "s" } },
      { method: "session/new", params: { cwd: "/" } },
    );
    const traffic = new SessionTraffic();
    all.adopt("s", traffic);
    record("sent", { id: 3, method: "session/prompt", params: { sessionId: "s" } });
    record("received", { id: 3, result: {} }, { method: "session/prompt", params: { sessionId: "s" } });
    all.forget("s");
    record("received", { method: "session/update", params: { sessionId: "s" } });
    const seen = traffic.records([]).map(({ message }) => Object(message).method ?? Object(message).id);
    assert.deepEqual(seen, ["initialize", 1, "session/update", "session/new", 2, "session/prompt", 3]);
  });
});

describe("Updates for a session that is not known yet", () => {
  test("up to five hundred early updates are held in order", () => {
    const held = new HeldUpdates<number>();
    for (let i = 0; i < 600; i++) held.hold(i % 2 ? "odd" : "even", i, 100);
    const odd = held.take("odd");
    assert.deepEqual([odd.length, odd[0], odd.at(-1)], [250, 101, 599]);
    assert.deepEqual(held.take("odd"), []);
    held.forget("even");
    held.hold("even", 601, 100);
    assert.deepEqual(held.take("even"), [], "updates of an ended session are dropped");
    held.hold("even", 602, 100);
    assert.deepEqual(held.take("even"), [602], "until it is known again");
  });

  test("early updates are limited to a few megabytes, however few they are", () => {
    const held = new HeldUpdates<number>();
    for (let i = 0; i < 10; i++) held.hold("s", i, 3 * 1024 * 1024);
    assert.deepEqual(held.take("s"), [8, 9]);
    held.hold("s", 10, 1);
    assert.deepEqual(held.take("s"), [10], "taken updates no longer count");
  });
});
