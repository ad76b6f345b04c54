import { type RequestHandler, Router } from "express";
import { decodeBody, maxBodyBytes, readBody } from "../base/body.js";
import { PortalError } from "../base/portalError.js";
import type { ActionGuard } from "../guard/navigation/navigation.js";
import { jsonBody } from "./jsonBody.js";
import { bySpecificity, type Call, type Route } from "./route.js";
import { createRouteCheck } from "./validate.js";

/** OpenAPI writes an argument as `{sessionId}`, Express as `:sessionId`, or as `*modelId` when it may have slashes. */
function expressPath({ path, lastTakesSlashes }: Route): string {
  const open = lastTakesSlashes ? path.replace(/\{(\w+)\}$/, "*$1") : path;
  return `/${open.replaceAll(/\{(\w+)\}/g, ":$1")}`;
}

/** Express returns an argument with slashes as a list of its parts. */
const joined = (params: Record<string, string | string[]>) =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, Array.isArray(value) ? value.join("/") : value]),
  );

/** Answers a call that another portal on the same store has to answer; resolves to false for all others. */
export type AnswersElsewhere = (route: Route, call: Call) => Promise<boolean>;

function handlerOf(route: Route, guard: ActionGuard, elsewhere?: AnswersElsewhere): RequestHandler {
  const check = createRouteCheck(route);
  const action = { summary: route.summary, takesGet: route.methods.includes("GET") };
  return async function callRoute(req, res, next) {
    if (!route.methods.some(method => method === req.method)) return next();
    const params = check.params(joined(req.params));
    const query = check.query(req.query);
    const allowed = route.reads ? "called" : await guard(req, res, action);
    if (allowed === undefined) return;
    // The body of a confirmed call belongs to the confirmation page.
    const limit = route.maxBodyBytes ?? maxBodyBytes;
    const bytes = allowed === "called" ? await readBody(req, limit) : Buffer.alloc(0);
    const body = route.body === "text" ? decodeBody(bytes) : "";
    const json = route.bodySchema && jsonBody(body, route.bodySchema);
    const call = { params, query, body, bytes, json, req, res };
    if (await elsewhere?.(route, call)) return;
    const answer = await route.handler(call);
    if (answer !== undefined) res.json(answer);
  };
}

function methodsOf(routes: readonly Route[], path: string): string {
  return [...new Set(routes.filter(route => route.path === path).flatMap(route => route.methods))].join(", ");
}

/** Everything below `/api/`: the routes of the table, and a JSON error for everything else. */
export function createApiRouter(
  routes: readonly Route[],
  guard: ActionGuard,
  elsewhere?: AnswersElsewhere,
): Router {
  const router = Router({ caseSensitive: true });
  router.use(function neverCache(_req, res, next) {
    res.setHeader("Cache-Control", "no-store");
    next();
  });
  for (const route of routes.toSorted(bySpecificity))
    router.all(expressPath(route), handlerOf(route, guard, elsewhere));
  for (const route of new Map(routes.map(known => [known.path, known])).values()) {
    router.all(expressPath(route), function refuseMethod(req, res) {
      const methods = methodsOf(routes, route.path);
      res.setHeader("Allow", methods);
      throw PortalError.methodNotAllowed(`api/${route.path} takes ${methods}, not ${req.method}`);
    });
  }
  return router;
}
