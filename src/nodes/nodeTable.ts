import { packageVersion } from "../base/paths.js";
import { flowVersion } from "../store/durableJobs.js";
import type { Owner } from "../store/lock/lockOwner.js";
import { migrations } from "../store/migrations.js";
import { onlyNode, ownerChannel, unfinished } from "../store/ownership.js";
import type { Query, Store } from "../store/store.js";
import type { PinnedWork } from "./nodeAnswer.js";

/**
 * `draining`: it starts nothing new, and leaves its jobs. `drained`: it has none left. `gone`: nobody speaks for this
 * life of a node any more. Whether one of the others lives, its lease says.
 */
export type NodeState = "running" | "draining" | "drained" | "gone";

/** What a node says about itself; its lease tells the others. */
export interface NodeLoad {
  /** The jobs that run here, and for how many there are places; 0 without a limit. */
  readonly jobs: number;
  readonly places: number;
  readonly tasks: number;
  /** The jobs that wait for a place. */
  readonly waiting: number;
  /** Of the portal, without its agents; an earlier portal does not say it. */
  readonly memoryBytes?: number;
  /** What is wrong with its machine. */
  readonly warnings: readonly string[];
}

/** One life of a node. */
export interface NodeRow {
  readonly boot: number;
  readonly name: string;
  /** Where the other nodes reach it. */
  readonly url: string | null;
  readonly version: string;
  /** The hash of its models, agents and shared folders. */
  readonly settings: string | null;
  readonly process: Owner | null;
  /** The life of the machine that it runs on. */
  readonly hostBootId: string | null;
  readonly sharedDirs: readonly string[];
  readonly startedAt: Date;
  readonly leaseUntil: Date | null;
  /** By the clock of the database, which alone decides. */
  readonly hasLeaseEnded: boolean;
  /** Since its last sign of life; the length of a lease is known to everybody. */
  readonly silentMs: number;
  readonly state: NodeState;
  readonly load: NodeLoad | null;
  /** The jobs that it handed over and that no node has taken yet. */
  readonly handedOver: number;
}

/** What a node says about itself when it joins. */
export interface NodeSelf {
  readonly name: string;
  readonly url: string;
  readonly settings: string;
  readonly sharedDirs: readonly string[];
  readonly process: Owner;
  readonly hostBootId: string | undefined;
}

/** A node of an earlier portal has no lease. */
const hasEnded = "coalesce(lease_until, '-infinity') < now()";
const ahead = (parameter: string) => `now() + ${parameter} * interval '1 millisecond'`;

/** Since the last sign of life, for the length of a lease as the first value. */
const silentMs = "coalesce(greatest(0, extract(epoch from now() - lease_until) * 1000 + $1), 0)::float8";
const isKnown = `state <> 'gone' or (boot = (select max(n.boot) from nodes n where n.name = nodes.name)
  and exists (select from owned o where o.node = nodes.name and not o.movable))`;

const uniqueViolation = "23505";

/** Tells a node that its state has changed. */
export const nodeChannel = "portal_node";

/** What a renewal brings back: what others want of the node, and the time. */
export interface Renewal {
  readonly state: NodeState;
  readonly now: Date;
}

/** The nodes table: every statement about it is here. Renewals have a connection of their own. */
export class NodeTable {
  readonly #store: Pick<Store, "query" | "transaction" | "aside">;
  readonly #leaseMs: number;

  constructor(store: Pick<Store, "query" | "transaction" | "aside">, leaseMs: number) {
    this.#store = store;
    this.#leaseMs = leaseMs;
  }

  /** The nodes whose life is not over, in the order of their names. */
  living(): Promise<NodeRow[]> {
    return this.#find("state <> 'gone'");
  }

  /** Those, and the last life of each that is gone and has something pinned to it. */
  known(): Promise<NodeRow[]> {
    return this.#find(isKnown);
  }

  /** The same in few words, for whoever asks often. */
  seen(): Promise<Pick<NodeRow, "name" | "state" | "silentMs">[]> {
    return this.#store.query(
      `select name, state, ${silentMs} as "silentMs" from nodes where ${isKnown} order by name`,
      [this.#leaseMs],
    );
  }

  /** What is pinned to each node, by its name. */
  async pinned(): Promise<ReadonlyMap<string, PinnedWork>> {
    const rows = await this.#store.query<PinnedWork & { node: string }>(
      `select o.node, count(j.id)::int as jobs, count(s.id)::int as sessions from owned o
       left join jobs j on j.id = o.root and j.status in ('Running', 'Paused')
       left join sessions s on s.id = o.root and s.status = 'open'
       where not o.movable group by o.node`,
    );
    return new Map(rows.map(({ node, ...work }) => [node, work]));
  }

  async #find(condition: string): Promise<NodeRow[]> {
    const rows = await this.#store.query<NodeRow & { boot: string }>(
      `select boot::text, name, url, version, config_hash as settings, process, host_boot_id as "hostBootId",
         shared_dirs as "sharedDirs", started_at as "startedAt", lease_until as "leaseUntil",
         ${hasEnded} as "hasLeaseEnded", state, load,
         (select count(*)::int from owned o join jobs j on j.id = o.root
          where o.movable and o.boot is null and o.node = nodes.name and j.status = 'Running') as "handedOver",
         ${silentMs} as "silentMs"
       from nodes where ${condition} order by name`,
      [this.#leaseMs],
    );
    return rows.map(row => ({ ...row, boot: Number(row.boot) }));
  }

  /** Begins a life. The earlier one with this name, if any, is over. Undefined when another process was faster. */
  async join(self: NodeSelf, earlierBoot: number | undefined): Promise<number | undefined> {
    return this.#unlessTaken(async query => {
      await query("update nodes set state = 'gone' where boot = $1", [earlierBoot ?? null]);
      const boot = await this.#insert(query, self, "running");
      // An embedded store that was imported; its portal had no name.
      await query("update owned set node = $1, boot = null where node = $2", [self.name, onlyNode]);
      await query("update worktrees set node = $1 where node = $2", [self.name, onlyNode]);
      return boot;
    });
  }

  async #unlessTaken<T>(begin: (query: Query) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#store.transaction(begin);
    } catch (error) {
      if ((error as { code?: unknown }).code === uniqueViolation) return undefined;
      throw error;
    }
  }

  /**
   * The same process begins another life, because its lease has run out. It keeps what is pinned to it; what can move
   * it keeps only where no other node has ended its earlier life. An answer may be lost, so this can be repeated. Undefined
   * when another process has begun a life of this name meanwhile: that has what was pinned.
   */
  async joinAgain(self: NodeSelf, state: NodeState): Promise<number | undefined> {
    const own = [JSON.stringify(self.process)];
    return this.#unlessTaken(async query => {
      const lives = await query<{ boot: string; state: NodeState }>(
        "select boot::text, state from nodes where process = $1 for update",
        own,
      );
      const others = await query(
        `select from nodes where name = $1 and process is distinct from $2::jsonb
           and boot > (select min(boot) from nodes where process = $2::jsonb)`,
        [self.name, ...own],
      );
      if (others.length > 0) return undefined;
      await query("update nodes set state = 'gone' where process = $1", own);
      // Somebody asked for it, and the earlier life had no time to hear of it.
      const isAsked = state === "running" && lives.some(life => life.state === "draining");
      const boot = await this.#insert(query, self, isAsked ? "draining" : state);
      await query("update owned set boot = $1 where boot = any($2) and (not movable or boot = any($3))", [
        boot,
        lives.map(life => life.boot),
        lives.filter(life => life.state !== "gone").map(life => life.boot),
      ]);
      return boot;
    });
  }

  /** Undefined when the lease has run out: somebody may have taken over. */
  async renew(boot: number, load: NodeLoad): Promise<Renewal | undefined> {
    const [row] = await this.#store.aside<Renewal>(
      `update nodes set lease_until = ${ahead("$2")}, load = $3
       where boot = $1 and state <> 'gone' and lease_until > now() returning state, clock_timestamp() as now`,
      [boot, this.#leaseMs, JSON.stringify(load)],
    );
    return row;
  }

  /** Asks a node to leave its jobs; it hears of it, wherever it is. */
  async drain(boot: number): Promise<void> {
    await this.#store.query("update nodes set state = 'draining' where boot = $1 and state = 'running'", [
      boot,
    ]);
    await this.#store.query(`select pg_notify('${nodeChannel}', $1)`, [String(boot)]);
  }

  /** A node has left its jobs. */
  async drained(boot: number): Promise<void> {
    await this.#store.query("update nodes set state = 'drained' where boot = $1 and state = 'draining'", [
      boot,
    ]);
  }

  /** Ends the lives whose leases have run out. Only one node gets each of them. */
  async reap(ownBoot: number): Promise<{ boot: number; name: string }[]> {
    const rows = await this.#store.aside<{ boot: string; name: string }>(
      `update nodes set state = 'gone' where state <> 'gone' and boot <> $1 and ${hasEnded}
       returning boot::text, name`,
      [ownBoot],
    );
    return rows.map(({ boot, name }) => ({ boot: Number(boot), name }));
  }

  /** Ends this life. What can move and has not ended is handed over: the others hear of it at once. */
  async leave(boot: number): Promise<void> {
    await this.#store.transaction(async query => {
      await query(
        `update owned set boot = null where boot = $1 and movable
           and root in (select root from (${unfinished}) as u(root, kind))`,
        [boot],
      );
      await query("update nodes set state = 'gone', lease_until = now() where boot = $1", [boot]);
      await query(`select pg_notify('${ownerChannel}', '')`);
    });
  }

  /** Ends a life that is silent, whoever may judge: a person has said that it never comes back. */
  async giveUp(name: string): Promise<void> {
    await this.#store.query(`update nodes set state = 'gone' where name = $1 and ${hasEnded}`, [name]);
  }

  async #insert(query: Query, self: NodeSelf, state: NodeState): Promise<number> {
    const { name, url, settings, sharedDirs, process, hostBootId } = self;
    const [row] = await query<{ boot: string }>(
      `insert into nodes (name, url, version, flow_version, config_hash, host_boot_id, pid, process, shared_dirs,
         state, schema_version, lease_until)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${ahead("$12")}) returning boot::text`,
      [
        ...[name, url, packageVersion, flowVersion, settings, hostBootId ?? null, process.pid],
        ...[JSON.stringify(process), JSON.stringify(sharedDirs), state, migrations.length, this.#leaseMs],
      ],
    );
    return Number(row?.boot);
  }
}
