import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LiveResponse } from "../../src/live/liveResponse.js";
import { append, message, newId, notice, shareLive } from "../support/live/live.js";
import { type AnyResponse, liveAll, sseEvents } from "../support/live/sse.js";

const live = shareLive();

const responses: LiveResponse[] = [
  notice("first"),
  message.start("m"),
  message.delta("m", "so "),
  message.delta("m", "far"),
  message.end("m", "so far"),
];

async function logWith(more: readonly LiveResponse[]) {
  const log = await live.logs.create("session", newId());
  const from = Date.now();
  await append(log, ...more);
  return { log, from, to: Date.now() };
}

async function eventsOf(id: string): Promise<AnyResponse[]> {
  const all: AnyResponse[] = [];
  for await (const { event, data } of sseEvents(`${live.url}/session/${id}/events`, { times: true }))
    if (event === "message") all.push(data);
  return all;
}

/** One response per call, as `live` gives them. */
async function oneByOne(id: string): Promise<AnyResponse[]> {
  const all: AnyResponse[] = [];
  for (;;) {
    const answer = (await (await fetch(`${live.url}/session/${id}/live`)).json()) as AnyResponse;
    if (answer.error !== undefined) return all;
    all.push(answer);
  }
}

describe("The time of a response", () => {
  test("is the same in every way of reading, from memory and from the store", async () => {
    const { log, from, to } = await logWith(responses);
    await log.close();
    const id = log.id;
    const ways = async () => ({
      live: (await oneByOne(id)).filter(({ callback }) => callback !== "onMessage"),
      token: await liveAll(`${live.url}/session/${id}/live/${newId()}`),
      events: await eventsOf(id),
    });
    const fresh = await ways();
    assert.equal(fresh.live.length, 3);
    for (const { time } of fresh.live) assert.ok(Number(time) >= from && Number(time) <= to, `${time}`);
    assert.deepEqual(fresh.token, fresh.live);
    assert.deepEqual(fresh.events, fresh.live);
    // Twice: the first rest finds the log in use.
    live.logs.rest();
    live.logs.rest();
    assert.deepEqual(await eventsOf(id), fresh.events);
    const exported: object[] = [];
    for await (const response of (await live.logs.open("session", id))?.responses() ?? [])
      exported.push(response);
    assert.deepEqual(exported, fresh.events);
  });

  test("is that of the first delta when several are read as one", async () => {
    const { log, from, to } = await logWith(responses.slice(0, 4));
    const read = (await (await fetch(`${live.url}/session/${log.id}/live/${newId()}`)).json()) as {
      responses: AnyResponse[];
    };
    const joined = read.responses.find(({ callback }) => callback === "onMessage");
    assert.equal(joined?.delta, "so far");
    assert.ok(Number(joined?.time) >= from && Number(joined?.time) <= to);
    await log.close();
  });

  test("is missing, and nothing else, in a log that an older portal wrote", async () => {
    const { log } = await logWith([notice("old")]);
    await live.store.query(
      `update log_chunks set lines = regexp_replace(regexp_replace(lines, '^@\\d+\\n', ''), '\\+\\d+ ', ' ')
       where log_id = (select id from logs where key = $1)`,
      [log.id],
    );
    await log.close();
    live.logs.rest();
    live.logs.rest();
    assert.deepEqual(await eventsOf(log.id), [notice("old")]);
  });
});
