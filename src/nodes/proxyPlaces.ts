import { paramNames, type Route } from "../api/route.js";
import type { LogKind } from "../live/liveResponse.js";

/** How to find the root that a call belongs to: by its log, by a request that waits for its user, or by a worktree. */
export type Belongs =
  | { readonly to: LogKind; readonly param: string }
  | { readonly to: "request" }
  | { readonly to: "worktree"; readonly param: string };

/** Where a call is answered. */
export type Place =
  /** The node that was asked: it needs no root, or what it needs belongs to this node alone. */
  | "asked"
  | {
      readonly belongs: Belongs;
      /** Every node can answer it from the store, if nobody better can. */
      readonly fromStore: boolean;
      /** What the store has is all there is, once the log is closed: no need to ask the owner. */
      readonly whenClosed: boolean;
    };

const kinds = ["session", "task", "job", "run"] as const;

/** Calls whose path does not say what they belong to, or says it in another way than `copilot/KIND/{id}/…`. */
const exceptions: Readonly<Record<string, Belongs | "asked">> = {
  "copilot/permission/answer": { to: "request" },
  "copilot/worktree/{id}/{decision}": { to: "worktree", param: "id" },
  // The first version's routes.
  "copilot/session/stop/{id}": { to: "session", param: "id" },
  "copilot/session/query/{id}": { to: "session", param: "id" },
  "copilot/session/live/{id}": { to: "session", param: "id" },
  "copilot/task/start/{taskName}/session/{sessionId}": { to: "session", param: "sessionId" },
  "acp/session/{id}/traffic": { to: "session", param: "id" },
  // They name something of the entry or a model, and what they start belongs to the node that was asked.
  "copilot/job/{jobName}/plan": "asked",
  "copilot/job/start/{jobName}": "asked",
  "copilot/session/start/{modelId}": "asked",
  "copilot/session/load/{modelId}": "asked",
  "acp/session/start/{modelId}": "asked",
  // The agents that run on this node, and the tools of their sessions.
  "acp/agent/{id}/test": "asked",
  "acp/agent/{id}/restart": "asked",
  "acp/agent/{id}/enabled": "asked",
  "acp/agent/{id}/authenticate": "asked",
  "acp/agent/{id}/sessions": "asked",
  "acp/mcp/{token}": "asked",
  // Any node asks another one to leave its jobs, and gives up one that is gone.
  "copilot/nodes/{name}/drain": "asked",
  "copilot/nodes/{name}/remove": "asked",
  // It names the node that it goes to.
  "copilot/nodes/{name}/stop": "asked",
};

/** Calls that read what only the disk or the memory of the owner has. */
const onlyAtOwner =
  /^copilot\/(session|job)\/\{\w+\}\/changes(\/file)?$|^copilot\/session\/\{id\}\/(state|picture\/\{pictureId\})$|^acp\//;

/** A log that is closed is the same everywhere. Other answers also tell what is on the disk of the owner. */
const readsLog = /\/(events|responses)$/;

/** They move a cursor, which is in the store too when the owner is gone. */
const movesCursor = /\/live(\/\{token\})?$|^copilot\/session\/live\//;

/** Whether a route waits for the next response for a while; its callers ask again. */
export const isLongPoll = ({ path }: Pick<Route, "path">) => movesCursor.test(path);

function belongsOf({ path }: Pick<Route, "path">): Belongs | "asked" {
  const exception = exceptions[path];
  if (exception) return exception;
  const [, named, param] = /^copilot\/(\w+)\/\{(\w+)\}(?:\/|$)/.exec(path) ?? [];
  const kind = kinds.find(known => known === named);
  if (kind && param) return { to: kind, param };
  if (paramNames(path).length === 0) return "asked";
  throw new Error(`Nobody has said to which root ${path} belongs: src/nodes/proxyPlaces.ts must know it`);
}

/** Where the calls of a route are answered. Throws for a new route with an argument that says nothing of its root. */
export function placeOf(route: Pick<Route, "path" | "reads">): Place {
  const belongs = belongsOf(route);
  if (belongs === "asked") return "asked";
  const readsStore = route.reads === true && !onlyAtOwner.test(route.path);
  return {
    belongs,
    fromStore: readsStore || isLongPoll(route),
    whenClosed: readsStore && readsLog.test(route.path),
  };
}
