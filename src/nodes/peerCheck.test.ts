import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { PeerCheck } from "./peerCheck.js";
import { NodeProxy } from "./proxy.js";

async function peerWith(t: TestContext, token: string) {
  const asked: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    asked.push(req);
    res.statusCode = req.headers.authorization === `Bearer ${token}` ? 200 : 401;
    res.end("{}");
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { asked, peer: { name: "a", url: `http://127.0.0.1:${port}`, hasLeaseEnded: false } };
}

function checkWith(t: TestContext, token: string) {
  const proxy = new NodeProxy({ node: "b", token });
  t.after(() => proxy.close());
  const said: string[] = [];
  const say = (_: unknown, message: string) => void said.push(message);
  const clock = { nowMs: 0 };
  const log = { error: say, info: say } as never;
  return { check: new PeerCheck({ node: "b", proxy, log, nowMs: () => clock.nowMs }), said, clock };
}

const refused =
  "The node a cannot be reached from here: it refuses this node. All nodes need the same PORTAL_TOKEN";

describe("A node that looks whether it reaches the others", () => {
  test("finds nothing wrong with one that accepts its token, and does not ask itself", async t => {
    const { asked, peer } = await peerWith(t, "same");
    const { check, said } = checkWith(t, "same");
    await check.check([peer, { ...peer, name: "b" }]);
    assert.deepEqual([asked.length, check.problemWith("a"), said], [1, undefined, []]);
  });

  test("says once that one refuses its token, until that accepts it", async t => {
    const { asked, peer } = await peerWith(t, "other");
    const { check, said, clock } = checkWith(t, "own");
    await check.check([peer]);
    await check.check([peer]);
    assert.equal(asked.length, 1, "a second look within seconds asks nobody");
    clock.nowMs = 10_000;
    await check.check([peer]);
    assert.deepEqual([asked.length, check.problemWith("a"), said], [2, refused, [refused]]);
    const accepting = await peerWith(t, "own");
    clock.nowMs = 20_000;
    await check.check([accepting.peer]);
    assert.deepEqual([check.problemWith("a"), said.length], [undefined, 2]);
  });

  test("says why one cannot be reached, and forgets it when that one is gone", async t => {
    const { check, clock } = checkWith(t, "own");
    const peer = { name: "a", url: "http://127.0.0.1:1", hasLeaseEnded: false };
    await check.check([peer]);
    assert.match(check.problemWith("a") ?? "", /^The node a cannot be reached from here: .*ECONNREFUSED/);
    clock.nowMs = 10_000;
    await check.check([{ ...peer, hasLeaseEnded: true }]);
    assert.equal(check.problemWith("a"), undefined);
  });
});
