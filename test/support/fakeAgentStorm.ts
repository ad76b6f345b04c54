import type { HostileStep } from "./fakeAgentSteps.js";
import { fuzzedMessages, stormMessage } from "./hostileMessages.js";

type Json = Record<string, unknown>;

/** What the portal answered to requests that the agent did not wait for. */
export class Strays {
  readonly #answers = new Map<string, Json>();
  readonly #asked = new Map<string, string>();

  take({ id, result, error }: { id?: unknown; result?: Json; error?: Json }): void {
    this.#answers.set(String(id), result ?? { error });
  }

  asked(id: string, essence: string): void {
    this.#asked.set(id, essence);
  }

  /** Which requests for permission were allowed, and how many requests got an answer at all. */
  report(): { allowed: string[]; answers: number } {
    const allowed = [...this.#answers].filter(([, answer]) => /"(yes|always)"/.test(JSON.stringify(answer)));
    return { allowed: allowed.map(([id]) => this.#asked.get(id) ?? id), answers: this.#answers.size };
  }
}

/** The lines of a step that means harm. */
export function* hostileLines(step: HostileStep, sessionId: string, strays: Strays): Generator<string> {
  if ("storm" in step)
    for (let i = 0; i < step.count; i++)
      yield `${JSON.stringify({ jsonrpc: "2.0", ...stormMessage(step.storm, sessionId, i) })}\n`;
  else if ("fuzz" in step)
    for (const { line, asked } of fuzzedMessages(step.fuzz, step.count, sessionId)) {
      if (asked) strays.asked(asked.id, asked.essence);
      yield `${line}\n`;
    }
  else
    yield `${step.before.replaceAll("SESSION", sessionId)}${step.repeat.repeat(step.times)}${step.after}\n`;
}
