import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cpuMsOf } from "../../../test/support/pace.js";
import { parseAgentFile } from "../agents/agentFile.js";
import { chainPrompt, outputOf } from "../run/chain.js";
import { evaluate } from "./evaluator.js";
import { extractKeywords } from "./keywords.js";

const maxMs = 50;
const cpuMs = (work: () => unknown) => cpuMsOf(work, maxMs);
const fill = (piece: string, chars: number) => piece.repeat(Math.ceil(chars / piece.length)).slice(0, chars);
const parse = (content: string) =>
  parseAgentFile({ file: "a.md", path: "/a.md", id: "a", content, allowMcpServers: false });
const front = (yaml: string) => `---\n${yaml}\n---\nYou are an agent.`;

describe("Hostile text from an agent, a repository or a client takes little time", () => {
  /** Each makes a pattern retry from every position, or makes as many pieces as possible. */
  const pieces = [
    "```\n",
    "```a\nx\n",
    "`",
    " ",
    "\n",
    "\t",
    "\r",
    "a",
    "aB",
    "a-",
    "a.",
    "a/",
    "/",
    "_",
    "a(",
    "<",
  ];
  const more = [
    "< ",
    "< /",
    "<task",
    "[",
    "{",
    '"',
    "é",
    "中",
    "#1",
    "http://",
    "it ",
    "fix it. ",
    "'",
    ".ts ",
    "a b ",
  ];
  for (const piece of [...pieces, ...more]) {
    const shown = JSON.stringify(piece);
    test(`in a prompt of 32,000 characters of ${shown}`, () => {
      const prompt = fill(piece, 32_000);
      assert.ok(cpuMs(() => evaluate(prompt)) < maxMs);
      assert.ok(cpuMs(() => extractKeywords(prompt)) < maxMs);
    });
    test(`in an answer of 200,000 characters of ${shown}`, () => {
      const text = fill(piece, 200_000);
      for (const answer of [text, `\`\`\`\n{${text}`, `\`\`\`json\n${text}\n\`\`\``])
        assert.ok(cpuMs(() => outputOf(answer, undefined)) < maxMs, answer.slice(0, 20));
      const result = {
        agent: "a",
        executedAt: "",
        executionTime: "",
        status: "success",
        cached: false,
      } as const;
      assert.ok(cpuMs(() => chainPrompt(fill(piece, 32_000), [{ ...result, output: { text } }], 2)) < maxMs);
    });
    test(`in an agent file with ${shown} everywhere`, () => {
      for (const chars of [16_000, 250_000]) {
        const text = fill(piece, chars);
        const files = [
          front(text),
          front(`name: ${text}`),
          front(`keywords: [${text}]`),
          front(`"${text}": 1`),
        ];
        for (const file of [...files, `---\nname: a\n---\n${text}`])
          assert.ok(cpuMs(() => parse(file)) < maxMs, file.slice(0, 20));
      }
    });
  }
});

describe("Hostile front matter of an agent file", () => {
  const letters = "bcdefghij".split("");
  const bomb = letters.map((name, i) => {
    const before = letters[i - 1] ?? "a";
    return `${name}: &${name} [${fill(`*${before},`, 27)}]`;
  });
  const refused: Readonly<Record<string, string>> = {
    "250 KB of it": fill("a: 1\n", 250_000),
    "one byte more than 16 KB": `a: ${"x".repeat(16 * 1024 - 2)}`,
    "aliases that grow ninefold with each line": ["a: &a [x,x,x,x,x,x,x,x,x]", ...bomb].join("\n"),
    "7,000 nested lists": `a: ${"[".repeat(7000)}${"]".repeat(7000)}`,
    "3,000 nested mappings": `a: ${"{a: ".repeat(3000)}${"}".repeat(3000)}`,
    "5,000 nested list items": `a:\n  ${"- ".repeat(5000)}x`,
    "a staircase of 120 levels": Array.from({ length: 120 }, (_, i) => `${" ".repeat(i * 2)}a:`).join("\n"),
    "thousands of quotes": `a: ${'"'.repeat(15_000)}`,
    "thousands of empty lines": `a: 1${"\n".repeat(15_000)}`,
  };
  for (const [what, yaml] of Object.entries(refused)) {
    test(`is reported at once as a problem of the file: ${what}`, () => {
      const { agent, problems } = parse(front(yaml));
      assert.equal(agent, undefined);
      assert.deepEqual(
        problems.map(({ code }) => code),
        ["invalid-yaml"],
      );
      assert.ok(cpuMs(() => parse(front(yaml))) < maxMs);
    });
  }

  test("16 KB of plain front matter is read", () => {
    const { agent, problems } = parse(front(`description: x\nname: a\nextra: ${"x ".repeat(8100)}`));
    assert.equal(agent?.name, "a", JSON.stringify(problems));
  });
});

describe("The data of an answer", () => {
  const rows: readonly [what: string, text: string, data: unknown][] = [
    ["the whole text", ' {"a": 1} ', { a: 1 }],
    ["the only fence", 'Here:\n```json\n{"a": 1}\n```\nDone.', { a: 1 }],
    ["a fence that ends with spaces", "```\n[1]\n```  \n", [1]],
    ["two fences, neither of which counts", "```\n[1]\n```\n```\n[2]\n```", undefined],
    ["a fence that does not end", "```\n[1]", undefined],
    ["text that is not JSON", "hello", undefined],
    ["JSON that is nested too deeply", "[".repeat(5000) + "]".repeat(5000), undefined],
  ];
  for (const [what, text, data] of rows)
    test(`is read correctly from ${what}`, () => assert.deepEqual(outputOf(text, undefined).data, data));
});
