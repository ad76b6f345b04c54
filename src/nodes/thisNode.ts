import { setTimeout as sleep } from "node:timers/promises";
import { deferred } from "../base/deferred.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import { withTimeout } from "../base/withTimeout.js";
import { shortReason } from "../store/failure.js";
import { sightOf } from "../store/lock/lockOwner.js";
import type { Store } from "../store/store.js";
import { type ClockReading, clockProblem } from "./clock.js";
import { isHeld, type Lease, type LeaseTimes, mayJudge, newLease, renewedLease } from "./lease.js";
import { chooseName } from "./nameChoice.js";
import type { NodeLoad, NodeRow, NodeSelf, NodeState, NodeTable } from "./nodeTable.js";

export type LeaseState = "held" | "lost" | "none";

/** What the node asks of the rest of the portal. */
export interface NodeWork {
  /** What its lease tells about it, besides what is wrong with its clock. */
  load(): NodeLoad;
  /** Somebody wants this node to leave its jobs; resolves when it has none left. */
  drain(): Promise<void>;
  /** Looks whether it reaches the others. */
  checkPeers(): Promise<void>;
  /** Another process has its name: this one has to end. */
  replaced(error: PortalError): void;
  /** Others may go on with what can move: nothing here works on it when this resolves. */
  leaveMovable(): Promise<void>;
  /** Resolves when what was accepted before that is stored under the earlier life; rejects while nothing can be stored. */
  lastWords(): Promise<void>;
  /** A new life is about to begin: whoever writes waits for its number. */
  begins(boot: Promise<number>): void;
  /** The new life has what was pinned to the earlier one, and goes on with what could have moved and did not. */
  goOn(): Promise<void>;
  /** Goes on with what lost nodes have left. */
  takeOver(): Promise<void>;
}

export interface ThisNodeOptions {
  self: NodeSelf;
  store: Pick<Store, "ready" | "patiently" | "wake">;
  table: NodeTable;
  times: LeaseTimes;
  /** Told of every life and every renewal, so that it ends the agents of a node that is silent. */
  watchdog: { boot(boot: number): void; beat(): void; end(): void };
  log: Log;
}

/** After so many looks a node looks for what others have handed over, although it was told of nothing. */
const handedOverEvery = 10;
/** After so many looks, beginning with the first, it looks whether it reaches the others. */
const peersEvery = 30;
/** While a name is taken, its holder is looked at this often. */
const lookAtNameMs = 1_000;

/** This portal as one of several on a database: it holds a lease, and looks after those of the others. */
export class ThisNode {
  readonly #options: ThisNodeOptions;
  #work: NodeWork | undefined;
  #boot = 0;
  #lease: Lease | undefined;
  #isLost = false;
  #isEnding = false;
  #looks = 0;
  #isTold = false;
  #draining: Promise<void> | undefined;
  #isDrained = false;
  #clockProblem: string | undefined;
  #busy: Promise<void> | undefined;
  #renewTimer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;

  constructor(options: ThisNodeOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.self.name;
  }

  get leaseState(): LeaseState {
    if (this.#isLost) return "lost";
    return this.#lease ? "held" : "none";
  }

  /** Begins the first life: waits for the name where only time can tell, and rejects when it is taken. */
  readonly begin = async (): Promise<number> => {
    const { self, table, times, watchdog, log } = this.#options;
    let first: NodeRow | undefined;
    for (;;) {
      const found = (await table.living()).find(({ name }) => name === self.name);
      if (found?.boot !== first?.boot) first = found;
      const holder =
        found &&
        ({
          isOnThisMachine: found.hostBootId !== null && found.hostBootId === self.hostBootId,
          sight: found.process ? sightOf(found.process) : "elsewhere",
          hasLeaseEnded: found.hasLeaseEnded,
          hasRenewed: (found.leaseUntil?.getTime() ?? 0) > (first?.leaseUntil?.getTime() ?? 0),
        } as const);
      const choice = chooseName(holder);
      if (choice === "refuse") throw nameTaken(self.name, found?.url);
      if (choice === "join") {
        const sentAtMs = performance.now();
        const boot = await table.join(self, found?.boot);
        if (boot !== undefined) {
          this.#boot = boot;
          this.#lease = newLease(sentAtMs);
          watchdog.boot(boot);
          log.info({ node: self.name, boot }, "this portal is a node of its database");
          return boot;
        }
      } else if (found === first)
        log.warn(
          { node: self.name, leaseMs: times.leaseMs },
          "a node of this name was lost: waiting for its lease to end",
        );
      await sleep(lookAtNameMs);
    }
  };

  /** From now on the lease is renewed, and others are looked after. Needs a life that has begun. */
  start(work: NodeWork): void {
    const { times } = this.#options;
    this.#work = work;
    this.#renewTimer = setInterval(() => void this.#renew(), times.renewEveryMs);
    this.#lookTimer = setInterval(() => this.#look(), times.lookEveryMs);
  }

  /** What this node says about itself. */
  load(): NodeLoad | undefined {
    const load = this.#work?.load();
    const { warnings = [] } = load ?? {};
    return load && { ...load, warnings: [...warnings, ...(this.#clockProblem ? [this.#clockProblem] : [])] };
  }

  /** Something may wait for a node: looks at once. */
  look(): void {
    this.#isTold = true;
    this.#look();
  }

  /** Somebody has changed the state of this node: reads it at once. */
  changed(boot: number): void {
    if (boot === this.#boot) void this.#renew();
  }

  /** The others go on at once with what can move. */
  async end(): Promise<void> {
    const { table, watchdog } = this.#options;
    this.#isEnding = true;
    clearInterval(this.#renewTimer);
    clearInterval(this.#lookTimer);
    watchdog.end();
    if (this.#lease && !this.#isLost) await table.leave(this.#boot);
  }

  async #renew(): Promise<void> {
    if (!this.#lease || this.#isLost || this.#isEnding) return;
    const { table, times, watchdog, log } = this.#options;
    const load = this.load();
    if (!load) return;
    const [sentAtMs, sentMs] = [performance.now(), Date.now()];
    try {
      const renewing = table.renew(this.#boot, load);
      const renewed = await withTimeout(renewing, times.giveUpMs, "the database does not answer");
      // An answer that comes too late does not bring back what has been left.
      if (this.#isLost || this.#isEnding) return;
      if (!renewed) return this.#lose("the database says that it has run out");
      this.#lease = renewedLease(this.#lease, sentAtMs, times);
      watchdog.beat();
      this.#compareClocks({ sentMs, answeredMs: Date.now(), databaseMs: renewed.now.getTime() });
      if (renewed.state === "draining") this.#drain();
    } catch (error) {
      log.warn({ reason: shortReason(error) }, "the lease of this node cannot be renewed");
    }
  }

  #compareClocks(reading: ClockReading): void {
    const problem = clockProblem(reading);
    if (problem !== undefined && this.#clockProblem === undefined)
      this.#options.log.warn({ node: this.name }, problem);
    this.#clockProblem = problem;
  }

  #drain(): void {
    const { store, table, log } = this.#options;
    if (this.#draining || !this.#work) return;
    log.info({ node: this.name }, "this node is being drained: it starts nothing new");
    this.#draining = this.#work.drain().then(async () => {
      this.#isDrained = true;
      await store.patiently(() => table.drained(this.#boot));
      log.info({ node: this.name }, "this node is drained: it can be stopped");
    });
    this.#draining.catch(error => log.error({ err: error }, "this node cannot be drained"));
  }

  #look(): void {
    if (!this.#lease || this.#isLost || this.#isEnding) return;
    const { times } = this.#options;
    const nowMs = performance.now();
    if (!isHeld(this.#lease, nowMs, times)) {
      this.#lose("it could not be renewed in time");
      return;
    }
    this.#looks++;
    this.#busy ??= this.#lookAfterOthers(mayJudge(this.#lease, nowMs, times)).finally(() => {
      this.#busy = undefined;
    });
  }

  async #lookAfterOthers(isJudge: boolean): Promise<void> {
    const { store, table, log } = this.#options;
    try {
      const lost = isJudge ? await table.reap(this.#boot) : [];
      for (const { name, boot } of lost) log.warn({ node: name, boot }, "a node was lost");
      // Whoever follows something of a lost node, at any other one, has to look for it anew.
      if (lost.length > 0) store.wake("portal_owner", "");
      const looks = this.#looks;
      this.#isTold ||= lost.length > 0 || looks % handedOverEvery === 0;
      while (this.#isTold) {
        this.#isTold = false;
        await this.#work?.takeOver();
      }
      if (looks % peersEvery === 1) await this.#work?.checkPeers();
    } catch (error) {
      log.debug({ reason: shortReason(error) }, "cannot look after other nodes now");
    }
  }

  #lose(reason: string): void {
    const { log } = this.#options;
    this.#isLost = true;
    log.error(
      { node: this.name, boot: this.#boot, reason },
      "the lease of this node is lost: what can move is left",
    );
    void this.#beginAgain().catch(error => log.error({ err: error }, "this node cannot go on"));
  }

  async #beginAgain(): Promise<void> {
    const { self, store, table, times, watchdog, log } = this.#options;
    await this.#work?.leaveMovable();
    while (!this.#isEnding) {
      // The next life refuses what comes later. A store that is away holds up nothing: joining fails then too.
      const said = this.#work?.lastWords() ?? Promise.resolve();
      await withTimeout(said, times.renewEveryMs, "the store takes long").catch(() => {});
      const tried = deferred();
      this.#work?.begins(tried.promise.then(() => this.#boot));
      try {
        const sentAtMs = performance.now();
        const boot = await table.joinAgain(self, this.#state());
        if (boot === undefined) {
          tried.resolve();
          this.#work?.replaced(await this.#replaced());
          return;
        }
        this.#boot = boot;
        this.#lease = newLease(sentAtMs);
        this.#isLost = false;
        tried.resolve();
        watchdog.boot(boot);
        log.info({ node: self.name, boot }, "this node has a lease again");
        await store.patiently(async () => this.#work?.goOn());
        return;
      } catch (error) {
        tried.resolve();
        log.debug({ reason: shortReason(error) }, "this node has no lease yet");
        await sleep(times.renewEveryMs);
      }
    }
  }

  #state(): NodeState {
    if (!this.#draining) return "running";
    return this.#isDrained ? "drained" : "draining";
  }

  async #replaced(): Promise<PortalError> {
    const { self, table } = this.#options;
    const found = (await table.living().catch(() => [])).find(({ name }) => name === self.name);
    const where = found?.url ? ` at ${found.url}` : "";
    return PortalError.unavailable(
      "NodeReplaced",
      `While this node could not reach the database, another node ${self.name} started${where} and has its work now: this one ends. Give it another name with --node.`,
    );
  }
}

function nameTaken(name: string, url: string | null | undefined): PortalError {
  const where = url ? ` at ${url}` : "";
  return PortalError.unavailable(
    "NodeNameTaken",
    `There is a running node ${name}${where}. Stop it, or give this one another name with --node.`,
  );
}
