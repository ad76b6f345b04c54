import { randomUUID } from "node:crypto";
import { openApiDocument } from "../api/openapi.js";
import { defineRoute, type Route } from "../api/route.js";
import { number, object, oneOfTexts, text } from "../api/schemas.js";
import { packageVersion, repoRoot } from "../base/paths.js";
import { type PermissionPolicy, permissionPolicies } from "../permissions/settlement.js";
import type { Health } from "./health.js";

export interface PortalRoutesOptions {
  /** What holds for sessions, tasks and jobs that say nothing themselves. */
  permissions: PermissionPolicy;
  /** What the portal stands on, for `health`. */
  health(): Health;
  /** Begins to stop the portal. */
  stop(): void;
}

/** The routes that are about the portal itself. */
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
      summary: "Whether the portal and what it stands on are well",
      answers: {
        json: object({
          status: oneOfTexts("ok", "starting", "failing"),
          store: oneOfTexts("opening", "ready", "failing", "closed"),
          runtime: oneOfTexts("none", "running"),
          "message?": text,
          version: text,
          uptimeSeconds: number,
        }),
      },
      handler: () => ({ ...health(), version: packageVersion, uptimeSeconds: Math.round(process.uptime()) }),
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

/** The document that describes all routes, itself among them. */
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
