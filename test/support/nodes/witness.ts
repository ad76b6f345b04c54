import assert from "node:assert/strict";
import type { Scope } from "../cleanup.js";
import { withoutPrefix } from "../kills/rounds.js";
import type { AnyResponse } from "../live/sse.js";
import { puppet } from "../model/puppet.js";
import {
  type ModelRequest,
  type ScriptedModel,
  type Step,
  startScriptedModel,
} from "../model/scriptedModel.js";

/** One request of an agent, as the model saw it. */
export interface Testimony {
  readonly node: string;
  /** Without the line that a crash puts before it. */
  readonly prompt: string;
  /** The first prompt of its session, which no other session has. */
  readonly session: string;
  /** It was not made to go on after a tool. */
  readonly isPrompt: boolean;
  /** Nothing else says it, so that whatever a log has can be traced. */
  readonly reply: string;
  readonly beginMs: number;
  endMs: number;
}

/** A time in which the work of a node may have been cut. */
export interface Death {
  readonly node: string;
  readonly fromMs: number;
  untilMs: number;
}

/** The loop of this process may be late; two agents at work in one session overlap for much longer. */
export const lateMs = 150;

/** Models that do what the prompts say, at the pace of a quick one, and remember everything that they were asked. */
export class Witness {
  readonly #t: Scope;
  readonly #random: () => number;
  readonly #clock = new Set<() => void>();
  readonly testimonies: Testimony[] = [];

  constructor(t: Scope, random: () => number) {
    this.#t = t;
    this.#random = random;
  }

  /** Each node has one of its own: nothing else says who has sent a prompt. */
  async modelOf(node: string): Promise<ScriptedModel> {
    const { script } = puppet();
    const model = await startScriptedModel(this.#t, async request => {
      const said = this.#hears(node, request);
      // The request that the script answers is the latest.
      void model.requests.at(-1)?.end.then(() => {
        said.endMs = Date.now();
      });
      const orders = (await script(request)).filter(step => !("text" in step));
      return [{ text: said.reply, chunkSize: 10, delayMs: 10 } as Step, ...orders];
    });
    return model;
  }

  #hears(node: string, request: ModelRequest): Testimony {
    const words = 5 + Math.floor(this.#random() * 40);
    const name = `${node}${this.testimonies.length}`;
    const said = {
      node,
      prompt: withoutPrefix(request.userText),
      session: withoutPrefix(request.userTexts[0] ?? ""),
      isPrompt: request.reason === "user",
      reply: Array.from({ length: words }, (_, n) => `${name}.${n}`).join(" "),
      beginMs: Date.now(),
      endMs: Number.POSITIVE_INFINITY,
    };
    this.testimonies.push(said);
    if (said.isPrompt) for (const tell of this.#clock) tell();
    return said;
  }

  /** Resolves when this many more prompts have arrived: the clock where nothing else is regular. */
  afterPrompts(count: number): Promise<void> {
    return new Promise(resolve => {
      let left = count;
      const tell = () => {
        if (--left > 0) return;
        this.#clock.delete(tell);
        resolve();
      };
      if (count > 0) this.#clock.add(tell);
      else resolve();
    });
  }

  /** Each prompt came once, or again only after a death of the node that had it. Returns how many came again. */
  checkPrompts(deaths: readonly Death[]): number {
    let again = 0;
    for (const [prompt, all] of grouped(
      this.testimonies.filter(({ isPrompt }) => isPrompt),
      said => said.prompt,
    ))
      for (const [index, later] of all.entries()) {
        const earlier = all[index - 1];
        if (!earlier) continue;
        again++;
        const hit = deaths.some(
          ({ node, fromMs, untilMs }) =>
            node === earlier.node && fromMs <= later.beginMs && untilMs >= earlier.beginMs,
        );
        assert.ok(
          hit,
          `${JSON.stringify(prompt)} came to ${earlier.node} at ${earlier.beginMs} and again to ${later.node} at ${later.beginMs}; deaths: ${JSON.stringify(deaths)}`,
        );
      }
    return again;
  }

  /** No two agents were at work in one session at the same time. */
  checkOverlaps(): void {
    for (const [session, all] of grouped(this.testimonies, said => said.session))
      for (const [index, later] of all.entries())
        for (const earlier of all.slice(0, index))
          assert.ok(
            earlier.endMs <= later.beginMs + lateMs,
            `two prompts of ${JSON.stringify(session)} were alive at once: ${earlier.node} from ${earlier.beginMs} to ${earlier.endMs}, ${later.node} from ${later.beginMs}`,
          );
  }

  /** What the sessions of these logs have is what was said: nothing else, nothing twice, and nothing cut off in a turn that ended well. */
  checkWords(sessions: ReadonlyMap<string, readonly AnyResponse[]>): void {
    const seen = new Map<string, string>();
    const replies = new Map(this.testimonies.map(({ reply }) => [beginning(reply), reply]));
    for (const [key, log] of sessions)
      for (const { n, callback, completeContent, interrupted } of log) {
        if (callback !== "onEndMessage" || completeContent === "") continue;
        const content = String(completeContent);
        const reply = replies.get(beginning(content)) ?? "";
        assert.ok(
          interrupted ? reply.startsWith(content) : reply === content,
          `${key} has words that nobody said: ${content}`,
        );
        const place = `${key} n ${n}`;
        const all = () => log.map(each => JSON.stringify(each)).join("\n");
        assert.ok(!seen.has(reply), `${place} and ${seen.get(reply)} have ${content}:\n${all()}`);
        seen.set(reply, place);
      }
  }
}

/** No two replies begin with the same word; one that was cut in it is too short to be traced. */
const beginning = (reply: string) => reply.split(".", 1)[0] ?? "";

export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
