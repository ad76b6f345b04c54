import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { problemOf } from "./checkServer.js";
import { databaseSecrets, parseAddress } from "./serverAddress.js";

const good = {
  version: 14,
  encoding: "UTF8",
  schema: "public",
  mayCreate: true,
  isStandby: false,
  role: "portal",
  isForeign: false,
};

describe("What the portal asks of a database", () => {
  test("a database that has all of it is used", () => assert.equal(problemOf(good, "x on h:1"), undefined));

  for (const [change, reason] of [
    [{ version: 13 }, /is PostgreSQL 13; the portal needs 14 or newer/],
    [{ encoding: "SQL_ASCII" }, /has the encoding SQL_ASCII; the portal needs UTF8/],
    [{ isStandby: true }, /is a standby, which cannot be written; name the primary/],
    [{ isForeign: true }, /has tables of another program/],
    [{ mayCreate: false }, /the role portal may not create tables/],
    [{ schema: "other" }, /go to the schema other; the portal needs public/],
    [{ schema: null, mayCreate: false }, /may not create tables/],
  ] as const) {
    test(`a database with ${JSON.stringify(change)} is refused`, () =>
      assert.match(problemOf({ ...good, ...change }, "x on h:1") ?? "", reason));
  }
});

describe("The address of a database", () => {
  test("its name has no password and no role", () => {
    assert.equal(
      parseAddress("postgresql://u:secret@db.example.com/portal").name,
      "portal on db.example.com:5432",
    );
    assert.equal(parseAddress("postgres://u@h:1/p?sslmode=disable").name, "p on h:1");
    assert.equal(
      parseAddress("postgresql:///p?host=/var/run/postgresql&user=u").name,
      "p on /var/run/postgresql",
    );
  });

  test("the address, and its password as it is and as it is written, are secrets", () => {
    const url = "postgresql://u:a%2Fb%25c@h/p";
    assert.deepEqual(databaseSecrets(url), [url, "a/b%c", "a%2Fb%25c"]);
    assert.deepEqual(databaseSecrets("postgresql://u@h/p"), ["postgresql://u@h/p"]);
    assert.deepEqual(databaseSecrets(undefined), []);
  });
});
