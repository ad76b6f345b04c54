import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { append, message, newId, notice, shareLive } from "../support/live/live.js";
import { withoutTime } from "../support/live/sse.js";

const live = shareLive();

interface Wanted {
  name: string;
  kind: string;
  id: string;
  after?: string;
  all?: boolean;
}

const ask = (streams: unknown, signal?: AbortSignal) =>
  fetch(`${live.url}/events`, {
    method: "POST",
    body: JSON.stringify({ streams }),
    ...(signal && { signal }),
  });

/** The fields of each event; a line that is no field of Server-Sent Events is one of ours. */
async function* eventsOf(streams: Wanted[]): AsyncGenerator<Record<string, string>> {
  const hangUp = new AbortController();
  const answer = await ask(streams, hangUp.signal);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const bytes of answer.body ?? []) {
      const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events)
        yield Object.fromEntries(event.split("\n").map(line => line.split(/: (.*)/s, 2)));
    }
  } finally {
    hangUp.abort();
  }
}

async function all(streams: Wanted[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const { stream, id = "", data = "" } of eventsOf(streams))
    lines.push(`${stream} ${id} ${JSON.stringify(withoutTime(JSON.parse(data)))}`);
  return lines.sort();
}

async function closedLog(kind: "session" | "job", ...words: string[]): Promise<string> {
  const id = newId();
  const log = await live.logs.create(kind, id);
  await append(log, ...words.map(notice));
  await log.close();
  return id;
}

const line = (stream: string, n: number, word: string) => `${stream} ${n} ${JSON.stringify(notice(word))}`;
const end = (stream: string, error: string) => `${stream}  ${JSON.stringify({ error })}`;

describe("Several logs on one connection", () => {
  test("each event names its log, each log has its own end, and the stream ends with the last", async () => {
    const [a, b] = [await closedLog("session", "one", "two"), await closedLog("job", "three")];
    const wanted = [
      { name: "a", kind: "session", id: a },
      { name: "b", kind: "job", id: b, all: true },
      { name: "c", kind: "session", id: "never" },
      { name: "d", kind: "task", id: "\0" },
    ];
    const tagged = { source: "job", id: b, n: 1, ...notice("three") };
    assert.deepEqual(
      await all(wanted),
      [
        line("a", 1, "one"),
        line("a", 2, "two"),
        end("a", "SessionClosed"),
        `b 1 ${JSON.stringify(tagged)}`,
        end("b", "JobsClosed"),
        end("c", "SessionNotFound"),
        end("d", "TaskNotFound"),
      ].sort(),
    );
  });

  test("each log goes on after its own place, even the same log twice", async () => {
    const id = await closedLog("session", "one", "two", "three");
    const wanted = [
      { name: "a", kind: "session", id, after: "2" },
      { name: "b", kind: "session", id, after: "1" },
    ];
    assert.deepEqual(
      await all(wanted),
      [
        line("a", 3, "three"),
        end("a", "SessionClosed"),
        line("b", 2, "two"),
        line("b", 3, "three"),
        end("b", "SessionClosed"),
      ].sort(),
    );
  });

  test("a log that is written is heard while another one waits", async () => {
    const [quiet, busy] = [newId(), newId()];
    await live.logs.create("session", quiet);
    const log = await live.logs.create("session", busy);
    const events = eventsOf([
      { name: "quiet", kind: "session", id: quiet },
      { name: "busy", kind: "session", id: busy },
    ]);
    const first = events.next();
    void log.append(message.start("m"));
    const { value } = await first;
    assert.equal(value.stream, "busy");
    assert.deepEqual(withoutTime(JSON.parse(value.data)), message.start("m"));
    await events.return(undefined);
  });

  test("what is malformed is refused before the stream begins", async () => {
    const good = { name: "a", kind: "session", id: "x" };
    const bad: [string, unknown][] = [
      ["a place of another kind", [{ ...good, after: "1;2:3" }]],
      ["a place that is none", [{ ...good, kind: "job", all: true, after: "1;;" }]],
      ["a name with a line break", [{ ...good, name: "a\nb" }]],
      ["an unknown kind", [{ ...good, kind: "user" }]],
      ["too many", Array.from({ length: 501 }, () => good)],
      ["no list", "session"],
    ];
    for (const [what, streams] of bad) assert.equal((await ask(streams)).status, 400, what);
    assert.equal(await (await ask([])).text(), "", "nothing was asked for");
  });
});
