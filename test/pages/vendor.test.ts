import assert from "node:assert/strict";
import { it } from "node:test";
import { startWebsite } from "../support/pages/browser.js";

it("vendor files are modules, and browsers revalidate them", async t => {
  const url = await startWebsite(t);
  for (const name of [
    "marked.js",
    "diff.js",
    "dompurify.js",
    "highlight/core.js",
    "highlight/languages.js",
  ]) {
    const response = await fetch(`${url}/vendor/${name}`);
    assert.equal(response.status, 200, name);
    assert.match(response.headers.get("content-type") ?? "", /^text\/javascript/);
    assert.match(await response.text(), /\bexport\b/, `${name} exports nothing`);
    const etag = response.headers.get("etag") ?? "";
    const again = await fetch(`${url}/vendor/${name}`, {
      // A browser sends this; without it Node's fetch would add no-cache.
      headers: { "if-none-match": etag, "cache-control": "max-age=0" },
    });
    assert.equal(again.status, 304, name);
  }
});

it("each name of a language leads to a grammar, and no page can load another one", async t => {
  const url = await startWebsite(t);
  const listed = await (await fetch(`${url}/vendor/highlight/languages.js`)).text();
  const { default: languages }: { default: Map<string, string> } = await import(
    `data:text/javascript,${encodeURIComponent(listed)}`
  );
  assert.equal(languages.get("ts"), "typescript");
  assert.equal(languages.get("constructor"), undefined);
  for (const language of new Set(languages.values()))
    assert.equal((await fetch(`${url}/vendor/highlight/${language}.js`)).status, 200, language);
  assert.equal((await fetch(`${url}/vendor/highlight/mathematica.js`)).status, 404);
});

it("nothing else of node_modules is served", async t => {
  const url = await startWebsite(t);
  const paths = [
    "",
    "marked",
    "marked/package.json",
    "mermaid/mermaid.js",
    "highlight/..%2f..%2fpackage.json",
    "highlight/%2e%2e/core.js",
    "highlight/%2e%2e/%2e%2e/package.json",
    "__proto__",
    "constructor",
  ];
  for (const path of paths) assert.equal((await fetch(`${url}/vendor/${path}`)).status, 404, path);
});
