import { randomUUID } from "node:crypto";
import { openApiDocument } from "../api/openapi.js";
import { defineRoute, type Route } from "../api/route.js";
import { list, number, object, oneOfTexts, text } from "../api/schemas.js";
import { packageVersion, repoRoot } from "../base/paths.js";
import { shownStates } from "../nodes/shownNode.js";
import { type PermissionPolicy, permissionPolicies } from "../permissions/settlement.js";
import type { Health } from "./health.js";

export interface PortalRoutesOptions {
  /** The policy for sessions, tasks and jobs that choose none. */
  permissions: PermissionPolicy;
  /** The state of the parts, for `health`. */
  health(): Promise<Health>;
  /** Starts to stop the portal. */
  stop(): void;
}

/** The routes for the portal itself. */
export function portalRoutes({ permissions, health, stop }: PortalRoutesOptions): Route[] {
  return [
    defineRoute({
      path: "test",
      reads: true,
      summary: "Says hello: the portal is there",
      answers: { json: object({ message: text }) },
      handler: () => ({ message: "Hello, world!" }),
    }),
    defineRoute({
      path: "config",
      reads: true,
      summary: "The repository that contains the server, and the policy it was started with",
      answers: { json: object({ repoRoot: text, permissions: oneOfTexts(...permissionPolicies) }) },
      handler: () => ({ repoRoot, permissions }),
    }),
    defineRoute({
      path: "token",
      reads: true,
      summary: "A random token, to read a live log with a cursor of its own",
      answers: { json: object({ token: text }) },
      handler: () => ({ token: randomUUID() }),
    }),
    defineRoute({
      path: "health",
      reads: true,
      summary: "Whether the portal and the parts it needs work",
      answers: {
        json: object({
          status: oneOfTexts("ok", "starting", "failing"),
          store: oneOfTexts("opening", "ready", "failing", "closed"),
          runtime: oneOfTexts("none", "running"),
          "message?": text,
          node: text,
          nodes: list(object({ name: text, state: oneOfTexts(...shownStates) })),
          lease: oneOfTexts("held", "lost", "none"),
          version: text,
          uptimeSeconds: number,
        }),
      },
      handler: async () => ({
        ...(await health()),
        version: packageVersion,
        uptimeSeconds: Math.round(process.uptime()),
      }),
    }),
    defineRoute({
      path: "stop",
      summary: "Stops every session, then the portal",
      answers: { json: object({}) },
      handler: ({ res }) => {
        res.once("close", stop);
        return {};
      },
    }),
  ];
}

/** Adds the document that describes all routes, including its own. */
export function withOpenApi(routes: readonly Route[]): Route[] {
  const route: Route = defineRoute({
    methods: ["GET"],
    path: "openapi.json",
    reads: true,
    summary: "This API as an OpenAPI 3.1 document",
    answers: { json: object({ openapi: text, paths: object({}) }) },
    handler: () => openApiDocument(all, packageVersion),
  });
  const all = [...routes, route];
  return all;
}
