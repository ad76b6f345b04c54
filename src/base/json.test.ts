import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cpuMsOf } from "../../test/support/pace.js";
import { JsonError, type JsonProblem, parseJson } from "./json.js";

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const problemOf = (problem: JsonProblem) => (error: unknown) =>
  error instanceof JsonError && error.problem === problem;

describe("Reading JSON from outside", () => {
  const read: Record<string, unknown> = {
    "brackets in a text, which do not count as depth": { a: "[[[[{{{{" },
    "an escaped quote, which does not end a text": ['\\"[[[[', '"'],
    "a text that ends in a backslash": ["[[[\\", ["["]],
    "many lists beside each other": Array.from({ length: 1000 }, () => []),
    "a plain value": "[",
    null: null,
  };
  for (const [what, value] of Object.entries(read)) {
    test(`JSON is read back unchanged: ${what}`, () =>
      assert.deepEqual(parseJson(JSON.stringify(value), { maxDepth: 2 }), value));
  }

  test("the depth of JSON is counted exactly", () => {
    assert.doesNotThrow(() => parseJson(nested(10), { maxDepth: 10 }));
    assert.throws(() => parseJson(nested(11), { maxDepth: 10 }), problemOf("too-deep"));
    assert.throws(() => parseJson('{"a":{"b":[1]}}', { maxDepth: 2 }), problemOf("too-deep"));
    assert.throws(() => parseJson(`["x",${nested(10)}]`, { maxDepth: 10 }), problemOf("too-deep"));
  });

  test("JSON that is too long is refused before it is read", () => {
    assert.throws(() => parseJson("[".repeat(11), { maxChars: 10, maxDepth: 1 }), problemOf("too-long"));
  });

  test("everything that is not JSON gets the same error, which never quotes the text", () => {
    for (const json of ["", "{", "]", '"', '"\\', "[1,]", "undefined", "{'a':1}", "]]]]]]][[[[", "\0", "NaN"])
      assert.throws(
        () => parseJson(json),
        (error: Error) => problemOf("not-json")(error) && !/undefined|NaN/.test(error.message),
        json,
      );
  });

  test("a key named __proto__ is a key like any other", () => {
    const value = parseJson('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
    assert.equal(value.polluted, undefined);
    assert.deepEqual(Object.keys(value), ["__proto__"]);
  });

  const worst: Record<string, string> = {
    "half a million open lists": "[".repeat(500_000),
    "half a million open objects": '{"a":'.repeat(200_000),
    "a text that never ends": `"${"\\".repeat(1_000_001)}`,
    "a closing bracket before each opening one": "][".repeat(500_000),
    "a million empty lists": `[${"[],".repeat(333_000)}[]]`,
  };
  for (const [what, json] of Object.entries(worst)) {
    test(`reading ${what} takes less than 100 ms and never ends the process`, () => {
      const read = () => {
        try {
          parseJson(json);
        } catch (error) {
          assert.ok(error instanceof JsonError, String(error));
        }
      };
      assert.ok(cpuMsOf(read, 100) < 100);
    });
  }
});
