import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { append, message, newId, notice, shareLive } from "../support/live/live.js";
import { type SseEvent, sseEvents } from "../support/live/sse.js";
import { usedBytes } from "../support/memory.js";

const live = shareLive();
const events = (id: string, query = "", headers = {}) =>
  sseEvents(`${live.url}/session/${id}/events${query}`, { headers });

async function collect(source: AsyncIterable<SseEvent<unknown>>): Promise<SseEvent<unknown>[]> {
  const all: SseEvent<unknown>[] = [];
  for await (const event of source) all.push(event);
  return all;
}

const dataOf = (all: SseEvent<unknown>[]) => all.map(({ data }) => data);
const numbersOf = (all: SseEvent<unknown>[]) => all.flatMap(({ n }) => n ?? []);

describe("The event stream of a log", () => {
  test("responses are numbered from 1, and the stream ends with a closed event", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, notice("a"), notice("b"));
    await log.close();
    assert.deepEqual(await collect(events(id)), [
      { n: 1, event: "message", data: notice("a") },
      { n: 2, event: "message", data: notice("b") },
      { n: undefined, event: "closed", data: { error: "SessionClosed" } },
    ]);
  });

  test("the stream is never compressed or cached", async () => {
    const id = newId();
    await (await live.logs.create("session", id)).close();
    const response = await fetch(`${live.url}/session/${id}/events`);
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-store, no-transform");
    await response.text();
  });

  test("an open stream shows new responses and the close at once", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const stream = events(id);
    const next = async () => (await stream.next()).value;
    const first = next();
    void log.append(message.start("m"));
    assert.deepEqual((await first)?.data, message.start("m"));
    for (const text of ["one", "two", "three"]) {
      const delta = next();
      void log.append(message.delta("m", text));
      assert.deepEqual((await delta)?.data, message.delta("m", text));
    }
    const closed = collect(stream);
    await log.close();
    assert.deepEqual(dataOf(await closed), [
      { ...message.end("m", "onetwothree"), interrupted: true },
      { error: "SessionClosed" },
    ]);
  });

  test("a late reader gets ended blocks as Start and End, and an open block with one delta", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("ended"), message.delta("ended", "a"), message.end("ended", "a"));
    await append(log, message.start("open"), ...[..."bcd"].map(text => message.delta("open", text)));
    const stream = events(id);
    const seen: SseEvent<unknown>[] = [];
    for await (const event of stream) if (seen.push(event) === 4) break;
    assert.deepEqual(dataOf(seen), [
      message.start("ended"),
      message.end("ended", "a"),
      message.start("open"),
      message.delta("open", "bcd"),
    ]);
    assert.deepEqual(numbersOf(seen), [1, 3, 4, 7]);
    await log.close();
  });

  test("the stream resumes after ?after=N or Last-Event-ID, and Last-Event-ID takes precedence", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, ...Array.from({ length: 10 }, (_, i) => notice(i + 1)));
    await log.close();
    assert.deepEqual(numbersOf(await collect(events(id, "?after=7"))), [8, 9, 10]);
    assert.deepEqual(numbersOf(await collect(events(id, "", { "Last-Event-ID": "8" }))), [9, 10]);
    assert.deepEqual(numbersOf(await collect(events(id, "?after=2", { "Last-Event-ID": "9" }))), [10]);
    assert.deepEqual(numbersOf(await collect(events(id, "?after=10"))), []);
    assert.deepEqual(numbersOf(await collect(events(id, "?after=999999"))), []);
  });

  test("the stream resumes in the middle of a block", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"), ...[..."abcde"].map(text => message.delta("m", text)));
    const { value } = await events(id, "?after=3").next();
    assert.deepEqual(value, { n: 6, event: "message", data: message.delta("m", "cde") });
    await log.close();
  });

  for (const [query, header] of [
    ["?after=x", undefined],
    ["?after=-1", undefined],
    ["?after=1.5", undefined],
    ["", "x"],
    ["", "-1"],
    ["", "9".repeat(30)],
  ]) {
    test(`an invalid position is refused: ${query} ${header ?? ""}`, async () => {
      const id = newId();
      await live.logs.create("session", id);
      const headers: Record<string, string> = header ? { "Last-Event-ID": header } : {};
      const response = await fetch(`${live.url}/session/${id}/events${query}`, { headers });
      assert.equal(response.status, 400);
      assert.equal(typeof ((await response.json()) as { message: unknown }).message, "string");
    });
  }

  test("an unknown id is answered with JSON, which makes a browser stop reconnecting", async () => {
    const response = await fetch(`${live.url}/session/never/events`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    assert.deepEqual(await response.json(), { error: "SessionNotFound" });
  });

  test("any number of streams, tokens and `live` readers get the same log at the same time", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const viewers = Array.from({ length: 5 }, () => collect(events(id)));
    const readers = ["a", "b", "c"].map(async token => {
      const all: unknown[] = [];
      for (;;) {
        const { responses, error } = await live.call(`session/${id}/live/${token}`);
        if (error === "SessionClosed") return all;
        all.push(...(responses ?? []));
      }
    });
    const expected = Array.from({ length: 200 }, (_, i) => notice(i));
    for (const response of expected) {
      void log.append(response);
      await new Promise(setImmediate);
    }
    await log.close();
    for (const seen of await Promise.all(viewers)) {
      assert.deepEqual(dataOf(seen).slice(0, -1), expected);
      assert.deepEqual(
        numbersOf(seen),
        Array.from(expected.keys(), i => i + 1),
      );
    }
    for (const seen of await Promise.all(readers)) assert.deepEqual(seen, expected);
    assert.deepEqual(await live.call(`session/${id}/live`), notice(0));
  });
});

describe("The deltas of a quick block", () => {
  test("deltas that follow each other closely arrive together, all of them and in order", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"));
    const stream = events(id);
    const next = async () => (await stream.next()).value;
    assert.deepEqual((await next())?.data, message.start("m"));
    const words = Array.from({ length: 200 }, (_, i) => `word-${i} `);
    for (const word of words) {
      void log.append(message.delta("m", word));
      await new Promise(setImmediate);
    }
    await append(log, message.end("m", words.join("")));
    await log.close();
    const rest = await collect(stream);
    const deltas = rest.filter(({ data }) => (data as { callback?: string }).callback === "onMessage");
    const texts = deltas.map(({ data }) => (data as { delta: string }).delta);
    assert.equal(texts.join(""), words.join(""), "every delta arrives, in order");
    assert.ok(texts.length < words.length, `${texts.length} events for ${words.length} deltas`);
    assert.equal(deltas.at(-1)?.n, words.length + 1, "a joined delta has the number of its last one");
    assert.deepEqual(dataOf(rest).slice(-2), [message.end("m", words.join("")), { error: "SessionClosed" }]);
  });
});

describe("A slow reader", () => {
  test("a reader that stands still delays no other reader, and gets the same text when it goes on", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"));
    const slow = connect(live.port, "127.0.0.1");
    slow.pause();
    slow.write(`GET /api/copilot/session/${id}/events HTTP/1.0\r\nHost: localhost\r\n\r\n`);
    const quick = events(id);
    assert.deepEqual((await quick.next()).value?.data, message.start("m"));
    const before = await usedBytes();
    const [count, size] = [256, 64 * 1024];
    const partOf = (i: number) => String.fromCharCode(97 + (i % 26)).repeat(size);
    let quickText = "";
    for (let i = 0; i < count; i++) {
      void log.append(message.delta("m", partOf(i)));
      // The quick reader has each part while the slow one has read nothing.
      while (quickText.length < (i + 1) * size) {
        const { value, done } = await quick.next();
        if (done) throw new Error("The stream of the quick reader has ended");
        quickText += (value.data as { delta: string }).delta;
      }
    }
    assert.equal(slow.bytesRead, 0);
    await log.saved();
    const grown = (await usedBytes()) - before - quickText.length;
    assert.ok(grown < 12 * 1024 * 1024, `grew by ${Math.round(grown / 1024 / 1024)} MiB`);
    let [text, rest] = ["", ""];
    slow.setEncoding("utf8").resume();
    for await (const part of slow) {
      const lines = (rest + (part as string)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.includes('"onMessage"'))
          text += (JSON.parse(line.slice("data: ".length)) as { delta: string }).delta;
      if (text.length >= quickText.length) break;
    }
    assert.ok(text === quickText, "both readers have the same text");
    await log.close();
  });
});

describe("A reader that never reads", () => {
  test("a reader that never reads does not make the server grow, and gets everything when it reads at last", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const socket = connect(live.port, "127.0.0.1");
    socket.pause();
    socket.write(`GET /api/copilot/session/${id}/events HTTP/1.0\r\nHost: localhost\r\n\r\n`);
    await append(log, notice("first"));
    const megabyte = "x".repeat(1024 * 1024);
    const before = await usedBytes();
    const total = 96;
    for (let i = 0; i < total; i++) await append(log, notice(`${i} ${megabyte}`));
    const grown = (await usedBytes()) - before;
    assert.ok(grown < 24 * 1024 * 1024, `grew by ${Math.round(grown / 1024 / 1024)} MiB`);
    void log.close();
    let [text, seen, bytes] = ["", 0, 0];
    socket.setEncoding("utf8").resume();
    for await (const part of socket) {
      bytes += (part as string).length;
      text += part as string;
      seen += [...text.matchAll(/^id: \d+\n/gm)].length;
      text = text.slice(text.lastIndexOf("\n") + 1).slice(0, 100);
    }
    assert.equal(seen, total + 1);
    assert.ok(bytes > total * megabyte.length);
  });
});
