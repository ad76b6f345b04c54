import assert from "node:assert/strict";
import { test } from "node:test";
import { type Loose, smallEntry } from "../../../test/support/jobs/entries.js";
import { parseEntry } from "./parseEntry.js";

const parse = (change: (entry: Loose) => void) => parseEntry(JSON.stringify(smallEntry(change)));
const messages = (change: (entry: Loose) => void) => parse(change).notices.map(({ message }) => message);
const ignored = (path: string) => `${path}: Unknown property; it is ignored.`;

test("an entry without unknown fields has no notices", () => {
  assert.deepEqual(parse(() => {}).notices, []);
});

test("unknown fields are left out at any depth, and each is named with its place", () => {
  const change = (e: Loose) => {
    e.version = 1;
    e.tasks.a.printedName = "A";
    e.tasks.a.model.note = "n";
    e.tasks.a.criteria = { toolExecuted: [], extra: {}, failureAction: { retryTimes: 0, kind: "x" } };
    e.jobs.j.printedName = "J";
    e.jobs.j.work = { kind: "Seq", title: "t", works: [{ kind: "Ref", taskId: "a", elseWork: null }] };
    e.grid[0].automate = true;
    e.grid[0].jobs[0].hint = "h";
  };
  assert.deepEqual(
    messages(change).toSorted(),
    [
      ignored("entry.grid[0].automate"),
      ignored("entry.grid[0].jobs[0].hint"),
      ignored('entry.jobs["j"].printedName'),
      ignored('entry.jobs["j"].work.title'),
      ignored('entry.jobs["j"].work.works[0].elseWork'),
      ignored('entry.tasks["a"].criteria.extra'),
      ignored('entry.tasks["a"].criteria.failureAction.kind'),
      ignored('entry.tasks["a"].model.note'),
      ignored('entry.tasks["a"].printedName'),
      ignored("entry.version"),
    ].toSorted(),
  );
  const { entry } = parse(change);
  assert.doesNotMatch(JSON.stringify(entry), /printedName|note|extra|title|elseWork|automate|hint|version/);
});

test("a misspelt required field is still an error", () => {
  assert.throws(
    () =>
      parse(e => {
        e.tasks.a = { promt: ["x"], requireUserInput: false };
      }),
    { message: 'entry.tasks["a"].prompt: Is missing.' },
  );
});

test("a huge number of unknown fields, and endless names, give few and short notices", () => {
  const said = messages(e => {
    for (let index = 0; index < 10_000; index++) e.tasks.a[`x${index}`] = index;
  });
  assert.deepEqual([said.length, said.at(-1)], [21, "9980 more unknown properties are ignored."]);
  const [long = ""] = messages(e => {
    e["x".repeat(1_000_000)] = 1;
  });
  assert.ok(long.length < 1_200, String(long.length));
  const polluted = JSON.stringify(smallEntry()).replace('"prompt"', '"__proto__":{"polluted":true},"prompt"');
  const { entry, notices } = parseEntry(polluted);
  assert.equal(notices[0]?.message, ignored('entry.tasks["a"].__proto__'));
  assert.equal(Reflect.get(entry.tasks.a ?? {}, "polluted"), undefined);
});
