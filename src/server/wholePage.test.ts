import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../base/paths.js";
import { importedBy, readerOf, wholePage } from "./wholePage.js";

const assets = join(packageRoot, "assets");
const read = readerOf(assets);
/** The test page has no frame. */
const pages = readdirSync(assets).filter(name => name.endsWith(".html") && name !== "test.html");

const site = (files: Record<string, string>) => async (path: string) => files[path];

describe("A whole page", () => {
  test("every page gets the same frame and names each script that it will ask for once", async () => {
    for (const page of pages) {
      const html = await wholePage((await read(`/${page}`)) ?? "", read);
      assert.match(html, /<nav class="rail"[\s\S]*class="top line"[\s\S]*<template id="question">/, page);
      assert.doesNotMatch(html, /<!-- \S+\.html -->/, page);
      const preloads = [...html.matchAll(/<link rel="modulepreload" href="(.*?)" \/>/g)].map(([, at]) => at);
      assert.ok(preloads.includes("/lib/dom.js"), page);
      assert.equal(new Set(preloads).size, preloads.length, page);
      for (const path of preloads) assert.ok(existsSync(join(assets, path ?? "")), `${page}: ${path}`);
    }
  });

  test("the scripts are those that are imported at once, however deep, in circles or over several lines", async () => {
    const files = {
      "/a.js": 'import { b } from "./lib/b.js";\nimport "./c.js";\nconst later = () => import("./late.js");',
      "/lib/b.js": 'export {\n  one,\n  two,\n} from "../c.js";\nimport "/a.js";',
      "/c.js":
        '/** @typedef {import("./types.js").T} T */\nimport { x } from "/vendor/x.js";\nimport "package";',
    };
    assert.deepEqual(await importedBy(["/a.js"], site(files)), ["/lib/b.js", "/c.js", "/vendor/x.js"]);
  });

  test("a dollar sign in the frame is a dollar sign, a page without a place for it gets none, and a part that is not there leaves its place", async () => {
    const files = { "/shell/frame.html": "<b>$&$1</b>\n" };
    const html = "<head>\n</head>\n    <!-- shell/frame.html -->\n<main></main>\n";
    assert.equal(await wholePage(html, site(files)), "<head>\n</head>\n<b>$&$1</b>\n<main></main>\n");
    assert.equal(await wholePage("<main></main>", site(files)), "<main></main>");
    const missing = "  <!-- parts/none.html -->\n";
    assert.equal(await wholePage(missing, site(files)), missing);
  });

  test("what a page loads comes from the given base, and everything else stays where it is", async () => {
    const html = [
      '<link rel="icon" href="/favicon-idle.svg" />',
      '<link rel="stylesheet" href="/shell/design.css" />',
      '<script type="module" src="/a.js"></script>',
      '<a href="/jobs.html"><use href="/shell/icons.svg#Jobs" /></a>',
      "</head>",
    ].join("\n");
    const page = await wholePage(html, site({ "/a.js": 'import "./b.js";' }), "/~x");
    const addresses = [...page.matchAll(/(?:src|href)="(.*?)"/g)].map(([, address]) => address);
    assert.deepEqual(addresses, [
      ...["/favicon-idle.svg", "/~x/shell/design.css", "/~x/a.js", "/jobs.html", "/~x/shell/icons.svg#Jobs"],
      "/~x/b.js",
    ]);
  });

  test("nothing outside the folder is read", async () => {
    assert.equal(await read("/../package.json"), undefined);
    assert.equal(await read("/none.js"), undefined);
  });
});
