import assert from "node:assert/strict";
import { test } from "node:test";
import { report, table, watchMachine } from "../../bench/support/report.js";
import { absoluteRow, compare, comparedRow, noiseRow } from "../../bench/support/row.js";
import { inTurns, median, percentile, spreadOf } from "../../bench/support/turns.js";

test("The median is the middle value, or the middle between two, whatever their order", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

test("A percentile of few values is one of them", () => {
  assert.equal(percentile([1, 2, 3], 0.99), 3);
  assert.equal(
    percentile(
      Array.from({ length: 100 }, (_, i) => i),
      0.5,
    ),
    50,
  );
});

test("A spread names the median, both ends and the number of rounds", () => {
  assert.deepEqual(spreadOf([5, 1, 3]), { median: 3, min: 1, max: 5, rounds: 3 });
});

test("Measurements alternate round by round", async () => {
  const order: string[] = [];
  const take = (name: string) => async () => order.push(name);
  const taken = await inTurns(3, { a: take("a"), b: take("b") });
  assert.deepEqual(order, ["a", "b", "a", "b", "a", "b"]);
  assert.deepEqual(taken, { a: [1, 3, 5], b: [2, 4, 6] });
});

test("Fewer than three rounds are refused, because their spread says nothing", async () => {
  await assert.rejects(inTurns(2, { a: async () => 1 }), /2 rounds are too few: at least 3/);
});

test("A subject stands between two takes of its reference, which also give the noise", async () => {
  const order: string[] = [];
  let takes = 0;
  const [subject, noise] = await compare({
    rounds: 3,
    warmUp: true,
    unit: "ms",
    reference: {
      name: "bare",
      take: async () => {
        order.push("bare");
        return takes++ % 2 === 0 ? 10 : 12;
      },
    },
    subjects: {
      portal: {
        take: async () => {
          order.push("portal");
          return 22;
        },
        goal: { atMost: 1.5 },
      },
    },
  });
  assert.deepEqual(order.slice(0, 3), ["bare", "portal", "bare"]);
  assert.equal(order.length, 12, "the warm-up is one more round");
  assert.equal(subject?.reference?.median, 11);
  assert.equal(subject?.ratio?.median, 2);
  assert.deepEqual([subject?.goal, subject?.verdict], ["≤ 1.5 ×", "missed"]);
  assert.equal(noise?.figure, "noise: bare, measured twice");
  assert.deepEqual([noise?.ratio?.median, noise?.verdict], [1.2, "noisy"]);
});

test("A ratio is that of each round, so that a machine that slows down does not change it", () => {
  const { ratio } = comparedRow("figure", "ms", [2, 20, 200], [1, 10, 100], { atMost: 2 });
  assert.deepEqual(ratio, { median: 2, min: 2, max: 2, rounds: 3 });
});

test("A goal bounds the ratio, the value or the difference, from above or from below", () => {
  const row = (goal: Parameters<typeof comparedRow>[4]) => {
    const { goal: text, verdict } = comparedRow("figure", "ms", [12, 12, 12], [10, 10, 10], goal);
    return `${text}: ${verdict}`;
  };
  assert.equal(row({ atMost: 1.2 }), "≤ 1.2 ×: met");
  assert.equal(row({ atLeast: 1.3 }), "≥ 1.3 ×: missed");
  assert.equal(row({ of: "value", atMost: 11 }), "≤ 11 ms: missed");
  assert.equal(row({ of: "difference", atMost: 2 }), "≤ 2 ms more: met");
});

test("A machine is quiet while its reference stays within a tenth of itself", () => {
  assert.equal(noiseRow("bare", "ms", [10, 10, 10], [10.9, 9, 10.5]).verdict, "quiet");
  assert.equal(noiseRow("bare", "ms", [10, 10, 10], [8, 8, 8]).verdict, "noisy");
});

test("The table has one line a row, with spreads, and shouts what is not as it should be", () => {
  const rows = [
    comparedRow("slow", "ms", [2, 3, 4], [1, 1, 1], { atMost: 2 }),
    absoluteRow("small", 7, "KiB", { atMost: 8 }),
  ];
  assert.deepEqual(
    table(rows)
      .split("\n")
      .map(line => line.split(/ {2,}/)),
    [
      ["figure", "measured (min–max)", "reference (min–max)", "ratio (min–max)", "goal"],
      ["slow", "3 ms (2–4)", "1 ms (1–1)", "3 × (2–4)", "≤ 2 ×", "MISSED"],
      ["small", "7 KiB", "–", "–", "≤ 8 KiB", "met"],
    ],
  );
});

test("The report holds the rows, which benches ran, and of the machine only what bears on the figures", () => {
  const rows = [comparedRow("slow", "ms", [2.12345, 3, 4], [1, 1, 1], { atMost: 2 })];
  const { benches, machine, rows: kept } = JSON.parse(report(rows, ["start"], watchMachine()()));
  assert.deepEqual(benches, ["start"]);
  assert.deepEqual(kept[0].value, { median: 3, min: 2.12, max: 4, rounds: 3 });
  assert.equal(machine.node, process.version);
  assert.ok(machine.cores >= 1 && machine.loadAtStart >= 0 && machine.loadAtEnd >= 0);
  assert.match(machine.commit, /^([0-9a-f]{12}\+?|unknown)$/);
  const facts = ["cores", "memoryGiB", "platform", "node", "commit", "loadAtStart", "loadAtEnd"];
  assert.deepEqual(Object.keys(machine), facts);
});
