import { extractKeywords } from "./keywords.js";
import { codePoints, isLatin, wordsOf } from "./promptText.js";
import { findSignals, findsPathAndSymbol } from "./signals.js";

export type Issue = "too-short" | "vagueness" | "missing-context" | "no-action";

export interface EvaluationResult {
  isClear: boolean;
  /** 0 to 1 in hundredths. */
  confidence: number;
  issues: Issue[];
  suggestions: string | null;
  keywords: string[];
}

const startScore = 70;
const clearScore = 70;
const bonus = { path: 10, symbol: 10, verb: 10, aspect: 5 };
const minChars = 10;
/** Four Chinese characters can be a whole request. */
const minCharsOtherScript = 4;
const minWords = 2;

interface Verdict {
  score: number;
  issues: Issue[];
}

function judgeEnglish(prompt: string): Verdict {
  const has = findSignals(prompt);
  const short = (codePoints(prompt) < minChars ? 20 : 0) + (wordsOf(prompt).length < minWords ? 20 : 0);
  const penalties: readonly [Issue, number][] = [
    ["too-short", short],
    ["vagueness", has.vague ? 20 : 0],
    ["missing-context", has.anchor ? 0 : 20],
    ["no-action", has.verb || has.question || has.imperative ? 0 : 10],
  ];
  const gained = (Object.keys(bonus) as (keyof typeof bonus)[]).filter(name => has[name]);
  return {
    score:
      startScore +
      gained.reduce((sum, name) => sum + bonus[name], 0) -
      penalties.reduce((sum, [, points]) => sum + points, 0),
    issues: penalties.filter(([, points]) => points > 0).map(([issue]) => issue),
  };
}

function judgeOtherScript(prompt: string): Verdict {
  const { path, symbol } = findsPathAndSymbol(prompt, wordsOf(prompt.replace(/[^\p{ASCII}]+/gu, " ")));
  const short = codePoints(prompt) < minCharsOtherScript;
  return {
    score: startScore + (path ? bonus.path : 0) + (symbol ? bonus.symbol : 0) - (short ? 20 : 0),
    issues: short ? ["too-short"] : [],
  };
}

const advice: Readonly<Record<Issue, string>> = {
  "too-short": "Write at least one sentence that states the goal.",
  vagueness: 'Replace "it", "thing" and similar words with the exact file, function or component.',
  "missing-context": "Name the target: a path, a symbol or a subsystem.",
  "no-action": "Begin with what should be done, for example review, fix or explain.",
};

const marker = "[CopilotOS: the request above is underspecified]";

const guidance: Readonly<Record<Issue, string>> = {
  "too-short": "State the scope you chose before anything else.",
  vagueness: "Resolve vague words from the repository and name what you picked.",
  "missing-context": "Propose the likely target before acting, and touch nothing unrelated.",
  "no-action": "Report findings and options only.",
};

/** Judges by words alone, without a model, so that the same prompt always gets the same answer. */
export function evaluate(prompt: string): EvaluationResult {
  const text = prompt.trim();
  const { score, issues } = isLatin(text) ? judgeEnglish(text) : judgeOtherScript(text);
  const clamped = Math.min(100, Math.max(0, score));
  return {
    isClear: clamped >= clearScore,
    confidence: clamped / 100,
    issues,
    suggestions: issues.length === 0 ? null : issues.map(issue => advice[issue]).join(" "),
    keywords: extractKeywords(text),
  };
}

/** Invents nothing: it only tells the agent what to do about the open points of the request. */
export function suggestRefinement(
  prompt: string,
  { isClear, issues }: Pick<EvaluationResult, "isClear" | "issues"> = evaluate(prompt),
): string {
  const text = prompt.trim();
  if (isClear || text.includes(marker)) return text;
  return [text, "", marker, ...issues.map(issue => `- ${guidance[issue]}`)].join("\n");
}
