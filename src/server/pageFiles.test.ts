import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../base/paths.js";

const folder = join(packageRoot, "assets");
const textOf = (path: string) => readFileSync(join(folder, path), "utf8");
/** The pages with a frame; the test page has none. */
const pages = readdirSync(folder).filter(name => name.endsWith(".html") && name !== "test.html");

describe("The pages", () => {
  test("every page has the same frame", () => {
    const frameOf = (page: string) =>
      /<nav class="rail"[\s\S]*?<template id="question">[\s\S]*?<\/template>/.exec(textOf(page))?.[0];
    assert.ok(frameOf("index.html")?.includes('class="top line"'));
    for (const page of pages) assert.equal(frameOf(page), frameOf("index.html"), page);
  });
});
