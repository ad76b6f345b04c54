import type { HostileStep } from "./fakeAgentSteps.js";
import { fuzzedMessages, stormMessage } from "./hostileMessages.js";

type Json = Record<string, unknown>;

/** The portal's answers to requests that the agent did not wait for. */
export class Strays {
  readonly #answers = new Map<string, Json>();
  readonly #harmful = new Map<string, string>();

  take({ id, result, error }: { id?: unknown; result?: Json; error?: Json }): void {
    this.#answers.set(String(id), result ?? { error });
  }

  asked(id: string, isHarmless: boolean, line: string): void {
    if (!isHarmless) this.#harmful.set(id, line);
  }

  /** What was allowed: the number of harmless requests and the lines of harmful ones; and the number of answers. */
  report(): { harmless: number; harmful: string[]; answers: number } {
    const allowed = [...this.#answers].filter(([, answer]) => /"(yes|always)"/.test(JSON.stringify(answer)));
    const harmful = allowed.flatMap(([id]) => this.#harmful.get(id)?.slice(0, 2000) ?? []);
    return { harmless: allowed.length - harmful.length, harmful, answers: this.#answers.size };
  }
}

/** The lines of a hostile step. */
export function* hostileLines(step: HostileStep, sessionId: string, strays: Strays): Generator<string> {
  if ("storm" in step)
    for (let i = 0; i < step.count; i++)
      yield `${JSON.stringify({ jsonrpc: "2.0", ...stormMessage(step.storm, sessionId, i) })}\n`;
  else if ("fuzz" in step)
    for (const { line, asked } of fuzzedMessages(step.fuzz, step.count, sessionId)) {
      if (asked) strays.asked(asked.id, asked.isHarmless, line);
      yield `${line}\n`;
    }
  else
    yield `${step.before.replaceAll("SESSION", sessionId)}${step.repeat.repeat(step.times)}${step.after}\n`;
}
