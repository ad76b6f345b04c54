import { type KeywordPiece, keywordPieces } from "../prompt/keywords.js";
import { stem } from "../prompt/porter.js";
import { headVerbs } from "../prompt/signals.js";
import { lowInfoStems, stopWords, synonymsOf } from "../prompt/words.js";
import type { Agent } from "./agentFile.js";

/** The part of an agent that selection uses. */
export type Skills = Pick<Agent, "name" | "description" | "keywords" | "keywordsDerived" | "autoSelect">;

export interface Selection<A extends Skills = Agent> {
  agents: A[];
  /** The reason for each agent, one line each, or the reason why there is none. */
  rationale: string[];
}

const minScore = 1;
const minGain = 1;
const mentionScore = 4;
const extensionScore = 0.5;

const isInformative = (s: string) => !lowInfoStems.has(s);
const stemsOf = (text: string) => [
  ...new Set(
    text
      .toLowerCase()
      .split(/[\s_-]+/)
      .filter(Boolean)
      .map(stem),
  ),
];

/** The prompt's stems, each with the word in which it first appeared. */
interface PromptStems {
  words: ReadonlyMap<string, string>;
  onlyExtension: ReadonlySet<string>;
}

function promptStems(pieces: readonly KeywordPiece[]): PromptStems {
  const words = new Map<string, string>();
  const written = new Set<string>();
  for (const { word, fromExtension } of pieces) {
    for (const part of word.split("-")) {
      if (part.length < 2 || stopWords.has(part)) continue;
      const s = stem(part);
      if (!words.has(s)) words.set(s, part);
      if (!fromExtension) written.add(s);
    }
  }
  return { words, onlyExtension: new Set([...words.keys()].filter(s => !written.has(s))) };
}

type Weights = Map<string, number>;

function raise(weights: Weights, s: string, weight: number): void {
  weights.set(s, Math.max(weights.get(s) ?? 0, weight));
}

function weighKeyword(keyword: string, { words }: PromptStems, weights: Weights): void {
  const all = stemsOf(keyword);
  const informative = all.filter(isInformative);
  const present = informative.filter(s => words.has(s));
  if (present.length === informative.length) {
    // A keyword made of common words counts only as a whole.
    if (informative.length === 0 && !all.every(s => words.has(s))) return;
    for (const s of all) if (words.has(s)) raise(weights, s, isInformative(s) ? 2 : 0.5);
    return;
  }
  for (const s of present) raise(weights, s, 1);
  for (const absent of informative.filter(s => !words.has(s))) {
    for (const s of synonymsOf(absent)) if (words.has(s) && isInformative(s)) raise(weights, s, 0.5);
  }
}

/** The weight of each stem of the prompt for the agent. */
function weigh(agent: Skills, prompt: PromptStems, verbs: ReadonlySet<string>): Weights {
  const weights: Weights = new Map();
  for (const keyword of agent.keywords) weighKeyword(keyword, prompt, weights);
  for (const [s, weight] of weights) {
    const believed = agent.keywordsDerived ? weight / 2 : weight;
    weights.set(s, prompt.onlyExtension.has(s) ? Math.min(extensionScore, believed) : believed);
  }
  const named = new Set(stemsOf(agent.name));
  for (const s of prompt.words.keys()) {
    if (!isInformative(s)) continue;
    const weight = (weights.get(s) ?? 0) + (named.has(s) ? 1 : 0);
    if (weight > 0) weights.set(s, weight + (verbs.has(s) ? 1 : 0));
  }
  return weights;
}

const sum = (weights: Weights) => [...weights.values()].reduce((total, weight) => total + weight, 0);

const escapeRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A one-word name is easily part of a sentence: it counts only as `@name`, "name agent" or "agent name". */
export function mentions(prompt: string, name: string): boolean {
  const parts = name
    .toLowerCase()
    .split(/[\s-]+/)
    .filter(Boolean)
    .map(escapeRegExp);
  const text = prompt.toLowerCase();
  const joined = parts.join("[\\s-]+");
  if (!parts[0] || !text.includes(parts[0].replaceAll("\\", ""))) return false;
  const pattern = parts.length > 1 ? joined : `@${joined}|${joined}\\s+agent|agent\\s+${joined}`;
  return new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${pattern})(?![\\p{L}\\p{N}_-])`, "u").test(text);
}

function descriptionScore(agent: Skills, prompt: PromptStems, weights: Weights): number {
  const described = promptStems(keywordPieces(agent.description)).words;
  const others = [...prompt.words.keys()].filter(
    s => isInformative(s) && !weights.has(s) && described.has(s),
  );
  return Math.min(1, 0.25 * others.length);
}

interface Candidate<A> {
  agent: A;
  weights: Weights;
  mentioned: boolean;
  score: number;
}

/** What the agent adds to those already picked. */
function gainOf(candidate: Candidate<unknown>, picked: readonly Candidate<unknown>[]): number {
  const added = [...candidate.weights].map(([s, weight]) =>
    Math.max(0, weight - Math.max(0, ...picked.map(other => other.weights.get(s) ?? 0))),
  );
  return added.reduce((total, weight) => total + weight, candidate.mentioned ? mentionScore : 0);
}

/** The best by `value`, then by score, then by order of discovery. */
function bestOf<A>(
  candidates: readonly Candidate<A>[],
  value: (candidate: Candidate<A>) => number,
): Candidate<A> | undefined {
  return candidates.reduce<Candidate<A> | undefined>((best, candidate) => {
    if (!best) return candidate;
    const difference = value(candidate) - value(best) || candidate.score - best.score;
    return difference > 0 ? candidate : best;
  }, undefined);
}

function pickChain<A>(eligible: readonly Candidate<A>[], maxAgents: number): Candidate<A>[] {
  const first = bestOf(eligible, candidate => candidate.score);
  const picked = first ? [first] : [];
  while (picked.length < Math.min(maxAgents, eligible.length)) {
    const gain = (candidate: Candidate<A>) => gainOf(candidate, picked);
    const next = bestOf(
      eligible.filter(candidate => !picked.includes(candidate)),
      gain,
    );
    if (!next || gain(next) < minGain) break;
    picked.push(next);
  }
  return picked;
}

function explain<A extends Skills>(
  { agent, weights, mentioned, score }: Candidate<A>,
  prompt: PromptStems,
): string {
  const terms = [...weights]
    .sort((a, b) => b[1] - a[1])
    .map(([s, weight]) => `${prompt.words.get(s)} ${weight}`);
  const matched = [...(mentioned ? ["named in the prompt"] : []), ...terms].join(", ");
  return `${agent.name}: ${matched || "its description"} (score ${score})`;
}

export interface SelectionOptions {
  maxAgents: number;
  defaultAgent?: string | undefined;
}

/** Which agents run for a prompt, in which order, and why. */
export function selectAgents<A extends Skills>(
  agents: readonly A[],
  prompt: string,
  { maxAgents, defaultAgent }: SelectionOptions,
): Selection<A> {
  const stems = promptStems(keywordPieces(prompt));
  const verbs = new Set([...headVerbs(prompt)].map(stem));
  const candidates = agents
    .filter(agent => agent.autoSelect)
    .map(agent => {
      const weights = weigh(agent, stems, verbs);
      const mentioned = mentions(prompt, agent.name);
      const score = sum(weights) + descriptionScore(agent, stems, weights) + (mentioned ? mentionScore : 0);
      return { agent, weights, mentioned, score };
    });
  const picked = pickChain(
    candidates.filter(({ score }) => score >= minScore),
    maxAgents,
  );
  if (picked.length > 0)
    return { agents: picked.map(({ agent }) => agent), rationale: picked.map(one => explain(one, stems)) };

  const wanted = defaultAgent?.trim().toLowerCase();
  const fallback = agents.find(agent => agent.name.toLowerCase() === wanted);
  if (fallback)
    return { agents: [fallback], rationale: [`${fallback.name}: the default agent; no agent matches`] };
  const weak = bestOf(candidates, ({ score }) => score);
  if (weak && weak.score > 0)
    return { agents: [weak.agent], rationale: [`${explain(weak, stems)}, a weak match; no other is better`] };
  const [only, second] = candidates;
  if (only && !second)
    return { agents: [only.agent], rationale: [`${only.agent.name}: the only agent; nothing else matches`] };
  return { agents: [], rationale: ["No agent matches the prompt."] };
}

/** Agents whose skills match the words, best first. */
export function rankByKeywords<A extends Skills>(agents: readonly A[], keywords: readonly string[]): A[] {
  const stems = promptStems(
    keywords.map(word => ({ word: word.trim().toLowerCase(), fromExtension: false })),
  );
  return agents
    .map(agent => ({ agent, score: sum(weigh(agent, stems, new Set())) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ agent }) => agent);
}
