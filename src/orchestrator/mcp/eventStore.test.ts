import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { TestClock } from "../../../test/support/orchestrator/orchestrator.js";
import { RecentEvents } from "./eventStore.js";

const message = (id: number, text = ""): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: { text } });

async function replayed(events: RecentEvents, lastId: string): Promise<unknown[]> {
  const ids: unknown[] = [];
  await events.replayEventsAfter(lastId, {
    send: async (_id, sent) => void ids.push("id" in sent ? sent.id : undefined),
  });
  return ids;
}

describe("The events that a broken MCP connection can fetch again", () => {
  test("are those after the last event that it saw, from its own stream only", async () => {
    const events = new RecentEvents(new TestClock().monotonicMs);
    const [first = ""] = [await events.storeEvent("a", message(1)), await events.storeEvent("b", message(2))];
    await events.storeEvent("a", message(3));
    assert.deepEqual(await replayed(events, first), [3]);
    assert.equal(await events.getStreamIdForEventId(first), "a");
  });

  test("are kept for five minutes, up to 1,000 events and 5 MiB, so that no client fills the memory", async () => {
    const clock = new TestClock();
    const byAge = new RecentEvents(clock.monotonicMs);
    const old = await byAge.storeEvent("a", message(1));
    clock.advance(5 * 60_000 + 1);
    assert.equal(await byAge.getStreamIdForEventId(old), undefined);
    await assert.rejects(replayed(byAge, old));

    const byCount = new RecentEvents(clock.monotonicMs);
    const ids: string[] = [];
    for (let i = 0; i <= 1000; i++) ids.push(await byCount.storeEvent("a", message(i)));
    assert.equal(await byCount.getStreamIdForEventId(ids[0] ?? ""), undefined);
    assert.equal(await byCount.getStreamIdForEventId(ids[1] ?? ""), "a");

    const bySize = new RecentEvents(clock.monotonicMs);
    const large = "x".repeat(2 * 1024 * 1024);
    const first = await bySize.storeEvent("a", message(1, large));
    const second = await bySize.storeEvent("a", message(2, large));
    await bySize.storeEvent("a", message(3, large));
    assert.equal(await bySize.getStreamIdForEventId(first), undefined);
    assert.deepEqual(await replayed(bySize, second), [3]);
  });
});
