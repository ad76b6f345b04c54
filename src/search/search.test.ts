import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseSearch } from "./searchQuery.js";
import { snippetOf } from "./snippet.js";

describe("What a user types becomes a search", () => {
  const cases: [typed: string, text: string, lastIsPrefix: boolean, words: string[]][] = [
    ["retry", "retry", true, ["retry"]],
    ["retry ", "retry", false, ["retry"]],
    ["  Two\twords ", "Two words", false, ["two", "words"]],
    ["src/live/chunk.ts", "src live chunk ts", true, ["src", "live", "chunk", "ts"]],
    ["log-level", "log level", true, ["log", "level"]],
    ['"exact phrase"', '"exact phrase"', false, ["exact", "phrase"]],
    ['"unbalanced quote', '"unbalanced quote', true, ["unbalanced", "quote"]],
    ["keep -leave", "keep -leave", false, ["keep"]],
    ['keep -"leave this" more', 'keep -"leave this" more', true, ["keep", "more"]],
    ["this or that", "this or that", true, ["this", "that"]],
    ["Größe", "Größe", true, ["größe"]],
    ["", "", false, []],
    ["!?& | <-> :* '", "", false, []],
    ["- -- ---", "", false, []],
    ["a\0b", "a b", true, ["a", "b"]],
  ];
  for (const [typed, text, lastIsPrefix, words] of cases)
    test(JSON.stringify(typed), () => assert.deepEqual(parseSearch(typed), { text, lastIsPrefix, words }));
});

describe("A snippet", () => {
  const marked = (text: string, typed: string) => {
    const snippet = snippetOf(text, parseSearch(typed));
    return { ...snippet, words: snippet.marks.map(([from, to]) => snippet.text.slice(from, to)) };
  };

  test("marks whole words, and words that begin like the last one", () => {
    const { text, words } = marked("Retrying a retry: the tests retried.", "tests retr");
    assert.equal(text, "Retrying a retry: the tests retried.");
    assert.deepEqual(words, ["Retrying", "retry", "tests", "retried"]);
  });

  test("shows the surroundings of the first word of a long text, in one line", () => {
    const { text, words } = marked(`${"before ".repeat(100)}\nneedle\n${"after ".repeat(100)}`, "needle ");
    assert.match(text, /^…(before )+ needle( after)+/);
    assert.match(text, /…$/);
    assert.ok(text.length <= 202);
    assert.deepEqual(words, ["needle"]);
  });

  test("shows the beginning when the words cannot be found as they were typed", () => {
    assert.deepEqual(snippetOf("another text", parseSearch("missing ")), { text: "another text", marks: [] });
  });

  test("keeps hostile text as it is, because it is data", () => {
    const { text, words } = marked("<img src=x onerror=alert(1)> needle</script>", "needle");
    assert.equal(text, "<img src=x onerror=alert(1)> needle</script>");
    assert.deepEqual(words, ["needle"]);
  });
});
