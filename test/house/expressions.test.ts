import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { demoScript } from "../../src/backends/demo/demoScript.js";
import { parseModelList } from "../../src/backends/providerModels.js";
import { stripWrappers } from "../../src/backends/scripted/modelRequest.js";
import { fenceFor } from "../../src/base/fence.js";
import { packageRoot } from "../../src/base/paths.js";
import { isPath, isSymbol, maxTokenChars, tokensOf } from "../../src/orchestrator/prompt/promptText.js";
import { isUnknownSession } from "../../src/sessions/acp/agentErrors.js";
import { errorCode, RpcError } from "../../src/sessions/acp/rpcPeer.js";
import { errorText } from "../../src/sessions/copilot/errorText.js";
import { cpuMsOf, isWithin } from "../support/pace.js";

const worstChars = 100_000;
const limitMs = 50;
/** An expression that is far too slow is interrupted after this time. */
const interruptMs = 1500;

/** Expressions that never see a text this long, because their input is cut or bounded first. */
const bounded: [source: string, chars: number, why: string][] = [
  [
    String.raw`/session\b.*(not found|unknown|no such|does not exist)|(not found|unknown|no such)\b.*session/i`,
    2000,
    "the agent's message is cut first",
  ],
  [String.raw`/(\d+(?:\.\d+)?)(ms|s|m|h)/g`, 50, "a longer duration is refused first"],
  ["/[._/-]+$/", maxTokenChars, "a longer token is left out first"],
  [String.raw`/[A-Za-z_$][\w$]*\(/`, maxTokenChars, "a longer word is not a symbol"],
  [
    String.raw`/^((please|can you|could you|now)\s+)*(create|write|make|save)\b[^?!\n]{0,60}?(\bfile\b|[\w-]+\.(md|txt)\b)/i`,
    10_000,
    "the demo model reads only the beginning of a prompt",
  ],
];

/** A regular expression literal on one line, where the language allows one. */
const literal =
  /(?<![\w)\]"`'/*<}])\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[dgimsuvy]*(?=[\s,;).\]}:?]|$)/g;
const comment = /^\s*(?:\/\/|\/?\*)/;

interface Found {
  place: string;
  source: string;
  expression: RegExp;
}

function filesIn(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
    .map(name => join(folder, name))
    .filter(name => /\.[jt]s$/.test(name) && !/\.(?:test|d)\.ts$/.test(name));
}

function expressionsIn(file: string): Found[] {
  const lines = readFileSync(join(packageRoot, file), "utf8").split("\n");
  return lines.flatMap((line, index) =>
    comment.test(line) || /^import\b/.test(line)
      ? []
      : [...line.matchAll(literal)].flatMap(([source]) => {
          try {
            const expression = new Function(`return ${source}`)() as RegExp;
            return [{ place: `${relative(".", file)}:${index + 1}`, source, expression }];
          } catch {
            // A division, or an address in a template.
            return [];
          }
        }),
  );
}

const single = [..." \n\t\raA1_-./\\`'\"[](){}<>|*=,:;#@$!?&+~^é\u2028"];

/** Words of the expression: a text made of them gets furthest before it fails to match. */
function words(source: string): string[] {
  const plain = source
    .replaceAll(/\\[bBdDsSwW]|\(\?(?:[:=!]|<[=!])|\[(?:\\.|[^\]\\])*\]|\{\d+,?\d*\}|[()^$*+?]/g, "\0")
    .replaceAll(/\\(.)/g, "$1");
  const found = plain.split(/[\0|]/).filter(word => word.length > 1 && word.length < 60);
  return [...new Set([...found, found.join(""), found.join(" ")])].filter(word => word !== "").slice(0, 12);
}

/** The same for every expression, and therefore made once. */
const singleTexts = new Map<number, string[]>();
function textsOfSingle(chars: number): string[] {
  const known =
    singleTexts.get(chars) ??
    single.flatMap(char => [fill(char, chars), `x${fill(char, chars)}x`, fill(`a${char}`, chars)]);
  singleTexts.set(chars, known);
  return known;
}

function* worstTexts(source: string, chars: number): Generator<string> {
  const filled = (piece: string) => fill(piece, chars);
  yield* textsOfSingle(chars);
  for (const word of words(source)) {
    yield filled(word);
    for (const char of " a1-/.") {
      yield filled(word + char);
      yield `${word}${filled(char)}!`;
      yield filled(`${word}${char.repeat(50)}`);
    }
  }
}

const cpuMs = () => process.cpuUsage().user / 1000;
const context = createContext({ cpuMs });

/** The fastest of three runs counts, so that a busy machine does not fail the test. */
function slowest(expression: RegExp, texts: Iterable<string>): { ms: number; text: string } {
  let worst = { ms: 0, text: "" };
  for (const batch of batches([...texts], 50)) {
    const first = timesOf(expression, batch);
    for (const [index, text] of batch.entries()) {
      let ms = first[index] ?? Number.POSITIVE_INFINITY;
      for (let round = 0; round < 3 && ms > limitMs / 5; round++)
        ms = Math.min(ms, timesOf(expression, [text])[0] ?? interruptMs);
      if (ms > worst.ms) worst = { ms, text: text.slice(0, 40) };
      if (ms > limitMs) return worst;
    }
  }
  return worst;
}

function* batches<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

/**
 * Of as many of these texts as were done before the interruption. Each guarded call starts a thread to guard it, which
 * costs more than most expressions, so one call takes many texts.
 */
function timesOf(expression: RegExp, texts: string[]): number[] {
  const tookMs: number[] = [];
  Object.assign(context, { expression, texts, tookMs });
  const call = expression.global ? 'text.replace(expression, "")' : "expression.test(text)";
  const loop = `for (const text of texts) { const from = cpuMs(); ${call}; tookMs.push(cpuMs() - from); }`;
  try {
    runInContext(loop, context, { timeout: interruptMs });
  } catch {
    // What is missing took too long, or came after something that did.
  }
  return tookMs;
}

describe("Every regular expression on its worst 100 KB", () => {
  const found = [...filesIn("src"), ...filesIn("assets")].flatMap(expressionsIn);

  test("is found in the source, and each listed exception is in use", () => {
    assert.ok(found.length > 200, `only ${found.length} expressions were found`);
    const sources = new Set(found.map(({ source }) => source));
    assert.deepEqual(
      bounded.filter(([source]) => !sources.has(source)),
      [],
    );
  });

  for (const { place, source, expression } of found) {
    const [, chars, why] = bounded.find(([known]) => known === source) ?? ["", worstChars, ""];
    test(`${place} ${source} ${why}`, () => {
      const { ms, text } = slowest(expression, worstTexts(source, chars));
      assert.ok(isWithin(ms, limitMs), `${Math.round(ms)} ms on ${JSON.stringify(text)}…`);
    });
  }
});

const fill = (piece: string, chars = worstChars) =>
  piece.repeat(Math.ceil(chars / piece.length)).slice(0, chars);

describe("Every function that reads foreign text, on its worst input", () => {
  const secret = "secret-0123456789";
  const rows: [string, () => unknown][] = [
    ["an error made of white space", () => errorText(fill(" "))],
    ["white space before a word", () => errorText(`x${fill(" ")}x`)],
    ["an error of megabytes", () => errorText(fill(" Check your A_KEY", 5_000_000))],
    ["hints that never end", () => errorText(fill("Check your A_KEY, B_KEY or "))],
    ["names of keys that run on", () => errorText(`${fill("A_KEY_")}a`)],
    ["a bearer token without an end", () => errorText(`Bearer${fill(" ")}`)],
    ["addresses", () => errorText(fill("http://a/ "))],
    ["addresses that never end", () => errorText(fill("http://a"))],
    [
      "many secrets",
      () =>
        errorText(
          fill(secret),
          Array.from({ length: 50 }, (_, index) => secret + index),
        ),
    ],
    ["JSON of great depth", () => errorText(fill("["))],
    ["wrappers that are never closed", () => stripWrappers(fill("<reminder>"))],
    ["wrappers inside each other", () => stripWrappers(fill("<reminder></reminder>   "))],
    ["runs of backticks, more than a call takes arguments", () => fenceFor(fill("`a", 2_000_000))],
    ["a session that an agent names again and again", () => isUnknownSession(unknownSession("session "))],
    ["a model list of great depth", () => parseModelList(`{"data":${fill("[")}`)],
    ["tokens without an end", () => tokensOf(fill("a."))],
    ["a word without an end", () => [isSymbol(fill("a_")), isPath(fill("a/"))]],
    ["a prompt for the demo model", () => demo("is there a problem ")],
    ["quotes for the demo model", () => demo("x'")],
    ["orders for the demo model", () => demo("please write a ")],
  ];
  for (const [name, run] of rows)
    test(`${name} is read in ${limitMs} ms`, () => {
      const ms = cpuMsOf(run, limitMs);
      assert.ok(ms <= limitMs, `${Math.round(ms)} ms`);
    });

  test("a shortened error shows no part of a secret at the cut", () => {
    for (let place = 7960; place < 8010; place++) {
      const text = `${fill("http://example.com/a-long-path ", place)}${secret} and more ${fill("x")}`;
      assert.doesNotMatch(errorText(text, [secret]), /secret-/, String(place));
    }
  });
});

function unknownSession(piece: string): RpcError {
  return new RpcError(errorCode.invalidParams, fill(piece));
}

function demo(piece: string) {
  const text = fill(piece);
  return demoScript({
    model: "demo",
    stream: true,
    headers: {},
    messages: [],
    tools: [],
    body: {},
    bodyBytes: 0,
    reason: "user",
    subAgent: false,
    userText: text,
    userTexts: [text],
    round: 0,
    toolResults: [],
    workingDirectory: "/",
  });
}
