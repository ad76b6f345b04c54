import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { referencePrompts } from "../../../test/support/orchestrator/orchestratorTables.js";
import { cpuMsOf } from "../../../test/support/pace.js";
import { evaluate, suggestRefinement } from "./evaluator.js";
import { extractKeywords } from "./keywords.js";
import { stem } from "./porter.js";

describe("a prompt is judged the same way every time", () => {
  for (const { prompt, confidence, isClear, issues } of referencePrompts) {
    test(`"${prompt}" → ${confidence}`, () => {
      const result = evaluate(prompt);
      assert.deepEqual(
        { confidence: result.confidence, isClear: result.isClear, issues: result.issues },
        { confidence, isClear, issues },
      );
      assert.equal(result.suggestions === null, issues.length === 0);
    });
  }

  test("space around a prompt does not change its verdict", () => {
    assert.deepEqual(evaluate("  \n Review this\t"), evaluate("Review this"));
  });
});

describe("text that resembles a path or a symbol is not mistaken for one", () => {
  for (const word of ["and/or", "input/output", "CI/CD"]) {
    test(`${word} is not a path`, () =>
      assert.equal(evaluate(`Review the module ${word}`).confidence <= 0.8, true));
  }

  test("an address is a symbol and not a path", () => {
    assert.equal(evaluate("Review https://example.com/a/b/c.ts").confidence, 0.9);
  });

  test("fenced code is a symbol, and its words are not read", () => {
    assert.deepEqual(evaluate("Explain the following\n```\nthing stuff whatever\n```").issues, []);
    assert.deepEqual(evaluate("Explain the following\n```\nnever closed, something").issues, []);
  });
});

describe("prompts in other scripts", () => {
  test("a Chinese prompt that names a path is clear and gets no English advice", () => {
    const result = evaluate("请检查src/db/pool.ts的性能问题");
    assert.deepEqual(
      { confidence: result.confidence, isClear: result.isClear, issues: result.issues },
      { confidence: 0.8, isClear: true, issues: [] },
    );
  });

  test("a prompt of three characters is too short, and one of four is not", () => {
    assert.deepEqual(evaluate("修复它").issues, ["too-short"]);
    assert.deepEqual(evaluate("修复登录").issues, []);
  });
});

describe("the refinement of a prompt", () => {
  test("leaves a clear prompt unchanged", () => {
    assert.equal(suggestRefinement(" Review the auth module \n"), "Review the auth module");
  });

  test("keeps an unclear prompt word for word, and adds one line per issue below a marker", () => {
    const refined = suggestRefinement("The code is broken");
    const [first, blank, marker, ...lines] = refined.split("\n");
    assert.deepEqual(
      [first, blank, marker],
      ["The code is broken", "", "[CopilotOS: the request above is underspecified]"],
    );
    assert.equal(lines.length, 3);
    assert.ok(lines.every(line => line.startsWith("- ")));
  });

  test("changes nothing the second time", () => {
    const refined = suggestRefinement("Review this");
    assert.equal(suggestRefinement(refined), refined);
  });
});

describe("the keywords of a prompt", () => {
  const cases: [string, string[]][] = [
    ["Review code quality", ["review", "code", "quality"]],
    [
      "Review internal/orchestrator/orchestrator.go for performance",
      ["review", "orchestrator", "go", "performance"],
    ],
    ["Fix the latest contest prefix", ["fix", "latest", "contest", "prefix"]],
    ["Set up CI/CD with GitHub and Node.js", ["set", "ci-cd", "github", "node.js"]],
    ["Test MatchKeywords(a, b) and max_retry_count", ["test", "match", "keywords", "max", "retry", "count"]],
    ["See https://example.com/secret and ```\nhidden\n```", ["see"]],
    ["Review reviews reviewing", ["review"]],
  ];
  for (const [prompt, keywords] of cases) {
    test(`are right for ${JSON.stringify(prompt)}`, () =>
      assert.deepEqual(extractKeywords(prompt), keywords));
  }

  test("are at most 25", () => {
    const prompt = Array.from({ length: 40 }, (_, i) => `word${String.fromCharCode(97 + (i % 26))}${i}`).join(
      " ",
    );
    assert.equal(extractKeywords(prompt).length, 25);
  });
});

describe("the stemmer follows Porter's paper", () => {
  const cases: Record<string, string> = {
    caresses: "caress",
    ponies: "poni",
    agreed: "agre",
    plastered: "plaster",
    motoring: "motor",
    sing: "sing",
    conflated: "conflat",
    hopping: "hop",
    falling: "fall",
    filing: "file",
    happy: "happi",
    relational: "relat",
    vietnamization: "vietnam",
    electrical: "electr",
    adjustment: "adjust",
    adoption: "adopt",
    completion: "complet",
    probate: "probat",
    controll: "control",
    generalizations: "gener",
    oscillators: "oscil",
  };
  for (const [word, expected] of Object.entries(cases)) {
    test(`${word} → ${expected}`, () => assert.equal(stem(word), expected));
  }
});

describe("a hostile prompt of 32,000 characters is judged quickly", () => {
  const hostile: Record<string, string> = {
    "one letter": "a".repeat(32_000),
    "one symbol": "(".repeat(32_000),
    "hyphens in a word": `a${"-".repeat(31_998)}b`,
    "dots in a word": `a${".".repeat(31_998)}b`,
    slashes: "a/".repeat(16_000),
    backticks: "`a".repeat(16_000),
    "capital humps": "aA".repeat(16_000),
    "short words": "fix it ".repeat(4_571),
    spaces: `a${" ".repeat(31_998)}b`,
    punctuation: "a, ".repeat(10_666),
  };
  for (const [name, prompt] of Object.entries(hostile)) {
    test(`when it is made of ${name}`, () => {
      const tookMs = cpuMsOf(() => evaluate(prompt), 300);
      assert.ok(tookMs < 300, `${tookMs} ms`);
    });
  }
});
