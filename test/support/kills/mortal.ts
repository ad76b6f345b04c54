import assert from "node:assert/strict";
import type { Portal } from "../portal/portal.js";

/** The portal died during a wait that its death does not end. */
class Died extends Error {}

/** The errors of fetch when the other side is gone or disconnects. */
const isHungUp = (error: unknown) => error instanceof Died || error instanceof TypeError;

export const failpointEnv = (point: string | undefined): NodeJS.ProcessEnv =>
  point === undefined ? {} : { PORTAL_FAILPOINT: point };

/** A portal that dies at each of these failpoints in turn, and is started again at once with the next one armed. */
export class Mortal {
  readonly portal: Portal;
  readonly #points: string[];
  /** What each of its lives has besides the failpoint. */
  readonly #env: NodeJS.ProcessEnv;
  /** The places where it has died. */
  readonly deaths: string[] = [];

  /** Takes a portal that was started with the first failpoint armed. */
  constructor(portal: Portal, points: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.portal = portal;
    this.#env = env;
    this.#points = [...points];
  }

  /** The failpoint of its next death. */
  get armed(): string | undefined {
    return this.#points[0];
  }

  /** Repeats `work` after each death, so `work` must first check how far it got. */
  async persist<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isHungUp(error)) throw error;
        // A stream also breaks when its root gets a new owner, and its reader comes back.
        if (!(await this.#isAlive())) await this.#revive();
      }
    }
  }

  /** For waits that no closed connection ends. */
  orDeath<T>(event: Promise<T>): Promise<T> {
    const death = this.portal.exited.then(() => {
      throw new Died();
    });
    return Promise.race([event, death]);
  }

  /** Stops it as a user does; it may die at a failpoint instead. */
  async stop(): Promise<void> {
    const { signal } = await this.portal.stop().catch(() => this.portal.exited);
    this.deaths.push("stop");
    if (signal === "SIGKILL") await this.#revive();
    else await this.#start();
  }

  /** Kills it from outside, and starts it again with the same failpoint armed. */
  async kill(): Promise<void> {
    await this.portal.kill("SIGKILL");
    this.deaths.push("somewhere");
    await this.#start();
  }

  async #isAlive(): Promise<boolean> {
    return this.portal.api("health").then(
      () => true,
      () => false,
    );
  }

  async #revive(): Promise<void> {
    const { signal, stderr } = await this.portal.exited;
    assert.equal(signal, "SIGKILL", `the portal ended by itself:\n${stderr.slice(-2000)}`);
    this.deaths.push(this.#points.shift() ?? "nowhere");
    await this.#start();
  }

  #start(): Promise<void> {
    return this.portal.restart({ env: { ...this.#env, ...failpointEnv(this.armed) } });
  }
}
