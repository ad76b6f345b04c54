import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Attempts } from "./attempts.js";
import { chosenToken, cookieValue } from "./token.js";

describe("The attempt rule, against guessing", () => {
  test("an address waits after ten wrong tokens until a minute after the first, and others do not wait", () => {
    let nowMs = 0;
    const attempts = new Attempts({ now: () => nowMs });
    for (let count = 0; count < 10; count++) {
      assert.equal(attempts.waitMs("a"), 0);
      attempts.failed("a");
      nowMs += 1000;
    }
    assert.equal(attempts.waitMs("a"), 50_000);
    assert.equal(attempts.waitMs("b"), 0);
    nowMs += 50_000;
    assert.equal(attempts.waitMs("a"), 0);
    attempts.failed("a");
    assert.equal(attempts.waitMs("a"), 0, "the count starts again");
  });
});

describe("The token rule", () => {
  test("a user's own token must be long enough and fit in a header; the message does not repeat it", () => {
    assert.equal(chosenToken({ PORTAL_TOKEN: "0123456789abcdef" }), "0123456789abcdef");
    for (const PORTAL_TOKEN of [
      "0123456789abcde",
      "with spaces in between",
      "with-ümläuts-in-between",
      "tab\ttab-tab-tab-tab",
    ]) {
      assert.throws(
        () => chosenToken({ PORTAL_TOKEN }),
        (error: Error) => /^PORTAL_TOKEN: /.test(error.message) && !error.message.includes(PORTAL_TOKEN),
      );
    }
  });

  test("each generated token is different and has 256 bits", () => {
    const tokens = new Set(Array.from({ length: 100 }, () => chosenToken({})));
    assert.equal(tokens.size, 100);
    for (const token of tokens) assert.equal(Buffer.from(token, "base64url").length, 32);
  });

  test("the browser's cookie does not reveal the token", () => {
    const token = chosenToken({});
    assert.notEqual(cookieValue(token), token);
    assert.equal(cookieValue(token), cookieValue(token), "a fixed token outlives a restart");
  });
});
