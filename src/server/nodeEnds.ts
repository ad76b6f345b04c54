import { PortalError } from "../base/portalError.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import { knownNode, nodeNotRunning } from "../nodes/namedNode.js";
import type { NodeTable } from "../nodes/nodeTable.js";
import type { ThisNode } from "../nodes/thisNode.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import type { LiveLogs } from "../sharedApi.js";
import type { Ownership } from "../store/ownership.js";
import type { Root } from "../store/root.js";

export interface DrainParts {
  table: NodeTable;
  ownership: Pick<Ownership, "boot">;
  engine: Pick<JobEngine, "drain">;
  /** Absent on an embedded store, whose only portal has no lease and hears nothing. */
  node: ThisNode | undefined;
}

/** Asks a node to leave its jobs. It hears of that through the database, so any node can ask. */
export async function drainNode(name: string, { table, ownership, engine, node }: DrainParts): Promise<void> {
  const { boot, state, hasLeaseEnded } = await knownNode(name, table);
  if (state === "gone" || (node && hasLeaseEnded)) throw nodeNotRunning(name);
  await table.drain(boot);
  if (node) return node.changed(boot);
  if (boot === (await ownership.boot())) void engine.drain().then(() => table.drained(boot));
}

export interface RemovalParts {
  table: NodeTable;
  logs: LiveLogs;
  engine: JobEngine;
  sessions: Pick<SessionRegistry, "wake" | "stop">;
}

/** Ends what is pinned to a node that is gone: only a person can know that it never comes back. */
export async function removeNode(
  name: string,
  { table, logs, engine, sessions }: RemovalParts,
): Promise<void> {
  const { ownership, adoption } = logs;
  const { state, hasLeaseEnded } = await knownNode(name, table);
  // The only node of an embedded store has no lease.
  if (name === ownership.node || (state !== "gone" && !hasLeaseEnded))
    throw PortalError.explained("NodeRunning", `The node ${name} is running. Stop it first.`);
  await table.giveUp(name);
  const taken: Root[] = [];
  const claim = async () => {
    const roots = await ownership.takeNode(name);
    taken.push(...roots);
    return roots;
  };
  await adoption.adoptAll(claim, async root => {
    if (taken.some(({ id, kind }) => id === root && kind === "job"))
      await engine.giveUp(root, `The node ${name} was removed.`);
  });
  for (const { id, kind } of taken) {
    const session = kind === "session" ? await sessions.wake(id) : undefined;
    if (session) await sessions.stop(session);
  }
}
