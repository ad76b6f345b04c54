import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Script } from "../../src/backends/scripted/server.js";
import { type EntryOfTest, task } from "../../test/support/jobs/jobs.js";
import { liveAll, sseEvents } from "../../test/support/live/sse.js";
import { puppet } from "../../test/support/model/puppet.js";
import type { Portal } from "../../test/support/portal/portal.js";
import { sessionById } from "../../test/support/portal/restSession.js";

/** A turn or a job that has not ended by then never will. */
const endTimeoutMs = 120_000;
const turnsPerSession = 6;
const model = { category: "driving" };
const yes = "@call job_boolean_true yes";

/** The outcomes of everything that was started. */
export interface SoakCounts {
  sessions: number;
  turns: number;
  /** The turns that a kill of the runtime interrupted. */
  failedTurns: number;
  jobs: number;
  failedJobs: number;
  reads: number;
  kills: number;
  /** Unexpected events. */
  surprises: string[];
}

export const soakEntry: EntryOfTest = {
  tasks: {
    plain: { prompt: ["plain"], model },
    checked: {
      prompt: ["checked"],
      model,
      criteria: { condition: ["checked? job_boolean_true", yes], failureAction: { retryTimes: 3 } },
    },
    command: { prompt: ["command", "@shell echo hello"], model },
  },
  jobs: {
    soak: {
      work: {
        kind: "Seq",
        works: [task("plain"), { kind: "Par", works: [task("checked"), task("command")] }, task("plain")],
      },
    },
  },
};

/** Talks at the pace of a quick model, or does what the prompt says. */
export function soakScript(): Script {
  const doll = puppet();
  return request => {
    doll.prompts.length = 0;
    if (request.userText.startsWith("talk") && request.reason === "user")
      return [{ text: "some words ".repeat(60), chunkSize: 11, delayMs: 20 }];
    return doll.script(request);
  };
}

/** The errors of a turn that a kill of the runtime interrupted. */
const killed = /Copilot runtime (ended unexpectedly|is gone)|connection to the Copilot runtime broke/;
const prompts = ["talk", "run\n@shell echo hello", "talk", "short"];

/** Repeats work until `signal` fires; an unexpected error is recorded and stops nothing. */
export class SoakLoad {
  readonly counts: SoakCounts = {
    sessions: 0,
    turns: 0,
    failedTurns: 0,
    jobs: 0,
    failedJobs: 0,
    reads: 0,
    kills: 0,
    surprises: [],
  };
  readonly #portal: Portal;
  readonly #modelId: string;
  readonly #workingDirectory: string;
  readonly #signal: AbortSignal;
  /** The sessions that can be read now. */
  readonly #open = new Set<string>();

  constructor(portal: Portal, modelId: string, workingDirectory: string, signal: AbortSignal) {
    this.#portal = portal;
    this.#modelId = modelId;
    this.#workingDirectory = workingDirectory;
    this.#signal = signal;
  }

  /** One session after another is started, asked, closed and deleted. */
  sessions(): Promise<void> {
    return this.#repeat(async () => {
      const { body } = await this.#portal.api<{ sessionId?: string }>(
        `copilot/session/start/${this.#modelId}`,
        { body: this.#workingDirectory },
      );
      // The runtime was killed at this moment.
      if (!body.sessionId) return void (await this.#pause(1_000));
      this.counts.sessions++;
      this.#open.add(body.sessionId);
      try {
        await this.#talk(body.sessionId);
      } finally {
        this.#open.delete(body.sessionId);
        await this.#portal.api(`copilot/session/${body.sessionId}/delete`, { method: "POST" });
      }
    });
  }

  /** One job after another, each read to its end. */
  jobs(): Promise<void> {
    return this.#repeat(async () => {
      const body = `${this.#workingDirectory}\n`;
      const { jobId } = (await this.#portal.api<{ jobId: string }>("copilot/job/start/soak", { body })).body;
      const log = liveAll(`${this.#portal.url}/api/copilot/job/${jobId}/live/soak`);
      const responses = await inTime(log, `job ${jobId}`);
      this.counts.jobs++;
      if (responses.at(-1)?.callback !== "jobSucceeded") this.counts.failedJobs++;
      await this.#portal.api(`copilot/job/${jobId}/delete`, { method: "POST" });
      await this.#pause(1_000);
    });
  }

  /** A reader that reads a session for a while in one of the three ways, and hangs up in the middle. */
  readers(): Promise<void> {
    return this.#repeat(async () => {
      const ids = [...this.#open];
      const id = ids[Math.floor(Math.random() * ids.length)];
      if (id === undefined) return void (await this.#pause(100));
      const hangUp = AbortSignal.any([this.#signal, AbortSignal.timeout(randomInt(200, 4_000))]);
      const path = `${this.#portal.url}/api/copilot/session/${id}`;
      const token = Math.random() < 0.5 ? `/${Math.random().toString(36).slice(2, 4)}` : "";
      try {
        if (Math.random() < 0.5) for await (const _ of sseEvents(`${path}/events`, { signal: hangUp }));
        else while (!hangUp.aborted) await this.#poll(`${path}/live${token}`, hangUp);
      } catch (error) {
        // The reader hung up, or the session was deleted before.
        if (!hangUp.aborted && !/SessionNotFound/.test(String(error))) throw error;
      }
      this.counts.reads++;
    });
  }

  /** Kills the runtime from time to time; the sessions continue in the next one. */
  kills(everyMs: number): Promise<void> {
    return this.#repeat(async () => {
      await this.#pause(everyMs);
      if (this.#signal.aborted) return;
      for (const pid of await this.#portal.processes()) {
        if (pid === this.#portal.pid) continue;
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // The process has already ended.
        }
      }
      this.counts.kills++;
    });
  }

  async #talk(sessionId: string): Promise<void> {
    const session = sessionById(this.#portal, sessionId);
    const events = session.events();
    try {
      for (let turn = 0; turn < turnsPerSession && !this.#signal.aborted; turn++) {
        await session.query(prompts[turn % prompts.length] ?? "");
        await inTime(this.#untilIdle(events), `a turn of session ${sessionId}`);
        await this.#pause(randomInt(500, 2_500));
      }
    } finally {
      await events.return(undefined);
    }
  }

  async #untilIdle(events: ReturnType<ReturnType<typeof sessionById>["events"]>): Promise<void> {
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error("An event stream of an open session has ended");
      if ("sessionError" in value.data) this.#failed(String(value.data.sessionError));
      if (value.data.callback !== "onIdle") continue;
      this.counts.turns++;
      return;
    }
  }

  #failed(reason: string): void {
    if (killed.test(reason)) this.counts.failedTurns++;
    else this.counts.surprises.push(reason);
  }

  async #poll(url: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(url, { signal });
    const { error } = (await response.json()) as { error?: string };
    if (response.status !== 200) throw new Error(`${url} answered ${response.status} ${error}`);
    if (error !== undefined) await pause(50, undefined, { signal });
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await work();
      } catch (error) {
        if (!this.#signal.aborted) this.counts.surprises.push(String(error));
        await this.#pause(1_000);
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#signal }).catch(() => {});
  }
}

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  const over = new AbortController();
  const late = pause(endTimeoutMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${what} has not ended after ${endTimeoutMs / 1000} s`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
