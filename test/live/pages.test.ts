import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LiveLog } from "../../src/live/liveLog.js";
import { randomFrom, randomLog } from "../support/kills/randomLog.js";
import { type Answer, append, message, newId, notice, shareLive, startLive } from "../support/live/live.js";
import { sseEvents } from "../support/live/sse.js";
import { readingsOf } from "../support/live/storeReadings.js";

const live = shareLive();

type Page = Answer & { responses: Answer[]; after: number; before?: number };

const page = (id: string, query = "") => live.call(`session/${id}/responses${query}`) as Promise<Page>;

/** Every page, the newest first. */
async function allPages(id: string, limit: number): Promise<Page[]> {
  const pages = [await page(id, `?limit=${limit}`)];
  for (let before = pages[0]?.before; before !== undefined; before = pages.at(-1)?.before)
    pages.push(await page(id, `?limit=${limit}&before=${before}`));
  return pages;
}

async function eventsOf(id: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { event, data } of sseEvents(`${live.url}/session/${id}/events`))
    if (event === "message") all.push(data);
  return all;
}

const texts = (all: readonly unknown[]) => all.map(one => JSON.stringify(one));
const idsOf = (all: readonly Answer[], callback: string) =>
  all.filter(one => one.callback === callback).map(({ messageId }) => messageId);

/** Each flush makes a chunk, so that a page has to be put together from several. */
async function appendInChunks(log: LiveLog, responses: ReturnType<typeof randomLog>): Promise<void> {
  for (let from = 0; from < responses.length; from += 7)
    await append(log, ...responses.slice(from, from + 7));
}

describe("The pages of a log", () => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
  for (const limit of [1, 5, 40, 1000]) {
    test(`together have each response once, and each block is whole, with ${limit} a page`, async t => {
      t.diagnostic(`FUZZ_SEED=${seed}`);
      const id = newId();
      const log = await live.logs.create("session", id);
      await appendInChunks(log, randomLog(randomFrom(seed + limit), 400));
      await log.close();
      const pages = await allPages(id, limit);
      for (const { responses } of pages) {
        const starts = idsOf(responses, "onStartMessage");
        assert.deepEqual(starts.toSorted(), idsOf(responses, "onEndMessage").toSorted());
        assert.equal(new Set(starts).size, starts.length);
      }
      const together = texts(pages.toReversed().flatMap(({ responses }) => responses));
      assert.deepEqual(together.toSorted(), texts(await eventsOf(id)).toSorted());
      if (limit === 1000) assert.deepEqual(together, texts(await eventsOf(id)));
      else assert.ok(pages.length > 1);
    });
  }

  test("an open block is on the newest page with its text so far, however long ago it began", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("open"), message.start("short"));
    await append(log, ...Array.from({ length: 600 }, (_, i) => notice(i)));
    await append(
      log,
      message.end("short", "done"),
      message.delta("open", "so "),
      message.delta("open", "far"),
    );
    const newest = await page(id, "?limit=2");
    assert.deepEqual(newest, {
      responses: [
        message.start("open"),
        message.start("short"),
        notice(599),
        message.end("short", "done"),
        message.delta("open", "so far"),
      ],
      after: 605,
      before: 602,
    });
    const stream = sseEvents(`${live.url}/session/${id}/events?after=${newest.after}`);
    const next = stream.next();
    void log.append(message.delta("open", " so good"));
    assert.deepEqual((await next).value?.data, message.delta("open", " so good"));
    await log.close();
    const pages = await allPages(id, 300);
    assert.equal(pages.length, 3);
    assert.deepEqual(
      pages.map(({ responses }) => idsOf(responses, "onStartMessage")),
      [["open", "short"], [], []],
    );
  });

  test("an empty log has one empty page, and a number above the log means the newest page", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    assert.deepEqual(await page(id), { responses: [], after: 0 });
    await append(log, notice("one"));
    assert.deepEqual(await page(id, "?before=1000"), { responses: [notice("one")], after: 1 });
    assert.deepEqual(await page(id, "?before=1"), { responses: [], after: 0 });
    await log.close();
  });

  test("a page with huge responses has fewer of them", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    for (let i = 0; i < 6; i++) await append(log, notice(`${i}`.repeat(700_000)));
    await log.close();
    const pages = await allPages(id, 100);
    assert.deepEqual(
      pages.map(({ responses }) => responses.length),
      [3, 3],
    );
  });

  for (const query of ["?before=0", "?before=x", "?before=1.5", "?limit=0", "?limit=1001"])
    test(`a wrong number is refused: ${query}`, async () => {
      const id = newId();
      await live.logs.create("session", id);
      const response = await fetch(`${live.url}/session/${id}/responses${query}`);
      assert.equal(response.status, 400);
    });

  test("an unknown id is SessionNotFound", async () => {
    assert.deepEqual(await page("never"), { error: "SessionNotFound" });
  });

  test("the newest page of a long log reads a few of its chunks", async t => {
    const { store, readings } = readingsOf();
    const long = await startLive(t, { wrap: store });
    const log = await long.logs.create("session", "long");
    await Promise.all(
      Array.from({ length: 20_000 }, (_, i) => log.append(notice(`${i} ${"x".repeat(500)}`))),
    );
    await log.close();
    // Nothing is left in memory.
    for (let i = 0; i < 3; i++) long.logs.rest();
    readings.length = 0;
    const { responses } = await long.call("session/long/responses?limit=200");
    assert.equal(responses?.length, 200);
    const chars = readings.reduce((sum, chunk) => sum + chunk, 0);
    assert.ok(readings.length > 0 && readings.length <= 3, `${readings.length} chunks`);
    assert.ok(chars < 1_000_000, `${chars} characters`);
  });
});
