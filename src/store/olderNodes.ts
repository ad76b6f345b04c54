import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import { migrations, readNeeds } from "./migrations.js";
import type { Query, Store } from "./store.js";

/** Long enough to stop a node or two by hand. */
const leaveTimeoutMs = 60_000;
const lookAgainMs = 500;

/** The nodes that live and know less than this version. Before they could say what they know, none knew it. */
async function olderNodes(query: Query, version: number): Promise<string[]> {
  const [known] = await query<{ nodes: boolean; column: boolean }>(
    `select to_regclass('nodes') is not null as nodes, exists (select from information_schema.columns
       where table_name = 'nodes' and column_name = 'schema_version') as column`,
  );
  if (!known?.nodes) return [];
  const rows = await query<{ name: string; version: string }>(
    `select name, version from nodes where state <> 'gone' and lease_until > now()
       and ${known.column ? "schema_version < $1" : "$1 > 0"} order by name`,
    [version],
  );
  return rows.map(({ name, version: portal }) => `${name} (version ${portal})`);
}

/** Waits for the nodes that a step of the schema would end; rejects, naming them, when they stay. */
export async function olderNodesGone(
  transaction: Store["transaction"],
  version: number,
  log: Log,
  timeoutMs = leaveTimeoutMs,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  for (let told = ""; ; await sleep(lookAgainMs)) {
    const older = await transaction(query => olderNodes(query, version));
    if (older.length === 0) return;
    const names = older.join(", ");
    if (performance.now() > endMs)
      throw PortalError.unavailable(
        "OlderNodesRunning",
        `This portal has to change the schema of the database, which older nodes cannot use then: ${names}. Drain and stop them, then start this one again.`,
      );
    if (names !== told) log.warn({ nodes: older, timeoutMs }, "waiting for older nodes to leave");
    told = names;
  }
}

/** Whether a newer portal has changed the schema so that this one may no longer use it. */
export async function isSchemaTooNew(query: Query, known = migrations.length): Promise<boolean> {
  const [row] = await query<{ needs: number }>(readNeeds);
  return (row?.needs ?? 0) > known;
}
