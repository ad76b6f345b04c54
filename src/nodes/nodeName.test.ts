import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkNodeUrl, nodeNameOf } from "./nodeName.js";

describe("The name of a node that nobody named", () => {
  for (const [host, name] of [
    ["build-7", "build-7"],
    ["Anna's MacBook.local", "anna-s-macbook"],
    ["_x_.example.com", "x"],
    ["a".repeat(60), "a".repeat(40)],
    ["机器", undefined],
    ["", undefined],
  ] as const)
    test(`on the machine ${JSON.stringify(host)} is ${name}`, () => assert.equal(nodeNameOf(host), name));
});

describe("The address of a node", () => {
  test("is an origin of http", () => {
    assert.equal(checkNodeUrl("http://10.0.0.1:8888/"), "http://10.0.0.1:8888");
    assert.equal(checkNodeUrl("http://[fd00::1]:8888"), "http://[fd00::1]:8888");
    assert.equal(checkNodeUrl("http://node-b"), "http://node-b");
  });

  for (const text of ["https://node-b:8888", "HTTPS://h"])
    test(`${text} is refused with what to do instead`, () =>
      assert.throws(() => checkNodeUrl(text), /use a private network or a tunnel between them/));

  for (const text of ["http://h/x", "http://h?x", "http://h#x", "http://me@h", "ftp://h", "h:8888", ""])
    test(`${JSON.stringify(text)} is refused`, () =>
      assert.throws(() => checkNodeUrl(text), /: an address is http:\/\/HOST:PORT, without a path$/));
});
