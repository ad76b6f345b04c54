import type { PinnedWork, ShownNode, ShownState } from "./nodeAnswer.js";
import type { NodeRow } from "./nodeTable.js";

export const shownStates = [
  "running",
  "draining",
  "drained",
  "notSeen",
  "gone",
] as const satisfies readonly ShownState[];

/** Two renewals and a little more: a node that is only busy has been seen by then. */
const quietMs = 12_000;

export function shownState({ state, silentMs }: Pick<NodeRow, "state" | "silentMs">): ShownState {
  return state !== "gone" && silentMs >= quietMs ? "notSeen" : state;
}

/** The node that answers, and what it knows about the others. */
export interface Viewer {
  readonly name: string;
  readonly version: string;
  readonly settings: string;
  /** Why it cannot reach a node. */
  problemWith(name: string): string | undefined;
}

/** The database's clock says how long a node was silent; the caller's turns that into a time. */
export function shownNode(
  row: NodeRow,
  viewer: Viewer,
  nowMs: number,
  left: PinnedWork = { jobs: 0, sessions: 0 },
): ShownNode {
  const { name, url, version, startedAt, silentMs, load, handedOver, sharedDirs } = row;
  return {
    name,
    url: url ?? "",
    version,
    state: shownState(row),
    since: startedAt.toISOString(),
    lastSeen: new Date(nowMs - silentMs).toISOString(),
    jobs: load?.jobs ?? 0,
    places: load?.places ?? 0,
    tasks: load?.tasks ?? 0,
    waiting: (load?.waiting ?? 0) + handedOver,
    ...(load?.memoryBytes !== undefined && { memoryBytes: load.memoryBytes }),
    left,
    sharedDirs: [...sharedDirs],
    warnings: warningsOf(row, viewer),
  };
}

/** What the node says about itself, and how it differs from the one that answers. */
export function warningsOf(row: NodeRow, viewer: Viewer): string[] {
  const { name, version, settings, state, load } = row;
  const warnings = [...(load?.warnings ?? [])];
  if (name === viewer.name || state === "gone") return warnings;
  if (version !== viewer.version)
    warnings.push(`It has version ${version}, and node ${viewer.name} has ${viewer.version}.`);
  if (settings !== null && settings !== viewer.settings)
    warnings.push(
      `Its providers, agents or shared folders are not those of node ${viewer.name}: jobs do not move between them.`,
    );
  const problem = viewer.problemWith(name);
  return problem === undefined ? warnings : [...warnings, problem];
}
