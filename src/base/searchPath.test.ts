import assert from "node:assert/strict";
import { delimiter } from "node:path";
import { test } from "node:test";
import { searchPath } from "./searchPath.js";

test("programs are searched for in the system and in the portal's own packages, nowhere else", () => {
  const given = [
    "/srv/apps/portal/node_modules/.bin",
    "/srv/apps/node_modules/.bin",
    "/node_modules/.bin",
    "/usr/bin",
    "",
    ".",
    "node_modules/.bin",
    "/home/me/bin",
  ];
  assert.equal(
    searchPath(given.join(delimiter), "/srv/apps/portal"),
    ["/srv/apps/portal/node_modules/.bin", "/usr/bin", "/home/me/bin"].join(delimiter),
  );
});
