import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { Portal } from "../portal/portal.js";

/** The portal died during a wait that its death does not end. */
class Died extends Error {}

/** The errors of fetch when the other side is gone or disconnects. */
const isHungUp = (error: unknown) => error instanceof Died || error instanceof TypeError;

/** The points where somebody holds, and the one where the portal then dies. */
export interface Death {
  holds: readonly string[];
  point: string;
}

export const failpointEnv = (death: Death | undefined): NodeJS.ProcessEnv =>
  death ? { PORTAL_FAILPOINT: [...death.holds, death.point].join(",") } : {};

/** A portal that dies each of these deaths in turn, and is started again at once for the next one. */
export class Mortal {
  readonly portal: Portal;
  readonly #deaths: readonly Death[];
  /** What each of its lives has besides the failpoints. */
  readonly #env: NodeJS.ProcessEnv;
  readonly #events = new EventEmitter().setMaxListeners(0);
  /** The points where it has died, or where somebody held when it did. */
  readonly deaths: string[] = [];
  #died = 0;
  #starts = 0;
  #restarting: Promise<void> | undefined;
  #isStopping = false;

  /** Takes a portal that was started for the first death. */
  constructor(portal: Portal, deaths: readonly Death[], env: NodeJS.ProcessEnv = {}) {
    this.portal = portal;
    this.#env = env;
    this.#deaths = deaths;
  }

  /** How many of its deaths it has died. */
  get died(): number {
    return this.#died;
  }

  /** Repeats `work` after each death, so `work` must first check how far it got. Many may persist at once. */
  async persist<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      const start = this.#starts;
      try {
        return await work();
      } catch (error) {
        if (!isHungUp(error)) throw error;
        // A stream also breaks when its root gets a new owner, and its reader comes back.
        if (this.#restarting || !(await this.#isAlive())) await this.#restartAfter(start);
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

  /** Somebody holds at the first `count` points of this life, or at all, if there are fewer. */
  async held(count: number): Promise<void> {
    for (const name of this.#deaths[this.#died]?.holds.slice(0, count) ?? [])
      await this.orDeath(this.portal.said(`held at ${name}\n`));
  }

  /** Somebody holds at some point of the life after `deaths` deaths. */
  async heldSomewhere(deaths: number): Promise<void> {
    await this.after(deaths);
    await this.portal.said("held at ");
  }

  /** It lives again after so many of its deaths. */
  async after(deaths: number): Promise<void> {
    while (this.#died < deaths || this.#restarting) await once(this.#events, "started");
  }

  /** Stops it as a user does; it may die at a failpoint instead. Several may ask for the same stop. */
  async stop(): Promise<void> {
    const start = this.#starts;
    this.#isStopping = true;
    await this.portal.stop().catch(() => this.portal.exited);
    await this.#restartAfter(start);
  }

  /** Kills it from outside. */
  async kill(): Promise<void> {
    const start = this.#starts;
    await this.portal.kill("SIGKILL");
    await this.#restartAfter(start);
  }

  async #isAlive(): Promise<boolean> {
    return this.portal.api("health").then(
      () => true,
      () => false,
    );
  }

  async #restartAfter(start: number): Promise<void> {
    if (this.#starts !== start) return;
    this.#restarting ??= this.#restart().finally(() => {
      this.#restarting = undefined;
      this.#events.emit("started");
    });
    await this.#restarting;
  }

  async #restart(): Promise<void> {
    const { signal, stderr } = await this.portal.exited;
    if (this.#isStopping) this.deaths.push("stop");
    if (signal === "SIGKILL") {
      const { holds = [], point = "somewhere" } = this.#deaths[this.#died++] ?? {};
      this.deaths.push(...holds, point);
    } else assert.ok(this.#isStopping, `the portal ended by itself:\n${stderr.slice(-2000)}`);
    this.#isStopping = false;
    await this.portal.restart({ env: { ...this.#env, ...failpointEnv(this.#deaths[this.#died]) } });
    this.#starts++;
  }
}
