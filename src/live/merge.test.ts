import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { randomFrom, randomLog } from "../../test/support/kills/randomLog.js";
import { OpenBlocks } from "./blocks.js";
import { chunkOf, readChunk } from "./chunk.js";
import type { LiveResponse } from "./liveResponse.js";
import { type MergeRules, Merger } from "./merge.js";
import { type LogRecord, lineOf, parseLines, timeLineOf } from "./record.js";
import { Tail } from "./tail.js";

type Item = { callback: string; delta?: string; messageId?: string };

/** Without times, as in a log of an older portal, unless `timeOf` gives them. */
const recordsOf = (responses: readonly LiveResponse[], timeOf = (_n: number) => 0): LogRecord[] => {
  const blocks = new OpenBlocks();
  return responses.map((response, i) => blocks.record(i + 1, response, timeOf(i + 1)));
};

const noon = 1_700_000_000_000;

const isDelta = (item: Item | undefined) => item?.callback === "onMessage";

function isEnded(responses: readonly Item[], id: string | undefined): boolean {
  return responses.some(item => item.callback === "onEndMessage" && item.messageId === id);
}

/** The specified rules, written as plainly as possible and without regard for speed. */
function naiveRead(
  all: readonly Item[],
  after: number,
  { keepsEnded, joinsOverOthers }: { keepsEnded: boolean; joinsOverOthers: boolean },
): Item[] {
  const unread = all
    .slice(after)
    .filter(item => keepsEnded || !isDelta(item) || !isEnded(all, item.messageId));
  const read: Item[] = [];
  for (const item of unread) {
    const previous = read.at(-1);
    if (isDelta(item) && isDelta(previous) && previous?.messageId === item.messageId)
      read[read.length - 1] = { ...item, delta: `${previous?.delta}${item.delta}` };
    else read.push(item);
  }
  if (!joinsOverOthers) return read;
  const ids = new Set(read.filter(isDelta).map(item => item.messageId));
  const joined = [...ids].map(id => {
    const parts = read.filter(item => isDelta(item) && item.messageId === id);
    return { ...parts[0], delta: parts.map(part => part.delta).join("") } as Item;
  });
  return [...read.filter(item => !isDelta(item)), ...joined];
}

describe("A reader's unread deltas are joined", () => {
  for (const keepsEnded of [true, false]) {
    for (const joinsOverOthers of [true, false]) {
      test(`in 300 random logs the result equals the plain model's (ended kept: ${keepsEnded}, whole answer: ${joinsOverOthers})`, () => {
        for (let seed = 1; seed <= 300; seed++) {
          const random = randomFrom(seed);
          const logged = randomLog(random, 1 + Math.floor(random() * 80));
          const records = recordsOf(logged);
          const all = logged as Item[];
          const after = Math.floor(random() * (all.length + 1));
          const heads = new Map(
            all.map((item, i) => [i + 1, `{"callback":"onMessage","messageId":"${item.messageId}","delta":`]),
          );
          const rules: MergeRules = {
            deltaHead: block =>
              keepsEnded || !isEnded(all, all[block - 1]?.messageId) ? heads.get(block) : undefined,
            joinsOverOthers,
          };
          const merger = new Merger(rules);
          const read: Item[] = [];
          // Pages may end anywhere, which must not affect the result.
          for (let at = after; at < records.length; ) {
            const end = at + 1 + Math.floor(random() * 7);
            read.push(...merger.push(records.slice(at, end)).map(({ json }) => JSON.parse(json)));
            at = end;
          }
          read.push(...merger.flush().map(({ json }) => JSON.parse(json)));
          assert.deepEqual(read, naiveRead(all, after, { keepsEnded, joinsOverOthers }), `seed ${seed}`);
        }
      });
    }
  }

  test("a character split between two deltas is whole again", () => {
    const [high, low] = ["😀".slice(0, 1), "😀".slice(1)] as [string, string];
    const records = recordsOf([
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onMessage", messageId: "m", delta: `a${high}` },
      { callback: "onMessage", messageId: "m", delta: `${low}"\\\n` },
    ]);
    const merger = new Merger({ deltaHead: () => '{"delta":', joinsOverOthers: false });
    merger.push(records);
    const [joined] = merger.flush();
    assert.deepEqual(JSON.parse(joined?.json ?? ""), { delta: 'a😀"\\\n' });
  });

  test("joined deltas carry the number of the last one", () => {
    const merger = new Merger({ deltaHead: () => '{"delta":', joinsOverOthers: false });
    merger.push(recordsOf([{ callback: "onStartMessage", messageId: "m" }, ...deltas("m", "a", "b", "c")]));
    assert.deepEqual(merger.flush(), [{ n: 4, json: '{"delta":"abc"}' }]);
  });

  test("a response has the time at which it was appended, and joined deltas that of the first one", () => {
    const merger = new Merger({ deltaHead: () => '{"delta":', joinsOverOthers: false });
    const logged = [{ callback: "onStartMessage", messageId: "m" } as const, ...deltas("m", "a", "b", "c")];
    const read = [...merger.push(recordsOf(logged, n => noon + n)), ...merger.flush()];
    assert.deepEqual(
      read.map(({ json }) => JSON.parse(json)),
      [
        { callback: "onStartMessage", messageId: "m", time: noon + 1 },
        { delta: "abc", time: noon + 2 },
      ],
    );
  });
});

const deltas = (messageId: string, ...texts: string[]): LiveResponse[] =>
  texts.map(delta => ({ callback: "onMessage", messageId, delta }));

describe("Parts of a block are found by the number of its Start", () => {
  test("parts are told apart when open blocks of different types share an id", () => {
    const parts = recordsOf([
      { callback: "onStartReasoning", reasoningId: "1" },
      { callback: "onStartMessage", messageId: "1" },
      { callback: "onReasoning", reasoningId: "1", delta: "r" },
      { callback: "onMessage", messageId: "1", delta: "m" },
      { callback: "onEndReasoning", reasoningId: "1", completeContent: "r" },
      { callback: "onMessage", messageId: "1", delta: "m" },
    ]).map(({ part, block }) => `${part}${block}`);
    assert.deepEqual(parts, ["s1", "s2", "d1", "d2", "e1", "d2"]);
  });

  test("a response that fits no block is kept unchanged", () => {
    // JavaScript programs can push anything.
    const strange = [
      { callback: "onMessage", messageId: "never started", delta: "x" },
      { callback: "onEndMessage", messageId: "never started", completeContent: "x" },
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onMessage", messageId: "m", delta: "x", more: true },
      { callback: "onMessage", messageId: "m", delta: 7 },
      { sessionError: "x" },
      { callback: "__proto__" },
    ];
    const records = recordsOf(strange as LiveResponse[]);
    assert.deepEqual(
      records.map(({ part }) => part),
      ["-", "-", "s", "-", "-", "-", "-", "-"],
    );
    assert.deepEqual(
      records.map(({ json }) => JSON.parse(json)),
      strange,
    );
  });
});

function parsed(lines: string, after: number, onDamaged: (line: string) => void): LogRecord[] {
  const records: LogRecord[] = [];
  parseLines(lines, after, records, onDamaged);
  return records;
}

describe("A damaged line of the store", () => {
  const good: LogRecord[] = [
    { n: 1, part: "s", block: 1, json: '{"callback":"onStartMessage","messageId":"m"}', time: noon + 7 },
    { n: 2, part: "d", block: 1, json: '"text with \\n and  spaces"', time: noon },
    { n: 3, part: "-", block: 0, json: '{"callback":"onIdle"}', time: 0 },
  ];
  const damaged = [
    "",
    "nonsense",
    "x s 1 {}",
    "-1 s 1 {}",
    "1.5 s 1 {}",
    "2 q 1 {}",
    "2 d",
    "2 d x {}",
    '2 d 1 "cut',
    "2 d 1 {}",
    '2 - 0 {"callback":',
    "2 - 0 7",
    "2 - 0 null",
    "2 -0 {}",
    "2 - 0+ {}",
    "2 - 0+1.5 {}",
    "2 - 0-1 {}",
    "@",
    "@noon",
    "99999999999999999999 - 0 {",
  ];
  for (const line of damaged) {
    test(`a damaged line is skipped, and the others are read: ${JSON.stringify(line)}`, () => {
      const seen: string[] = [];
      const lines = [timeLineOf(noon), good[0], line, good[1], line, good[2]]
        .map(item => (typeof item === "object" ? lineOf(item, noon) : item))
        .join("\n");
      assert.deepEqual(
        parsed(lines, 0, bad => seen.push(bad)),
        good,
      );
      assert.deepEqual(seen, [line, line]);
    });
  }

  test("a repeated line does not bring back an earlier number", () => {
    const lines = [timeLineOf(noon), ...[...good, ...good].map(record => lineOf(record, noon))].join("\n");
    assert.deepEqual(
      parsed(lines, 1, () => {}),
      good.slice(1),
    );
  });

  test("without the line that times count from, the records are read without times", () => {
    const lines = ["@damaged", ...good.map(record => lineOf(record, noon))].join("\n");
    assert.deepEqual(
      parsed(lines, 0, () => {}),
      good.map(record => ({ ...record, time: 0 })),
    );
  });
});

describe("A chunk of the store", () => {
  // The clock is set back in the middle.
  const records = recordsOf(randomLog(randomFrom(7), 500), n => (n === 9 ? 0 : noon + (n % 250) * 1_000));
  function read(stored: string, after = 0) {
    const found: LogRecord[] = [];
    const damaged: string[] = [];
    readChunk(stored, after, found, line => damaged.push(line));
    return { found, damaged };
  }

  test("a chunk returns what was put in, plain when small and compressed when large", () => {
    for (const count of [1, 10, records.length]) {
      const some = records.slice(0, count);
      const chunk = chunkOf(some);
      assert.ok(chunk);
      assert.equal(chunk.lines.startsWith("z:"), chunk.chars > 2_000);
      assert.equal(chunk.lastN, count);
      assert.deepEqual(read(chunk.lines), { found: some, damaged: [] });
      assert.deepEqual(read(chunk.lines, count - 1), { found: some.slice(-1), damaged: [] });
    }
    assert.ok((chunkOf(records)?.lines.length ?? 0) < (chunkOf(records)?.chars ?? 0) / 2);
    assert.equal(chunkOf([]), undefined);
  });

  test("a chunk of an older portal has no times and costs nothing for them", () => {
    const old = records.map(record => ({ ...record, time: 0 }));
    for (const count of [1, old.length]) {
      const chunk = chunkOf(old.slice(0, count));
      assert.ok(chunk);
      assert.equal(
        chunk.chars,
        old
          .slice(0, count)
          .map(record => lineOf(record, 0))
          .join("\n").length,
      );
      assert.deepEqual(read(chunk.lines), { found: old.slice(0, count), damaged: [] });
    }
  });

  test("a damaged compressed chunk is skipped as a whole", () => {
    const lines = chunkOf(records)?.lines ?? "";
    for (const bad of [lines.slice(0, -20), `z:A${lines.slice(3)}`, "z:", "z:rubbish"])
      assert.deepEqual(read(bad), { found: [], damaged: [bad] });
  });
});

describe("The tail of a log", () => {
  const record = (n: number, chars = 10): LogRecord => ({
    n,
    part: "-",
    block: 0,
    json: "x".repeat(chars),
    time: 0,
  });
  const numbers = (tail: Tail, after: number, last: number, limit = 1e9) =>
    tail.between(after, last, limit).map(({ n }) => n);

  test("the tail drops old records, but never one that is not yet stored", () => {
    const tail = new Tail();
    for (let n = 1; n <= 5_000; n++) tail.push(record(n));
    tail.trim(0);
    assert.equal(tail.firstN, 1);
    tail.trim(4_000);
    assert.equal(tail.firstN, 4_001);
    tail.trim(5_000);
    assert.equal(tail.firstN, 5_000 - 512 + 1);
    assert.deepEqual(numbers(tail, 4_997, 5_000), [4_998, 4_999, 5_000]);
    assert.deepEqual(numbers(tail, 4_997, 4_999), [4_998, 4_999]);
    assert.deepEqual(numbers(tail, 4_990, 5_000, 2), [4_991, 4_992]);
    assert.equal(tail.get(5_001), undefined);
    assert.equal(tail.get(4_999)?.n, 4_999);
  });

  test("the tail is limited in size as well as in number", () => {
    const tail = new Tail();
    for (let n = 11; n <= 20; n++) tail.push(record(n, 50_000));
    tail.trim(20);
    assert.deepEqual(numbers(tail, 0, 20), [19, 20]);
    tail.trim(20, true);
    assert.equal(tail.firstN, undefined);
  });
});
