import { AsyncResource } from "node:async_hooks";
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { endOwnedProcesses, isMovableOwner } from "../backends/orphans.js";
import type { Log } from "../base/log.js";
import { packageVersion } from "../base/paths.js";
import type { PortalError } from "../base/portalError.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import { type LeaseTimes, leaseTimes, leaseTimesFor } from "../nodes/lease.js";
import { peerNamed } from "../nodes/namedNode.js";
import type { ShownNode } from "../nodes/nodeAnswer.js";
import { nodeRoutes } from "../nodes/nodeRoutes.js";
import { type NodeLoad, type NodeRow, NodeTable, nodeChannel } from "../nodes/nodeTable.js";
import { PeerCheck } from "../nodes/peerCheck.js";
import { NodeProxy } from "../nodes/proxy.js";
import { watchSchema } from "../nodes/schemaWatch.js";
import type { SharedFolders } from "../nodes/sharedFolders.js";
import { shownNode, shownState } from "../nodes/shownNode.js";
import { chooseRoots } from "../nodes/takeover.js";
import { ThisNode } from "../nodes/thisNode.js";
import { startWatchdog } from "../nodes/watchdog.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import type { LiveLogs } from "../sharedApi.js";
import { bootId, thisProcess } from "../store/lock/lockOwner.js";
import { Ownership, ownerChannel } from "../store/ownership.js";
import type { Store } from "../store/store.js";
import type { Config } from "./config.js";
import type { Health } from "./health.js";
import { urlOf } from "./listen.js";
import { drainNode, removeNode } from "./nodeEnds.js";
import type { Options } from "./options.js";

/** On a database server jobs beyond this go to other nodes. An embedded store has nobody else: they all start. */
const defaultMaxJobs = 8;

export function maxJobsOf({ maxJobs }: Config, { databaseUrl }: Options): number | undefined {
  return maxJobs ?? (databaseUrl === undefined ? undefined : defaultMaxJobs);
}

/** A hash of what a job may need of a node. No secret is part of it. */
export function settingsHash(names: {
  models: readonly string[];
  agents: readonly string[];
  sharedDirs: readonly string[];
}): string {
  const sorted = [names.models, names.agents, names.sharedDirs].map(list => [...list].sort());
  return createHash("sha256").update(JSON.stringify(sorted)).digest("hex").slice(0, 16);
}

/** Tests wait for leases to run out. */
function timesOf({ test }: Options, env: NodeJS.ProcessEnv): LeaseTimes {
  const leaseMs = Number(env.PORTAL_TEST_LEASE_MS);
  return test && leaseMs >= 1_000 ? leaseTimesFor(leaseMs) : leaseTimes;
}

/** Where others reach this node. Nobody reaches another machine under the address that stands for all of its own. */
export function nodeUrlOf({ nodeUrl, host }: Pick<Options, "nodeUrl" | "host">, port: number): string {
  const isAny = host === "0.0.0.0" || host === "::";
  return nodeUrl ?? urlOf(isAny ? hostname() : host, port);
}

export interface PortalNodesParts {
  options: Options;
  /** The names of the providers and of the agents of the config. */
  providers: readonly string[];
  agents: readonly string[];
  port: number;
  token: string | undefined;
  marker: string;
  /** Absent without a database on a server. */
  shared: SharedFolders | undefined;
  store: Store;
  log: Log;
}

/** What a node works with, once that exists. */
export interface NodeWorkParts {
  logs: LiveLogs;
  engine: JobEngine;
  marker: string;
  /** Ends the portal, because another one has its name. */
  replaced(error: PortalError): void;
}

/** This portal among those on the same store; on an embedded one there is no other. */
export function portalNodes(parts: PortalNodesParts) {
  const { options, providers, agents, port, token, marker, shared, store, log } = parts;
  const { databaseUrl } = options;
  const settings = settingsHash({ models: providers, agents, sharedDirs: shared?.folders ?? [] });
  const times = timesOf(options, process.env);
  const table = new NodeTable(store, times.leaseMs);
  const own =
    databaseUrl === undefined || !shared
      ? undefined
      : {
          shared,
          peers: new PeerCheck({
            node: options.node,
            proxy: new NodeProxy({ node: options.node, token }),
            log,
          }),
          node: new ThisNode({
            self: {
              name: options.node,
              url: nodeUrlOf(options, port),
              settings,
              sharedDirs: shared.folders,
              process: thisProcess(undefined),
              hostBootId: bootId(),
            },
            store,
            table,
            times,
            watchdog: startWatchdog({ marker, databaseUrl, silenceMs: times.giveUpMs, log }),
            log,
          }),
        };
  const ownership = new Ownership(
    store,
    own
      ? { node: options.node, isShared: true, begin: own.node.begin, isMovable: own.shared.has, settings }
      : {},
  );

  /** Of this node as it is now, of the others as their leases say. */
  async function shown(engine: JobEngine): Promise<ShownNode[]> {
    const [rows, pinned] = await Promise.all([table.known(), table.pinned()]);
    await own?.peers.check(rows);
    const boot = await ownership.boot();
    const viewer = {
      name: ownership.node,
      version: packageVersion,
      settings,
      problemWith: (name: string) => own?.peers.problemWith(name),
    };
    const load = own?.node.load() ?? loadOf(engine, []);
    const nowMs = Date.now();
    return rows.map(row =>
      shownNode(row.boot === boot ? { ...row, load } : row, viewer, nowMs, pinned.get(row.name)),
    );
  }

  const seenOf = ({ name, ...row }: Pick<NodeRow, "name" | "state" | "silentMs">) => ({
    name,
    state: shownState(row),
  });

  return {
    ownership,
    /** The nodes that `shown` has, in few words. */
    seen: async () => (await table.seen()).map(seenOf),
    /** Resolves when it has joined the others. */
    async start(work: NodeWorkParts): Promise<void> {
      if (own) await startNode({ ...own, ...work, table, settings, ownership, store, log });
    },
    peerNamed: (name: string) => peerNamed(name, table),
    routes: (work: {
      logs: LiveLogs;
      engine: JobEngine;
      sessions: Pick<SessionRegistry, "wake" | "stop">;
      stop(): void;
    }) =>
      nodeRoutes({
        nodes: () => shown(work.engine),
        drain: name => drainNode(name, { table, ownership, engine: work.engine, node: own?.node }),
        remove: name => removeNode(name, { table, ...work }),
        stop: work.stop,
      }),
    async health(): Promise<Pick<Health, "node" | "nodes" | "lease">> {
      const rows = store.state() === "ready" ? await table.living().catch(() => []) : [];
      return {
        node: ownership.node,
        nodes: rows.map(seenOf),
        lease: own?.node.leaseState ?? "none",
      };
    },
    /** Whether another node could go on with what can move. */
    hasHeirs: async () =>
      (await table.living()).some(
        other => other.name !== ownership.node && other.state === "running" && other.settings === settings,
      ),
  };
}

function loadOf({ places, slots }: JobEngine, warnings: readonly string[]): NodeLoad {
  const { taken: jobs, limit, waiting } = places;
  return {
    jobs,
    places: Number.isFinite(limit) ? limit : 0,
    tasks: slots.taken,
    waiting,
    memoryBytes: process.memoryUsage.rss(),
    warnings,
  };
}

interface NodeDuties extends NodeWorkParts {
  node: ThisNode;
  table: NodeTable;
  peers: PeerCheck;
  shared: SharedFolders;
  log: Log;
  settings: string;
  ownership: Ownership;
  store: Store;
}

/** Gives the node its work: what it leaves with its lease, and what it takes over from others. */
async function startNode(duties: NodeDuties): Promise<void> {
  const { node, table, peers, log, shared, settings, marker, engine, ownership, store, replaced } = duties;
  const { logs } = duties;
  const { adoption } = logs;
  // After the logs, which registered before: their last responses are still of this life.
  store.beforeClose(() => node.end());
  const endWatch = watchSchema({ store, drain: async () => table.drain(await ownership.boot()), log });
  store.beforeClose(async () => endWatch());
  await store.ready;
  await ownership.boot();
  store.listen(ownerChannel, () => node.look());
  store.listen(nodeChannel, boot => node.changed(Number(boot)));
  // A place becomes free at the end of a flow, and what is taken over then is no part of that flow.
  engine.places.onFree = AsyncResource.bind(() => node.look());
  node.start({
    load: () => loadOf(engine, shared.problems),
    drain: () => engine.drain(),
    checkPeers: async () => peers.check(await table.living()),
    replaced,
    async leaveMovable() {
      ownership.leaveMovable();
      await endOwnedProcesses(owner => owner.startsWith(`${marker}/`) && isMovableOwner(owner));
    },
    begins: boot => ownership.goesOn(boot),
    lastWords: () => logs.lastWords(),
    async goOn() {
      await adoption.adoptAll(() => ownership.claimUnfinished());
      logs.sendReadersAway();
    },
    async takeOver() {
      if (engine.isDraining) return;
      const free = await ownership.free();
      if (free.length === 0) return;
      const freePlaces = await engine.freePlaces();
      for (const taken of chooseRoots(free, { settings, freePlaces })) {
        const { root, kind, node: from, boot, isPoison } = taken;
        const tell = async () => {
          if (kind !== "job") return;
          if (boot !== null) await engine.tellTakenOver(root, from, isPoison);
          else if (from !== node.name) await engine.tellHandedOver(root);
        };
        await adoption.adoptAll(() => ownership.takeFree(taken), tell);
      }
    },
  });
}
