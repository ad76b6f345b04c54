import { namedNodeErrors } from "../api/nodeQuery.js";
import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import type { ShownNode } from "./nodeAnswer.js";
import { shownStates } from "./shownNode.js";

export interface NodeRoutesParts {
  /** The nodes that run, and those that are gone and have left something that only they could go on with. */
  nodes(): Promise<ShownNode[]>;
  /** Asks a node to leave its jobs. */
  drain(name: string): Promise<void>;
  /** Ends what is pinned to a node that is gone. */
  remove(name: string): Promise<void>;
  /** Stops this portal. */
  stop(): void;
}

/** The routes for the portals on one database; an embedded store has one. */
export function nodeRoutes({ nodes, drain, remove, stop }: NodeRoutesParts): Route[] {
  return [
    defineRoute({
      path: "copilot/nodes",
      methods: ["GET"],
      reads: true,
      summary: "The portals on the same database",
      answers: {
        json: object({
          nodes: list(
            object({
              name: text,
              url: text,
              version: text,
              state: oneOfTexts(...shownStates),
              since: text,
              lastSeen: text,
              jobs: number,
              places: number,
              tasks: number,
              waiting: number,
              "memoryBytes?": number,
              left: object({ jobs: number, sessions: number }),
              sharedDirs: list(text),
              warnings: list(text),
            }),
          ),
        }),
      },
      handler: async () => ({ nodes: await nodes() }),
    }),
    defineRoute({
      path: "copilot/nodes/{name}/drain",
      methods: ["POST"],
      summary: "Empty a node: it starts no new job, and leaves the others after the tasks that run",
      answers: { json: either(object({}), domainError(...namedNodeErrors)) },
      handler: async ({ params }) => {
        await drain(params.name);
        return {};
      },
    }),
    defineRoute({
      path: "copilot/nodes/{name}/stop",
      methods: ["POST"],
      summary: "Stop a node: what can move goes on at another one",
      answers: { json: either(object({}), domainError(...namedNodeErrors)) },
      // Only the node of this name gets here.
      handler: ({ res }) => {
        res.once("close", stop);
        return {};
      },
    }),
    defineRoute({
      path: "copilot/nodes/{name}/remove",
      methods: ["POST"],
      summary: "Give up a node that never comes back: its jobs end as Failed, its sessions close",
      answers: { json: either(object({}), domainError("NodeNotFound", "NodeRunning")) },
      handler: async ({ params }) => {
        await remove(params.name);
        return {};
      },
    }),
  ];
}
