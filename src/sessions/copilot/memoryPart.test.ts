import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keptOf, newPart, nothingKept } from "./memoryPart.js";

const bytes = (text: string) => Buffer.from(text);
/** The file from where the kept tail begins, as it is read. */
const from = (file: string, { length, tail }: { length: number; tail: Buffer }) =>
  bytes(file).subarray(length - tail.length);
const textOf = (part: ReturnType<typeof newPart>) => part && [part.at, part.bytes.toString()];

describe("What is new of a file that an agent's runtime writes", () => {
  test("is all of it at first, without a line that is not whole", () => {
    assert.deepEqual(textOf(newPart(bytes("one\ntwo\nthr"), nothingKept)), [0, "one\ntwo\n"]);
    assert.deepEqual(textOf(newPart(bytes("one"), nothingKept)), [0, ""]);
    assert.deepEqual(textOf(newPart(bytes(""), nothingKept)), [0, ""]);
  });

  test("is what comes after the kept part, however long that is", () => {
    for (const length of [1, 1023, 1024, 5000]) {
      const kept = keptOf({ at: 0, bytes: bytes(`${"x".repeat(length)}\n`) });
      const part = newPart(from(`${"x".repeat(length)}\nmore\n`, kept), kept);
      assert.deepEqual(textOf(part), [length + 1, "more\n"]);
      assert.ok(part);
      const next = keptOf(part, kept);
      assert.equal(next.length, length + 6);
      assert.deepEqual(textOf(newPart(from(`${"x".repeat(length)}\nmore\n`, next), next)), [length + 6, ""]);
    }
  });

  test("cannot be told when the file is shorter, or another one", () => {
    const kept = keptOf({ at: 0, bytes: bytes("one\ntwo\n") });
    for (const file of ["", "one\n", "one\nTWO\nthree\n"])
      assert.equal(newPart(from(file, kept), kept), undefined);
  });
});
