import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LiveResponse } from "../../src/live/liveResponse.js";
import {
  append,
  holdStore,
  message,
  newId,
  notice,
  readToEnd,
  shareLive,
  startLive,
} from "../support/live/live.js";
import { isWithin } from "../support/pace.js";

const live = shareLive();

describe("Reading a live log one response per call", () => {
  test("every response is delivered in order and unchanged", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const all: LiveResponse[] = [
      { callback: "onUserRequest", requestId: "r", prompt: 'é😀\n"\\\u0000\u2028' },
      message.start("m"),
      message.delta("m", "Hello"),
      message.end("m", "Hello"),
      { callback: "onEndToolExecution", toolCallId: "t", result: { content: "x" }, error: undefined },
      { sessionError: "broken" },
      { callback: "onIdle" },
    ];
    await append(log, ...all);
    await log.close();
    const read = await readToEnd(live, `session/${id}/live`);
    assert.deepEqual(read, [...JSON.parse(JSON.stringify(all)), { error: "SessionClosed" }]);
  });

  test("a call waits while there is nothing and answers at once when something arrives", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    for (const way of ["live", "live/token"]) {
      const call = await live.dial(`session/${id}/${way}`);
      void log.append(notice(way));
      const answer = await call.answer;
      assert.deepEqual((answer.responses ?? [answer])[0], notice("live"));
    }
  });

  test("a delta wakes a waiting call before it is stored", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"));
    assert.equal((await live.call(`session/${id}/live`)).callback, "onStartMessage");
    const call = await live.dial(`session/${id}/live`);
    const letGo = await holdStore(live.store);
    void log.append(message.delta("m", "now"));
    assert.deepEqual(await call.answer, message.delta("m", "now"));
    await letGo();
  });

  test("a call answers HttpRequestTimeout when nothing has arrived after five seconds", async t => {
    const live = await startLive(t);
    const id = newId();
    await live.logs.create("session", id);
    const startMs = performance.now();
    const answers = await Promise.all([
      live.call(`session/${id}/live`),
      live.call(`session/${id}/live/token`),
    ]);
    const tookMs = performance.now() - startMs;
    assert.deepEqual(answers, [{ error: "HttpRequestTimeout" }, { error: "HttpRequestTimeout" }]);
    assert.ok(tookMs >= 4_950 && isWithin(tookMs - 5_000, 2_000, "wall"), `took ${tookMs} ms`);
  });

  test("reading continues after a time-out as if there had been none", async t => {
    const live = await startLive(t, { answerTimeoutMs: 30 });
    const id = newId();
    const log = await live.logs.create("session", id);
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "HttpRequestTimeout" });
    await append(log, notice(1));
    assert.deepEqual(await live.call(`session/${id}/live`), notice(1));
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "HttpRequestTimeout" });
  });
});

describe("A second call on the same cursor", () => {
  for (const way of ["live", "live/token"]) {
    test(`a second call is refused while the first waits, and the first is not disturbed: ${way}`, async () => {
      const id = newId();
      const path = `session/${id}/${way}`;
      const log = await live.logs.create("session", id);
      const first = await live.dial(path);
      for (let i = 0; i < 3; i++)
        assert.deepEqual(await live.call(path), { error: "ParallelCallNotSupported" });
      const other = await live.dial(`session/${id}/live/other`);
      await append(log, notice(1));
      const answer = await first.answer;
      assert.deepEqual(answer.responses?.[0] ?? answer, notice(1));
      assert.deepEqual((await other.answer).responses, [notice(1)]);
      await append(log, notice(2));
      const next = await live.call(path);
      assert.deepEqual(next.responses?.[0] ?? next, notice(2));
    });
  }
});

describe("A client that hangs up", () => {
  for (const way of ["live", "live/token"]) {
    test(`a client that hangs up while waiting loses nothing and may call again at once: ${way}`, async () => {
      const id = newId();
      const path = `session/${id}/${way}`;
      const log = await live.logs.create("session", id);
      for (let i = 0; i < 30; i++) {
        const left = await live.dial(path);
        await left.hangUp();
        const call = await live.dial(path);
        void log.append(notice(i));
        const answer = await call.answer;
        assert.deepEqual(answer.responses ?? [answer], [notice(i)]);
      }
    });
  }

  test("a client that hangs up in mid-answer gets the same answer again", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const texts = Array.from({ length: 16 }, (_, i) => `${i}`.padEnd(1024 * 1024, "."));
    for (const text of texts) await append(log, notice(text));
    const response = await fetch(`${live.url}/session/${id}/live/token`);
    const reader = response.body?.getReader();
    assert.ok((await reader?.read())?.value);
    await reader?.cancel();
    const seen: unknown[] = [];
    while (seen.length < texts.length) {
      const { responses, error } = await live.call(`session/${id}/live/token`);
      assert.ok(responses, error);
      seen.push(...responses.map(({ title }) => title));
    }
    assert.ok(seen.every((text, i) => text === texts[i]));
  });
});

describe("Closing a log", () => {
  const kinds = [
    ["session", "SessionClosed", "SessionNotFound"],
    ["task", "TaskClosed", "TaskNotFound"],
    ["job", "JobsClosed", "JobNotFound"],
  ] as const;
  for (const [kind, closed, notFound] of kinds) {
    test(`readers of a closed log get what is left, then ${closed} once per cursor, then ${notFound}`, async () => {
      const id = newId();
      const log = await live.logs.create(kind, id);
      await append(log, notice(1), notice(2));
      await log.close();
      assert.deepEqual(await live.call(`${kind}/${id}/live`), notice(1));
      for (const path of [`${kind}/${id}/live/t1`, `${kind}/${id}/live/t2`]) {
        assert.deepEqual(await live.call(path), { responses: [notice(1), notice(2)] });
        assert.deepEqual(await live.call(path), { error: closed });
        assert.deepEqual(await live.call(path), { error: notFound });
        assert.deepEqual(await live.call(path), { error: notFound });
      }
      assert.deepEqual(await live.call(`${kind}/${id}/live`), notice(2));
      assert.deepEqual(await live.call(`${kind}/${id}/live`), { error: closed });
      assert.deepEqual(await live.call(`${kind}/${id}/live`), { error: notFound });
    });

    test(`a ${kind} id that was never used answers ${notFound}`, async () => {
      for (const unknown of [
        "never",
        "__proto__",
        "constructor",
        "..%2f..%2fetc",
        "%F0%9F%98%80",
        "'; drop table logs",
      ]) {
        for (const way of ["live", "live/token", "events"])
          assert.deepEqual(
            await live.call(`${kind}/${unknown}/${way}`),
            { error: notFound },
            `${unknown} ${way}`,
          );
      }
    });
  }

  test("closing a log wakes waiting calls at once", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    const calls = [await live.dial(`session/${id}/live`), await live.dial(`session/${id}/live/token`)];
    await log.close();
    for (const call of calls) assert.deepEqual(await call.answer, { error: "SessionClosed" });
  });

  test("a client that hung up during the close gets the close again", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await (await live.dial(`session/${id}/live`)).hangUp();
    await log.close();
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "SessionClosed" });
  });

  test("closing a log does not affect a log of another kind with the same id", async () => {
    const id = newId();
    const [session, task] = [await live.logs.create("session", id), await live.logs.create("task", id)];
    await session.close();
    await append(task, notice("task"));
    assert.deepEqual(await live.call(`task/${id}/live`), notice("task"));
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "SessionClosed" });
  });

  test("nothing can be appended to a closed log until it is reopened", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, notice(1));
    await log.close();
    await assert.rejects(log.append(notice(2)), /closed/);
    assert.deepEqual(await live.call(`session/${id}/live`), notice(1));
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "SessionClosed" });
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "SessionNotFound" });
    await log.reopen();
    await append(log, notice(3));
    assert.deepEqual(await live.call(`session/${id}/live`), notice(3));
    await log.close();
    assert.deepEqual(await live.call(`session/${id}/live`), { error: "SessionClosed" });
  });
});

describe("Late readers", () => {
  async function withBlocks(id: string) {
    const log = await live.logs.create("session", id);
    await append(log, message.start("ended"));
    await append(log, message.delta("ended", "o"), message.delta("ended", "n"), message.delta("ended", "e"));
    await append(log, message.end("ended", "one"), message.start("open"));
    await append(log, message.delta("open", "t"), message.delta("open", "w"));
    return log;
  }

  test("late readers get the unread deltas of a block as one", async () => {
    const id = newId();
    const log = await withBlocks(id);
    const path = `session/${id}/live/token`;
    const first = await live.call(path);
    assert.deepEqual(first.responses?.slice(-2), [message.start("open"), message.delta("open", "tw")]);
    await append(log, message.delta("open", "o"), message.delta("open", "!"));
    assert.deepEqual(await live.call(path), { responses: [message.delta("open", "o!")] });
  });

  test("late readers with a token get an ended block as Start and End", async () => {
    const id = newId();
    await withBlocks(id);
    const { responses } = await live.call(`session/${id}/live/token`);
    assert.deepEqual(responses?.slice(0, 2), [message.start("ended"), message.end("ended", "one")]);
  });

  test("late readers with a token get one delta per block even when the blocks' deltas alternate", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("x"), message.start("y"));
    const mixed = Array.from({ length: 200 }, (_, i) =>
      i % 2 === 0 ? message.delta("x", `x${i / 2} `) : message.delta("y", `y${(i - 1) / 2} `),
    );
    await append(log, ...mixed);
    const { responses } = await live.call(`session/${id}/live/token`);
    const text = (name: string) => Array.from({ length: 100 }, (_, i) => `${name}${i} `).join("");
    assert.deepEqual(responses, [
      message.start("x"),
      message.start("y"),
      message.delta("x", text("x")),
      message.delta("y", text("y")),
    ]);
  });

  test("late readers of `live` get everything merged and nothing dropped", async () => {
    const id = newId();
    const log = await withBlocks(id);
    await append(log, message.end("open", "two"));
    await log.close();
    assert.deepEqual(await readToEnd(live, `session/${id}/live`), [
      message.start("ended"),
      message.delta("ended", "one"),
      message.end("ended", "one"),
      message.start("open"),
      message.delta("open", "tw"),
      message.end("open", "two"),
      { error: "SessionClosed" },
    ]);
  });

  test("readers who had part of a block before it ended get the rest with its End", async () => {
    const id = newId();
    const log = await live.logs.create("session", id);
    await append(log, message.start("m"), message.delta("m", "a"));
    const path = `session/${id}/live/token`;
    assert.equal((await live.call(path)).responses?.length, 2);
    await append(log, message.delta("m", "b"), message.end("m", "ab"), notice("next"));
    assert.deepEqual(await live.call(path), { responses: [message.end("m", "ab"), notice("next")] });
  });
});
