import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "./base/paths.js";

const documents = [
  ...readdirSync(packageRoot).filter(file => file.endsWith(".md")),
  ...readdirSync(join(packageRoot, "docs"), { recursive: true, encoding: "utf8" })
    .filter(file => file.endsWith(".md"))
    .map(file => join("docs", file)),
];

/** What happened to a file later is no mistake of an entry that named it. */
const timeless = documents.filter(file => file !== "CHANGELOG.md");

const textOf = (file: string) => readFileSync(join(packageRoot, file), "utf8");
const withoutCode = (markdown: string) => markdown.replaceAll(/^```.*?^```$/gms, "");

/** As GitHub makes it from a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function anchorsIn(markdown: string): Set<string> {
  return new Set([...withoutCode(markdown).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => anchorOf(text)));
}

/** The links of a document that lead nowhere. */
function brokenLinks(file: string, markdown: string): string[] {
  const targets = [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter(target => {
    if (/^https?:/.test(target)) return false;
    const [path = "", anchor] = target.split("#");
    const place = path === "" ? file : join(dirname(file), path);
    if (!existsSync(join(packageRoot, place))) return true;
    const text = place === file ? markdown : place.endsWith(".md") ? textOf(place) : "";
    return anchor !== undefined && !anchorsIn(text).has(anchor);
  });
}

/** A test is named without its ending, as `npm test --` takes it. */
const endings = ["", ".test.ts"];

/** The files and folders that a document names in backticks and that are not there. */
function missingFiles(markdown: string): string[] {
  const named = withoutCode(markdown).matchAll(/`((?:src|test|assets|bench|scripts|docs)\/[\w./-]*)`/g);
  return [...named]
    .map(([, path = ""]) => path)
    .filter(path => !endings.some(ending => existsSync(join(packageRoot, path + ending))));
}

/** Where a document says "`name` in `file`" and the file has no such name. */
function missingNames(markdown: string): string[] {
  const named = withoutCode(markdown).matchAll(
    /`#?(\w+)(?:\(\))?` in `((?:src|test|assets|scripts)\/[\w./-]+\.\w+)`/g,
  );
  return [...named]
    .filter(([, name = "", file = ""]) => !new RegExp(`\\b${name}\\b`).test(textOf(file)))
    .map(([whole]) => whole);
}

/** What a check finds, with the document that it is in. */
function findings(files: readonly string[], check: (file: string, markdown: string) => string[]): string[] {
  return files.flatMap(file => check(file, textOf(file)).map(finding => `${file}: ${finding}`));
}

describe("The documents", () => {
  test("Every link leads to a file and a heading that exist", () => {
    assert.ok(documents.length > 20, "the documents were found");
    assert.deepEqual(findings(documents, brokenLinks), []);
  });

  test("Every file that a document mentions, and every name in a file, exists", () => {
    assert.deepEqual(
      findings(timeless, (_file, markdown) => [...missingFiles(markdown), ...missingNames(markdown)]),
      [],
    );
  });

  test("A link that leads nowhere, a missing file and a missing name are found", () => {
    const wrong = "[a](none.md) [b](#none) [c](API.md#none) [d](API.md) [e](https://example.com/none)";
    assert.deepEqual(brokenLinks("README.md", wrong), ["none.md", "#none", "API.md#none"]);
    assert.deepEqual(missingFiles("`src/none.ts` `src/index.ts` `src/rooms`"), ["src/none.ts"]);
    assert.deepEqual(missingNames("`none()` in `src/index.ts`, `start` in `src/index.ts`"), [
      "`none()` in `src/index.ts`",
    ]);
  });
});
