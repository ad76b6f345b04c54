import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clockProblem } from "./clock.js";

describe("The clock of a node", () => {
  for (const [sentMs, answeredMs, databaseMs, problem] of [
    [10_000, 10_010, 10_005, undefined],
    [10_000, 10_010, 12_010, undefined],
    [10_000, 10_010, 12_011, "Its clock is 2.0 s behind that of the database."],
    [10_000, 10_010, 7_000, "Its clock is 3.0 s ahead of that of the database."],
    // A slow answer says little.
    [10_000, 19_000, 12_500, undefined],
    [10_000, 19_000, 25_000, "Its clock is 6.0 s behind that of the database."],
  ] as const)
    test(`asked at ${sentMs}, answered at ${answeredMs}, the database at ${databaseMs}: ${problem ?? "no problem"}`, () =>
      assert.equal(clockProblem({ sentMs, answeredMs, databaseMs }), problem));
});
