import type { Call, Route } from "../api/route.js";
import type { AnswersElsewhere } from "../api/router.js";
import { PortalError } from "../base/portalError.js";
import type { NodeRow, NodeTable } from "./nodeTable.js";
import type { Peer } from "./proxy.js";

/** The node that a call is meant for, if it names one. */
export function namedNode(
  { path, query: known }: Pick<Route, "path" | "query">,
  { params, query }: Pick<Call, "params" | "query">,
): string | undefined {
  if (path === "copilot/nodes/{name}/stop") return params.name;
  return "node" in known && typeof query.node === "string" ? query.node || undefined : undefined;
}

export const nodeNotFound = (name: string) =>
  PortalError.explained("NodeNotFound", `There is no node ${JSON.stringify(name)}.`);

export const nodeNotRunning = (name: string) =>
  PortalError.explained("NodeNotRunning", `The node ${name} is not running.`);

export async function knownNode(name: string, table: Pick<NodeTable, "known">): Promise<NodeRow> {
  const found = (await table.known()).find(row => row.name === name);
  if (!found) throw nodeNotFound(name);
  return found;
}

/** Where the running node of this name is reached. */
export async function peerNamed(name: string, table: Pick<NodeTable, "known">): Promise<Peer> {
  const { url, state, hasLeaseEnded } = await knownNode(name, table);
  if (url === null || state === "gone" || hasLeaseEnded) throw nodeNotRunning(name);
  return { name, url };
}

/** The only portal on an embedded store has no other to send a call to. */
export const onlyHere =
  (node: string): AnswersElsewhere =>
  async (route, call) => {
    const named = namedNode(route, call);
    if (named !== undefined && named !== node) throw nodeNotFound(named);
    return false;
  };
