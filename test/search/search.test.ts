import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LiveResponse } from "../../src/live/liveResponse.js";
import { SearchBacklog } from "../../src/search/backlog.js";
import { type SearchHit, search } from "../../src/search/search.js";
import type { LiveLog } from "../../src/sharedApi.js";
import { append, message, newId, shareLive, silent } from "../support/live/live.js";

const live = shareLive();
const find = (typed: string, limit = 20) => search(live.store.query, typed, limit);
const textOf = ({ snippet }: SearchHit) => snippet.text;

const request = (prompt: string): LiveResponse => ({ callback: "onUserRequest", requestId: "r", prompt });

async function session(title: string): Promise<LiveLog> {
  const id = newId();
  const owner = { id, model_id: "m", model_name: "M", backend: "demo", working_directory: "/tmp", title };
  return live.logs.openOrCreate("session", id, owner);
}

describe("A search", () => {
  test("finds requests, messages, tools and reasons as soon as they are stored, newest first", async () => {
    const log = await session("About apples");
    const from = Date.now();
    await append(log, request("Please count the pomelos"));
    await append(
      log,
      message.start("1"),
      message.end("1", "There are three pomelos in src/fruit/pomelo.ts."),
    );
    await append(log, {
      callback: "onStartToolExecution",
      toolCallId: "t",
      toolName: "bash",
      toolArguments: '{"command":"ls pomelos"}',
    });
    const task = await live.logs.create("task", newId());
    await append(task, { callback: "taskDecision", reason: "[CRITERIA] All pomelos are counted" });
    const hits = await find("pomelos");
    assert.deepEqual(
      hits.map(({ source, n, what, title }) => ({ source, n, what, title })),
      [
        { source: "task", n: 1, what: "reason", title: "" },
        { source: "session", n: 4, what: "tool", title: "About apples" },
        { source: "session", n: 3, what: "message", title: "About apples" },
        { source: "session", n: 1, what: "request", title: "About apples" },
      ],
    );
    for (const { time = 0 } of hits) assert.ok(time >= from && time <= Date.now());
    assert.deepEqual((await find("pomelo.ts")).map(textOf), [
      "There are three pomelos in src/fruit/pomelo.ts.",
    ]);
    assert.deepEqual((await find("pom")).length, 4);
    assert.deepEqual((await find("pom ")).length, 0);
    assert.deepEqual((await find('"three pomelos"')).length, 1);
    assert.deepEqual((await find('"pomelos three"')).length, 0);
    assert.deepEqual((await find("pomelos -three")).length, 3);
    assert.deepEqual((await find("counted or three")).length, 2);
    assert.deepEqual((await find("pomelos", 2)).length, 2);
  });

  test("finds titles of sessions, also after a rename, and names and inputs of jobs", async () => {
    const { id } = await session("A quince story");
    assert.deepEqual(
      (await find("quince")).map(hit => [hit.source, hit.id, hit.what, hit.n]),
      [["session", id, "title", undefined]],
    );
    await live.store.query("update sessions set title = 'A medlar story' where id = $1", [id]);
    assert.deepEqual(await find("quince"), []);
    assert.deepEqual((await find("medlar")).map(textOf), ["A medlar story"]);
    const jobId = newId();
    const job = {
      id: jobId,
      name: "peel",
      entry_hash: "h",
      user_input: "the big papaya",
      working_directory: "/",
    };
    await live.logs.openOrCreate("job", jobId, job);
    const task = await live.logs.create("task", `${jobId}.w.0`);
    await append(task, { callback: "taskDecision", reason: "The papaya resists" });
    assert.deepEqual(
      (await find("papaya")).map(({ source, what, title, job: of }) => ({ source, what, title, of })),
      [
        { source: "task", what: "reason", title: "peel", of: { id: jobId, name: "peel" } },
        { source: "job", what: "input", title: "peel", of: undefined },
      ],
    );
  });

  test("finds nothing of a deleted log", async () => {
    const log = await session("");
    await append(log, request("durian"));
    assert.equal((await find("durian")).length, 1);
    await live.logs.delete("session", log.id);
    assert.deepEqual(await find("durian"), []);
  });

  test("answers odd questions with nothing instead of an error", async () => {
    await append(await session("kumquat"), request("kumquat"));
    for (const odd of [
      "",
      "   ",
      "!!!",
      "\0",
      '"',
      '""',
      "-",
      "-kumquat",
      "a or -kumquat",
      "or",
      ":*",
      "\ud800",
      "'",
    ])
      assert.deepEqual(await find(odd), [], JSON.stringify(odd));
    for (const odd of [
      '"kumquat',
      "kumquat\0",
      "kumquat & !",
      "KUMQUAT",
      "(kumquat",
      `${"x".repeat(900)} or kumquat`,
    ])
      assert.equal((await find(odd)).length, 2, JSON.stringify(odd));
  });

  test("finds frequent, seldom and single words in order behind a burst of more texts than a statement may have values", async () => {
    const task = await live.logs.create("task", newId());
    const count = 30_000;
    const reasonOf = (n: number) =>
      ["fig", ...(n % 600 === 0 ? ["elderberry"] : []), ...(n === 1 ? ["physalis"] : [])].join(" ");
    const burst = Array.from(
      { length: count },
      (_, i): LiveResponse => ({ callback: "taskDecision", reason: reasonOf(i + 1) }),
    );
    await append(task, ...burst);
    const found = async (typed: string, limit: number) => (await find(typed, limit)).map(({ n }) => n);
    const newest = (step: number, limit: number) => Array.from({ length: limit }, (_, i) => count - i * step);
    assert.deepEqual(await found("fig ", 100), newest(1, 100));
    assert.deepEqual(await found("elderberry ", 20), newest(600, 20));
    assert.deepEqual(await found("elderberry ", 100), newest(600, 50));
    assert.deepEqual(await found("physalis ", 20), [1]);
  });

  test("does not stop a log that has a text which cannot be indexed as a whole", async () => {
    const log = await session("");
    const long = `rambutan ${"x".repeat(5_000)} ${Array.from({ length: 60_000 }, (_, i) => `w${i}`).join(" ")}`;
    await append(log, request(long), request("rambutan \0 \ud800"));
    assert.equal((await find("rambutan")).length, 2);
  });
});

describe("The logs from before there was a search", () => {
  test("are indexed once in the background, and the work goes on after an interruption", async () => {
    const log = await session("");
    const count = 30;
    for (let i = 0; i < count; i++) await append(log, request(`carambola ${i} ${"filler ".repeat(4_000)}`));
    const expected = (await find("carambola", 100)).map(({ n }) => n);
    assert.equal(expected.length, count);
    // As an older portal left it.
    await live.store.query("delete from search_texts");
    await live.store.query(
      "insert into search_backlog (log_id, last_n) select log_id, max(last_n) from log_chunks group by log_id",
    );
    await append(log, request("carambola written meanwhile"));
    const first = new SearchBacklog(live.store, silent);
    assert.equal(await first.indexPage(), true);
    const partly = (await find("carambola", 100)).length;
    assert.ok(partly > 1 && partly <= count, `${partly}`);
    const second = new SearchBacklog(live.store, silent);
    second.start();
    await second.done();
    assert.deepEqual(
      (await find("carambola", 100)).map(({ n }) => n),
      [count + 1, ...expected],
    );
    assert.equal(await second.indexPage(), false);
  });
});
