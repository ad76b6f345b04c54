import { setTimeout as pause } from "node:timers/promises";
import type { Portal } from "../portal/portal.js";
import { seen } from "../seen.js";
import type { PostgresServer } from "../store/postgres.js";
import { hasJoined } from "./nodes.js";
import type { Relay } from "./relay.js";
import { type Death, lateMs, type Witness } from "./witness.js";

/** A node that may be ended, frozen or cut off at any moment. */
export interface ShakenNode {
  readonly name: string;
  readonly portal: Portal;
  /** The way of the others to it. */
  readonly relay: Relay;
  /** Nothing is wrong with it now. */
  isWell: boolean;
}

export const eventKinds = ["kill", "freeze", "stop", "database", "cut"] as const;
export type EventKind = (typeof eventKinds)[number];

export interface EventParts {
  nodes: readonly ShakenNode[];
  server: PostgresServer;
  witness: Witness;
  random: () => number;
  leaseMs: number;
}

/** At least one node is always well, or nobody would be left to go on. */
const mostShaken = 2;
const mostPromptsBefore = 15;
const mostPromptsUntilMended = 40;

/** What happens to nodes and their database, and when that may have cut work. */
export class NodeEvents {
  readonly #parts: EventParts;
  readonly #deaths: Death[] = [];
  readonly #mending = new Set<Promise<void>>();
  /** What happened when, to understand a run that failed. */
  readonly story: string[] = [];
  readonly #begunMs = Date.now();
  /** The lives that have ended: their log lines. */
  readonly #lives: { node: string; stderr: string }[] = [];
  readonly counts: Record<EventKind, number> = { kill: 0, freeze: 0, stop: 0, database: 0, cut: 0 };

  constructor(parts: EventParts) {
    this.#parts = parts;
  }

  /** The next one, after some prompts. Resolves when it has happened, before it is mended. */
  async next(kind: EventKind): Promise<void> {
    const { witness, random, nodes } = this.#parts;
    await witness.afterPrompts(1 + Math.floor(random() * mostPromptsBefore));
    this.counts[kind]++;
    if (kind === "database") return this.#restartDatabase();
    while (this.#mending.size >= mostShaken) await Promise.race(this.#mending);
    const well = nodes.filter(({ isWell }) => isWell);
    const node = well[Math.floor(random() * well.length)];
    if (!node) throw new Error("No node is well");
    node.isWell = false;
    this.#tell(`${kind} ${node.name}`);
    const mended = this.#shake(kind, node)
      .then(() => {
        node.isWell = true;
        this.#tell(`${node.name} is well`);
      })
      .catch(error => {
        this.#tell(`${node.name} does not come back: ${error}\n${node.portal.stderr}`);
        throw new Error(this.story.join("\n"));
      });
    this.#mending.add(mended);
    // One that failed stays, for whoever waits.
    void mended.then(() => this.#mending.delete(mended)).catch(() => {});
  }

  async allMended(): Promise<void> {
    while (this.#mending.size > 0) await Promise.all(this.#mending);
  }

  /** The times in which work may have been cut, those of lost leases included. */
  deaths(): Death[] {
    const now = this.#parts.nodes.map(({ name, portal }) => ({ node: name, stderr: portal.stderr }));
    return [...this.#deaths, ...[...this.#lives, ...now].flatMap(lostLeases)];
  }

  /** What happened, and what the nodes have said about it. */
  account(): string {
    const now = this.#parts.nodes.map(({ name, portal }) => ({ node: name, stderr: portal.stderr }));
    const said = [...this.#lives, ...now].map(({ node, stderr }) => `${node}:\n${stderr}`);
    return [`It began at ${this.#begunMs}`, ...this.story, ...said].join("\n");
  }

  #tell(what: string): void {
    this.story.push(`${((Date.now() - this.#begunMs) / 1_000).toFixed(1)} s ${what}`);
  }

  async #restartDatabase(): Promise<void> {
    const { server } = this.#parts;
    this.#tell("database stops");
    await server.stop();
    await server.start();
    this.#tell("database runs");
  }

  async #shake(kind: EventKind, node: ShakenNode): Promise<void> {
    const { witness, random, leaseMs } = this.#parts;
    const { portal, relay, name } = node;
    const someTime = () =>
      this.#mending.size < mostShaken
        ? witness.afterPrompts(Math.floor(random() * mostPromptsUntilMended))
        : Promise.resolve();
    if (kind === "cut") {
      relay.cut();
      await someTime();
      return relay.mend();
    }
    const death: Death = { node: name, fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
    this.#deaths.push(death);
    if (kind === "freeze") {
      process.kill(portal.pid, "SIGSTOP");
      // A lease and a half at most: sometimes nothing happens, sometimes others take over.
      await pause(random() * 1.5 * leaseMs);
      process.kill(portal.pid, "SIGCONT");
    } else {
      const agents = await portal.processes();
      const { stderr } = await (kind === "kill" ? portal.kill() : portal.stop());
      this.#lives.push({ node: name, stderr });
      // They outlive their node until the watchdog ends them, and what they have sent may arrive a moment later.
      void seen(async () => !(await portal.processes()).some(pid => agents.includes(pid))).then(() => {
        death.untilMs = Date.now() + lateMs;
      });
      await someTime();
      // As a service manager does: a portal whose database is not there ends at once.
      await seen(() => started(portal).catch(() => false));
      relay.leadTo(portal.url);
    }
    await hasJoined(portal);
    if (kind === "freeze") death.untilMs = Date.now();
  }
}

async function started(portal: Portal): Promise<true> {
  await portal.restart();
  await hasJoined(portal);
  return true;
}

/** A node that loses its lease ends what can move, whatever the reason. */
function lostLeases({ node, stderr }: { node: string; stderr: string }): Death[] {
  return stderr.split("\n").flatMap(line => {
    if (!line.includes("the lease of this node is lost")) return [];
    const { time } = JSON.parse(line) as { time: number };
    return [{ node, fromMs: time - 1_000, untilMs: time + 5_000 }];
  });
}
