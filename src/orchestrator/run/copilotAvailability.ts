import type { CopilotClient } from "@github/copilot-sdk";
import { gitHubTokenIn } from "../../backends/agentEnvironment.js";
import { isSignedIn } from "../../backends/gitHubAccount.js";
import type { Log } from "../../base/log.js";
import { withTimeout } from "../../base/withTimeout.js";
import type { RuntimeSource } from "../../sessions/copilot/copilotHost.js";
import { OrchestratorError } from "../orchestratorError.js";

const startTimeoutMs = 10_000;
const availableForMs = 60_000;
const unavailableForMs = 5_000;

export const signInHint = "Run `copilot login`, or set COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN.";

/** Whether the Copilot runtime is available and signed in. */
export class CopilotAvailability {
  readonly #runtimes: RuntimeSource;
  readonly #log: Log;
  #known: { answer: Promise<boolean>; untilMs: number } | undefined;

  constructor(runtimes: RuntimeSource, log: Log) {
    this.#runtimes = runtimes;
    this.#log = log;
  }

  /** Never rejects. */
  isAvailable(): Promise<boolean> {
    if (this.#known && performance.now() < this.#known.untilMs) return this.#known.answer;
    const checked = { answer: this.#check(), untilMs: Number.POSITIVE_INFINITY };
    this.#known = checked;
    void checked.answer.then(available => {
      checked.untilMs = performance.now() + (available ? availableForMs : unavailableForMs);
    });
    return checked.answer;
  }

  /** The next call asks the runtime again. */
  forget(): void {
    this.#known = undefined;
  }

  async checkSignIn(): Promise<void> {
    if (!(await isSignedIn(await this.client(), gitHubTokenIn(process.env))))
      throw OrchestratorError.notAvailable("Nobody is signed in to GitHub Copilot.", signInHint);
  }

  async client(): Promise<CopilotClient> {
    try {
      return (await withTimeout(this.#runtimes.use(), startTimeoutMs, "no answer")).client;
    } catch (error) {
      throw OrchestratorError.notAvailable("The Copilot runtime is not available.", "", error);
    }
  }

  async #check(): Promise<boolean> {
    try {
      const status = this.#runtimes.use().then(({ client }) => client.getStatus());
      await withTimeout(status, startTimeoutMs, `no answer within ${startTimeoutMs / 1000} s`);
      return true;
    } catch (error) {
      this.#log.warn({ err: error }, "the Copilot runtime is not available");
      return false;
    }
  }
}
