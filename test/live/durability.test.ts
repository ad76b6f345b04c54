import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { PortalError } from "../../src/base/portalError.js";
import type { StoredResponse } from "../../src/live/storedResponse.js";
import { LiveLogs } from "../../src/sharedApi.js";
import type { Store } from "../../src/store/store.js";
import { tempFolder } from "../support/cleanup.js";
import {
  append,
  holdStore,
  type Live,
  type LiveOptions,
  message,
  newId,
  notice,
  readToEnd,
  shareLive,
  silent,
  startLive,
  storedRecords,
} from "../support/live/live.js";
import { sseEvents, withoutTime } from "../support/live/sse.js";
import { countedStore } from "../support/store/countedStore.js";

const live = shareLive();

async function responsesOf(from: Live, id: string): Promise<StoredResponse[]> {
  const log = await from.logs.open("session", id);
  const all: StoredResponse[] = [];
  for await (const response of log?.responses() ?? []) all.push(withoutTime(response));
  return all;
}

const numbersOf = async (from: Live, id: string) => (await storedRecords(from.store, id)).map(({ n }) => n);

describe("Readers of a log", () => {
  test("readers see a delta before it is stored, everything else only after, and all in order", async () => {
    const log = await live.logs.create("session", newId());
    await append(log, message.start("m"));
    const letGo = await holdStore(live.store);
    void log.append(message.delta("m", "1"));
    void log.append(message.delta("m", "2"));
    assert.equal(log.visibleN, 3);
    void log.append(notice("not a delta"));
    const last = log.append(message.delta("m", "behind it"));
    assert.equal(log.visibleN, 3);
    await letGo();
    await last;
    assert.equal(log.visibleN, 5);
  });

  test("readers see no number that could be used again after a crash", async () => {
    const log = await live.logs.create("session", newId());
    await append(log, message.start("m"));
    const letGo = await holdStore(live.store);
    for (let i = 0; i < 5_000; i++) void log.append(message.delta("m", "x"));
    const [row] = await reservedBehind(letGo);
    assert.ok(log.visibleN >= 5_001);
    assert.ok((row?.visibleN ?? Number.POSITIVE_INFINITY) <= (row?.reserved ?? 0));

    async function reservedBehind(release: () => Promise<void>) {
      const visibleN = log.visibleN;
      const reserved = live.store.query<{ reserved: number }>("select reserved from logs where key = $1", [
        log.id,
      ]);
      await release();
      await live.logs.drain();
      return (await reserved).map(stored => ({ ...stored, visibleN }));
    }
  });

  test("readers see a block as open until its End is stored", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"), message.delta("m", "a"));
    const letGo = await holdStore(live.store);
    const end = log.append(message.end("m", "a"));
    const { responses } = await append(log).then(() => readOpen());
    assert.deepEqual(responses, [message.start("m"), message.delta("m", "a")]);
    await letGo();
    await end;
    assert.deepEqual(await responsesOf(live, id), [message.start("m"), message.end("m", "a")]);

    async function readOpen() {
      const all: StoredResponse[] = [];
      for await (const response of log.responses()) all.push(withoutTime(response));
      return { responses: all };
    }
  });
});

describe("200,000 deltas in one block", () => {
  test("many deltas in a block do not slow down the next, and a late reader gets them as one", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"));
    const parts = 20;
    const partCpuMs: number[] = [];
    let follows = 0;
    const following = (async () => {
      for await (const { event } of sseEvents(`${live.url}/session/${id}/events`)) {
        follows++;
        if (event === "closed") return;
      }
    })();
    for (let part = 0; part < parts; part++) {
      const before = process.cpuUsage();
      for (let i = 0; i < 200_000 / parts; i++) {
        void log.append(message.delta("m", "word "));
        if (i % 500 === 0) await new Promise(setImmediate);
      }
      await log.saved();
      const { user, system } = process.cpuUsage(before);
      partCpuMs.push((user + system) / 1000);
    }
    const fastest = (of: number[]) => Math.min(...of);
    const [first, last] = [fastest(partCpuMs.slice(0, 5)), fastest(partCpuMs.slice(-5))];
    assert.ok(last < first * 4, `the first took ${first} ms, the last ${last} ms`);

    const { responses } = await live.call(`session/${id}/live/late`);
    assert.deepEqual(responses, [message.start("m"), message.delta("m", "word ".repeat(200_000))]);
    assert.deepEqual(await live.call(`session/${id}/live`), message.start("m"));
    assert.deepEqual(await live.call(`session/${id}/live`), message.delta("m", "word ".repeat(200_000)));
    const next = await live.dial(`session/${id}/live/late`);
    void log.append(message.delta("m", "next"));
    assert.deepEqual((await next.answer).responses, [message.delta("m", "next")]);
    void log.append(message.end("m", "all"));
    await log.close();
    await following;
    assert.ok(follows > 2);
    assert.deepEqual((await live.call(`session/${id}/live/new`)).responses, [
      message.start("m"),
      message.end("m", "all"),
    ]);
  });
});

describe("A reader far behind", () => {
  test("a reader far behind is served from the store, in order and without gaps, by all three routes", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const expected = Array.from({ length: 20_000 }, (_, i) => notice(i));
    for (let i = 0; i < expected.length; i += 500) await append(log, ...expected.slice(i, i + 500));
    await log.close();
    live.logs.rest();
    const { responses } = await live.call(`session/${id}/live/t`);
    assert.deepEqual(responses, expected);
    const seen: unknown[] = [];
    for await (const { data, event } of sseEvents(`${live.url}/session/${id}/events`))
      if (event !== "closed") seen.push(data);
    assert.deepEqual(seen, expected);
    for (const response of expected.slice(0, 300))
      assert.deepEqual(await live.call(`session/${id}/live`), response);
  });

  test("a `live` reader far behind gets whole blocks from the store, even from the middle of one", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"));
    assert.deepEqual(await live.call(`session/${id}/live`), message.start("m"));
    await append(log, message.delta("m", "a"));
    assert.deepEqual(await live.call(`session/${id}/live`), message.delta("m", "a"));
    await append(log, message.delta("m", "b"), message.delta("m", "c"), message.end("m", "abc"));
    await append(log, ...Array.from({ length: 2_000 }, (_, i) => notice(i)));
    assert.deepEqual(await live.call(`session/${id}/live`), message.delta("m", "bc"));
    assert.deepEqual(await live.call(`session/${id}/live`), message.end("m", "abc"));
  });
});

describe("After a restart of the portal", () => {
  test("logs, cursors and numbers continue exactly", async t => {
    const dataDir = await tempFolder(t);
    const before = await startLive(t, { dataDir, answerTimeoutMs: 20 });
    const log = await before.logs.create("session", "a");
    const closed = await before.logs.create("session", "closed");
    await append(log, notice(1), notice(2), notice(3));
    await append(closed, notice("x"));
    await closed.close();
    assert.deepEqual(await before.call("session/a/live"), notice(1));
    assert.equal((await before.call("session/a/live/t")).responses?.length, 3);
    await readToEnd(before, "session/closed/live");
    void log.append(notice("in the last moment"));
    await before.stop();

    const after = await startLive(t, { dataDir, answerTimeoutMs: 20 });
    assert.deepEqual(await after.call("session/a/live"), notice(2));
    assert.deepEqual((await after.call("session/a/live/t")).responses, [notice("in the last moment")]);
    assert.deepEqual(await after.call("session/closed/live"), { error: "SessionNotFound" });
    assert.deepEqual(await after.call("session/closed/live/new"), { responses: [notice("x")] });
    const again = await after.logs.openOwned("session", "a");
    await again?.append(notice(5));
    assert.deepEqual(await numbersOf(after, "a"), [1, 2, 3, 4, 5]);
  });

  test("a reader and a writer who look for a log at the same time get the same one", async () => {
    const ids = [newId(), newId(), newId()] as const;
    for (const id of ids) await (await live.logs.create("session", id)).append(notice(id));
    // The logs of a new process, on the store as it is.
    const logs = new LiveLogs(live.store, silent);
    const found: [unknown, unknown][] = [];
    for (const [ticks, id] of ids.entries()) {
      const writer = logs.openOrCreate("session", id);
      for (let i = 0; i < ticks; i++) await undefined;
      found.push(await Promise.all([writer, logs.open("session", id)]));
    }
    const reader = logs.open("task", ids[0]);
    found.push(
      await Promise.all([logs.openOrCreate("task", ids[0]), reader.then(() => logs.open("task", ids[0]))]),
    );
    for (const [writers, readers] of found) assert.equal(writers, readers);
  });
});

describe("Deleting a log", () => {
  test("a deleted log leaves nothing in the store and frees its id", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, notice(1));
    const waiting = await live.dial(`session/${id}/live/w`);
    assert.deepEqual((await waiting.answer).responses, [notice(1)]);
    const pending = await live.dial(`session/${id}/live/w`);
    await live.logs.delete("session", id);
    assert.deepEqual(await pending.answer, { error: "SessionClosed" });
    for (const way of ["live", "live/w", "events"])
      assert.deepEqual(await live.call(`session/${id}/${way}`), { error: "SessionNotFound" });
    await assert.rejects(log.append(notice(2)));
    assert.deepEqual(await numbersOf(live, id), []);
    const again = await live.logs.create("session", id);
    await append(again, notice("new"));
    assert.deepEqual(await live.call(`session/${id}/live`), notice("new"));
  });

  test("a delete that fails in the store changes nothing", async t => {
    const { local, trouble } = await startTroubled(t);
    const log = await local.logs.create("session", "a");
    await append(log, notice(1));
    trouble.kind = "before";
    trouble.statement = "delete from logs";
    await assert.rejects(local.logs.delete("session", "a"), { code: "StoreUnavailable" });
    trouble.kind = "none";
    assert.equal(await local.logs.open("session", "a"), log);
    await append(log, notice(2));
    assert.deepEqual(await responsesOf(local, "a"), [notice(1), notice(2)]);
    await local.logs.delete("session", "a");
    assert.deepEqual(await local.call("session/a/live"), { error: "SessionNotFound" });
  });

  test("deleting a missing log does nothing, and creating a log twice is refused", async () => {
    const id = newId();
    await live.logs.delete("session", id);
    const [one, two] = await Promise.allSettled([
      live.logs.create("session", id),
      live.logs.create("session", id),
    ]);
    assert.equal(one.status, "fulfilled");
    assert.equal(two.status, "rejected");
  });
});

describe("Cursors", () => {
  test("the cursors of thousands of tokens are all kept, in memory or in the store", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, notice(1));
    const tokens = Array.from({ length: 1_300 }, (_, i) => `token-${i}`);
    for (const token of tokens)
      assert.deepEqual(await live.call(`session/${id}/live/${token}`), { responses: [notice(1)] });
    await append(log, notice(2));
    for (const token of [tokens[0], tokens[700], tokens[1_299]])
      assert.deepEqual(await live.call(`session/${id}/live/${token}`), { responses: [notice(2)] });
  });

  for (const [name, token] of [
    ["very long", encodeURIComponent("😀".repeat(500))],
    ["of a strange kind", encodeURIComponent("__proto__")],
    ["with a slash", encodeURIComponent("../../live")],
    ["with quotes", encodeURIComponent(`'";--`)],
  ]) {
    test(`a cursor takes any string as a token: ${name}`, async () => {
      const id = newId();
      const log = await live.logs.create("session", id);
      await append(log, notice(1));
      assert.deepEqual(await live.call(`session/${id}/live/${token}`), { responses: [notice(1)] });
      await append(log, notice(2));
      live.logs.rest();
      assert.deepEqual(await live.call(`session/${id}/live/${token}`), { responses: [notice(2)] });
    });
  }
});

describe("A damaged line in the store", () => {
  test("a damaged line is skipped, and the rest of the log is read", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    for (let i = 0; i < 4; i++) await append(log, notice(i));
    await log.close();
    live.logs.rest();
    live.logs.rest();
    await live.store.query(
      `update log_chunks set lines = case last_n when 2 then '2 - 0 {"callback":' else lines || E'\\nrubbish' end
       where log_id = (select id from logs where key = $1) and last_n in (2, 3)`,
      [id],
    );
    assert.deepEqual(await responsesOf(live, id), [notice(0), notice(2), notice(3)]);
    assert.deepEqual(await readToEnd(live, `session/${id}/live`), [
      notice(0),
      notice(2),
      notice(3),
      { error: "SessionClosed" },
    ]);
  });
});

interface Trouble {
  kind: "none" | "before" | "after";
  /** Statements that contain this text fail. */
  statement: string;
  count: number;
}

/** A store that can be made to fail: before a statement runs, or by losing its answer. */
async function startTroubled(
  t: TestContext,
  options: LiveOptions = {},
): Promise<{ local: Live; trouble: Trouble }> {
  const trouble: Trouble = { kind: "none", statement: "insert into log_chunks", count: 0 };
  const wrap = (store: Store): Store => ({
    query: async (text, values) => {
      const isHit = trouble.kind !== "none" && text.includes(trouble.statement);
      if (isHit) trouble.count++;
      if (isHit && trouble.kind === "before") throw PortalError.unavailable("StoreUnavailable", "no");
      const rows = await store.query(text, values);
      if (isHit) throw PortalError.unavailable("StoreUnavailable", "the answer got lost");
      return rows as never;
    },
    aside: store.aside,
    transaction: work => store.transaction(work),
    ready: store.ready,
    pool: store.pool,
    state: () => store.state(),
    failure: () => store.failure(),
    patiently: work => store.patiently(work),
    onReopened: callback => store.onReopened(callback),
    kind: store.kind,
    listen: (channel, callback) => store.listen(channel, callback),
    wake: (channel, id) => store.wake(channel, id),
    copy: folder => store.copy(folder),
    sizeBytes: () => store.sizeBytes(),
    beforeClose: work => store.beforeClose(work),
    close: () => store.close(),
  });
  return { local: await startLive(t, { ...options, wrap }), trouble };
}

describe("A response that nobody waits for", () => {
  test("it is stored in one statement with the response that follows, and by itself when none follows", async t => {
    let counted: string[] = [];
    const local = await startLive(t, {
      wrap: store => {
        const { store: wrapped, statements } = countedStore(store);
        counted = statements;
        return wrapped;
      },
    });
    const log = await local.logs.create("session", "a");
    await append(log, message.start("m"));
    counted.length = 0;
    log.appendSoon(message.end("m", "x"));
    log.appendSoon(notice(1));
    assert.equal(log.visibleN, 1, "it is not shown before it is stored");
    await log.append(notice(2));
    assert.equal(counted.length, 1, counted.join("\n"));
    assert.equal(log.visibleN, 4);
    const shown = new Promise<void>(resolve => {
      const unwatch = log.watch(() => {
        if (log.visibleN < 5) return;
        unwatch();
        resolve();
      });
    });
    log.appendSoon(notice(3));
    await shown;
    assert.deepEqual(await numbersOf(local, "a"), [1, 2, 3, 4, 5]);
  });
});

describe("A store that fails for a while", () => {
  for (const kind of ["before", "after"] as const) {
    test(`a store that fails ${kind} the commit loses nothing and duplicates nothing`, async t => {
      const { local, trouble } = await startTroubled(t, { answerTimeoutMs: 20 });
      const log = await local.logs.create("session", "a");
      await append(log, message.start("m"));
      trouble.kind = kind;
      const written = [message.delta("m", "x"), message.end("m", "x"), notice(1), notice(2)];
      const done: Promise<void>[] = [];
      for (const response of written) {
        done.push(log.append(response));
        while (trouble.count < done.length) await new Promise(setImmediate);
      }
      assert.equal((await local.call("session/a/live/t")).responses?.[0]?.callback, "onStartMessage");
      trouble.kind = "none";
      await Promise.all(done);
      assert.deepEqual(await numbersOf(local, "a"), [1, 2, 3, 4, 5]);
      const [, ...rest] = await responsesOf(local, "a");
      assert.deepEqual(rest, written.slice(1));
    });
  }

  test("a log refuses responses before they fill the memory, and their block ends when the store recovers", async t => {
    const { local, trouble } = await startTroubled(t);
    const log = await local.logs.create("session", "a");
    const other = await local.logs.create("session", "b");
    await append(log, message.start("m"), message.delta("m", "kept"));
    trouble.kind = "before";
    const megabyte = "x".repeat(1024 * 1024);
    let refusal: unknown;
    for (let i = 0; i < 200 && !refusal; i++) {
      log.append(notice(megabyte)).catch((error: unknown) => {
        refusal = error;
      });
      await new Promise(setImmediate);
    }
    assert.ok(refusal instanceof PortalError && refusal.code === "StoreUnavailable");
    await assert.rejects(other.append(notice("x")), { code: "StoreUnavailable" });
    trouble.kind = "none";
    await log.saved();
    await local.logs.drain();
    const responses = await responsesOf(local, "a");
    assert.deepEqual(responses.at(-1), { ...message.end("m", "kept"), interrupted: true });
    await log.append(notice("goes on"));
    assert.deepEqual((await responsesOf(local, "a")).at(-1), notice("goes on"));
  });
});

describe("A resting log", () => {
  test("a resting log holds no memory and reads back whole", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"), message.delta("m", "a"));
    live.logs.rest();
    live.logs.rest();
    await append(log, message.delta("m", "b"));
    assert.deepEqual(await responsesOf(live, id), [message.start("m"), message.delta("m", "ab")]);
    await append(log, message.end("m", "ab"));
    await log.close();
    live.logs.rest();
    live.logs.rest();
    assert.notEqual(await live.logs.open("session", id), log);
    await assert.rejects(log.reopen(), /cannot be reopened/);
    assert.deepEqual(await responsesOf(live, id), [message.start("m"), message.end("m", "ab")]);
  });
});
