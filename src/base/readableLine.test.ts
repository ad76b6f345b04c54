import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLog, type Log } from "./log.js";

/** What a person reads of what `say` writes. */
function read(say: (log: Log) => void, secrets: string[] = []): string {
  let text = "";
  say(
    createLog("info", secrets, {
      isTerminal: true,
      write: line => {
        text += line;
      },
    }),
  );
  return text;
}

describe("A line of the log at a terminal", () => {
  test("has the time, the level, the message and the fields in words", () => {
    const text = read(log =>
      log.warn({ jobId: "j-1", jobs: 2, folder: "/a b", nested: { x: [1] } }, "it waits"),
    );
    assert.match(
      text,
      /^\d\d:\d\d:\d\d warn {2}it waits jobId=j-1 jobs=2 folder="\/a b" nested={"x":\[1\]}\n$/,
    );
  });

  test("has the stack of an error below it, line by line", () => {
    const text = read(log => log.error({ err: new Error("no\nway") }, "failed"));
    const [first, second, third, fourth] = text.split("\n");
    assert.match(first ?? "", /error failed$/);
    assert.deepEqual([second, third], ["    Error: no", "    way"]);
    assert.match(fourth ?? "", /^ {4}at /);
  });

  test("cannot move the cursor, ring, or turn the direction of the text, whoever wrote it", () => {
    const hostile = "\u001b[2J\u009b1A\u0007\r\n\u202e\u2028\u0000\ud800";
    const err = new Error(hostile);
    const text = read(log => log.info({ [hostile]: hostile, list: [hostile], err }, hostile));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028\ud800]/);
    assert.match(text, /\\u\{1b\}\[2J\\u\{9b\}1A\\u\{7\}/);
    assert.equal(
      text.split("\n").filter(line => /^\d\d:/.test(line)).length,
      1,
      "no line passes for another",
    );
  });

  test("has no secret, also one that is written with escapes", () => {
    const secret = 'key-with-"quotes"';
    const text = read(
      log => log.info({ said: `x ${secret}`, token: "other-secret" }, `refused ${secret}`),
      [secret],
    );
    assert.doesNotMatch(text, /quotes|other-secret/);
  });
});

test("A log that no terminal shows is JSON, one object per line", () => {
  const lines: string[] = [];
  createLog("info", [], { isTerminal: false, write: line => lines.push(line) }).info({ a: 1 }, "said");
  const { level, a, msg } = JSON.parse(lines.join(""));
  assert.deepEqual([level, a, msg], [30, 1, "said"]);
});
