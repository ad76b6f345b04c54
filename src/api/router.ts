import { type RequestHandler, Router } from "express";
import { readTextBody } from "../base/body.js";
import { PortalError } from "../base/portalError.js";
import type { ActionGuard } from "../guard/navigation/navigation.js";
import { bySpecificity, type Route } from "./route.js";
import { createRouteCheck } from "./validate.js";

/** `{sessionId}` is how OpenAPI writes an argument, `:sessionId` how Express does. */
const expressPath = (path: string) => `/${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;

function handlerOf(route: Route, guard: ActionGuard): RequestHandler {
  const check = createRouteCheck(route);
  const action = { summary: route.summary, takesGet: route.methods.includes("GET") };
  return async function callRoute(req, res, next) {
    if (!route.methods.some(method => method === req.method)) return next();
    const params = check.params(req.params);
    const query = check.query(req.query);
    const allowed = route.reads ? "called" : await guard(req, res, action);
    if (allowed === undefined) return;
    // The body of a confirmed call is that of the page that asked.
    const text = allowed === "called" ? await readTextBody(req) : "";
    const body = route.body === "text" ? text : "";
    const answer = await route.handler({ params, query, body, req, res });
    if (answer !== undefined) res.json(answer);
  };
}

function methodsOf(routes: readonly Route[], path: string): string {
  return [...new Set(routes.filter(route => route.path === path).flatMap(route => route.methods))].join(", ");
}

/** Everything below `/api/`: the routes of the table, and a JSON error for all else. */
export function createApiRouter(routes: readonly Route[], guard: ActionGuard): Router {
  const router = Router({ caseSensitive: true });
  router.use(function neverCache(_req, res, next) {
    res.setHeader("Cache-Control", "no-store");
    next();
  });
  for (const route of routes.toSorted(bySpecificity))
    router.all(expressPath(route.path), handlerOf(route, guard));
  for (const path of new Set(routes.map(route => route.path))) {
    router.all(expressPath(path), function refuseMethod(req, res) {
      const methods = methodsOf(routes, path);
      res.setHeader("Allow", methods);
      throw PortalError.methodNotAllowed(`api/${path} takes ${methods}, not ${req.method}`);
    });
  }
  return router;
}
