import assert from "node:assert/strict";
import type { Portal } from "./portal.js";

/** The portal died while something was waited for that its death does not end. */
class Died extends Error {}

/** Fetch says so when the other side is gone, or goes. */
const isHungUp = (error: unknown) => error instanceof Died || error instanceof TypeError;

export const failpointEnv = (point: string | undefined): NodeJS.ProcessEnv =>
  point === undefined ? {} : { PORTAL_FAILPOINT: point };

/** A portal that dies at each of these failpoints in turn, and is started again at once with the next one armed. */
export class Mortal {
  readonly portal: Portal;
  readonly #points: string[];
  /** Where it died so far. */
  readonly deaths: string[] = [];

  /** It has been started with the first of the points armed. */
  constructor(portal: Portal, points: readonly string[]) {
    this.portal = portal;
    this.#points = [...points];
  }

  /** Where it dies next. */
  get armed(): string | undefined {
    return this.#points[0];
  }

  /** Does `work` again after each death, so it first has to look how far it came. */
  async persist<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isHungUp(error)) throw error;
        await this.#revive();
      }
    }
  }

  /** For what nobody hangs up. */
  orDeath<T>(event: Promise<T>): Promise<T> {
    const death = this.portal.exited.then(() => {
      throw new Died();
    });
    return Promise.race([event, death]);
  }

  /** As a user stops it; it may die of that. */
  async stop(): Promise<void> {
    const { signal } = await this.portal.stop().catch(() => this.portal.exited);
    this.deaths.push("stop");
    if (signal === "SIGKILL") await this.#revive();
    else await this.#start();
  }

  /** Dies by somebody else's hand, and is started again with the same point armed. */
  async kill(): Promise<void> {
    await this.portal.kill("SIGKILL");
    this.deaths.push("somewhere");
    await this.#start();
  }

  async #revive(): Promise<void> {
    const { signal, stderr } = await this.portal.exited;
    assert.equal(signal, "SIGKILL", `the portal ended by itself:\n${stderr.slice(-2000)}`);
    this.deaths.push(this.#points.shift() ?? "nowhere");
    await this.#start();
  }

  #start(): Promise<void> {
    return this.portal.restart({ env: failpointEnv(this.armed) });
  }
}
