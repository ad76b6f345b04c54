import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { defer, tempFolder } from "../support/cleanup.js";
import { randomFrom } from "../support/kills/randomLog.js";
import type { Answer } from "../support/live/live.js";

const program = fileURLToPath(new URL("../support/live/liveServer.js", import.meta.url));
const kills = 3;
const responses = 2_000;
/** Enough that an old cursor is stored, few enough that all are read in time. */
const maxAnswersPerLife = 200;
/** As API.md promises. */
const promisedMs = 50;
/** Allows for a write that is under way when the time is up. */
const limitMs = promisedMs + 50;

/** When an answer was given, by the server's clock, which stops while other programs keep it from running. */
interface Moment {
  wallMs: number;
  cpuMs: number;
}

const between = (from: Moment, to: Moment) => Math.min(to.wallMs - from.wallMs, to.cpuMs - from.cpuMs);

class Server {
  readonly #url: string;
  readonly kill: () => Promise<void>;

  private constructor(url: string, kill: () => Promise<void>) {
    this.#url = url;
    this.kill = kill;
  }

  static async start(t: TestContext, dataDir: string): Promise<Server> {
    const args = ["--enable-source-maps", program, dataDir, `${responses}`];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    const kill = async () => {
      child.kill("SIGKILL");
      await exited;
    };
    defer(t, kill);
    const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    return new Server(url, kill);
  }

  async read(path: string): Promise<{ answer: Answer; at: Moment }> {
    const response = await fetch(`${this.#url}/session/${path}`);
    const clock = (name: string) => Number(response.headers.get(`x-${name}-ms`));
    return {
      answer: (await response.json()) as Answer,
      at: { wallMs: clock("wall"), cpuMs: clock("cpu") },
    };
  }
}

/** What was read in one run of the server. */
interface Life {
  /** By the number of the response, and by that of the token. */
  one: Map<number, Moment>;
  tokens: Map<number, Moment>;
  end: Moment;
}

describe(`A reader of a server that is killed ${kills} times`, () => {
  test(`a reader misses nothing, and gets nothing twice that it got more than ${promisedMs} ms before the kill`, async t => {
    const dataDir = await tempFolder(t, "portal-repeats");
    const random = randomFrom(Date.now());
    let [next, token, repeated, longestMs] = [0, 0, 0, 0];
    let before: Life | undefined;

    const checkRepeated = (what: string, given: Moment | undefined) => {
      assert.ok(before && given, `${what} was given out before the last life, and now again`);
      const ageMs = between(given, before.end);
      assert.ok(ageMs <= limitMs, `${what} was given out ${ageMs} ms before the end, and again`);
      repeated++;
      longestMs = Math.max(longestMs, ageMs);
    };

    for (let life = 0; life <= kills; life++) {
      const server = await Server.start(t, dataDir);
      // A reader that has everything gets the close; one that must read again gets it all.
      for (const [earlier, given] of before?.tokens ?? []) {
        const { answer } = await server.read(`short/live/token-${earlier}`);
        if (answer.responses) checkRepeated(`What token ${earlier} got`, given);
        else assert.deepEqual(answer, { error: "SessionClosed" });
      }
      const now: Life = { one: new Map(), tokens: new Map(), end: { wallMs: 0, cpuMs: 0 } };
      const answers = 1 + Math.floor(random() * maxAnswersPerLife);
      for (let i = 0; i < answers; i++) {
        const { answer, at } = await server.read("long/live");
        const n = Number(answer.title);
        if (i === 0) {
          assert.ok(n <= next, `response ${next} was left out`);
          for (let again = n; again < next; again++)
            checkRepeated(`Response ${again}`, before?.one.get(again));
        } else assert.equal(n, next);
        next = n + 1;
        now.one.set(n, at);
        const all = await server.read(`short/live/token-${token}`);
        assert.equal(all.answer.responses?.length, 5);
        now.tokens.set(token++, all.at);
        now.end = all.at;
      }
      before = now;
      await server.kill();
    }
    t.diagnostic(
      `${next} responses and ${token} tokens read, ${repeated} answers repeated, the oldest ${Math.round(longestMs)} ms old`,
    );
  });
});
