import type { IncomingMessage } from "node:http";
import { isAllowedHost, isLoopbackHost } from "../../guard/host/host.js";
import { isNavigation, isOwnCall } from "../../guard/navigation/navigation.js";
import { isSameOrigin, sourceOf } from "../../guard/origin/origin.js";
import { isSpeculative } from "../../guard/prefetch/prefetch.js";
import type { Attempts } from "../../guard/token/attempts.js";
import { judgeGuess } from "../../guard/token/guess.js";
import type { HttpConfig } from "../orchestratorConfig.js";

export type HttpAccess = Pick<HttpConfig, "allowedHosts" | "allowedOrigins" | "token">;

/** Why a request is not looked at. */
export interface Refusal {
  status: 401 | 403 | 429;
  message: string;
  retryAfterSeconds?: number;
}

const refused = (message: string): Refusal => ({ status: 403, message });

/** A page elsewhere whose origin the settings name. One on another port of this machine is no page of ours. */
function isListedOrigin(origin: string, allowed: readonly string[]): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname, host, origin: whole } = new URL(origin);
  return allowed.includes(whole) || (allowed.includes(hostname) && !isLoopbackHost(host));
}

function isAllowedSource(req: IncomingMessage, allowedOrigins: readonly string[]): boolean {
  const source = sourceOf(req);
  const { origin, secFetchMode = "cors", secFetchDest = "empty" } = source;
  const isListed = origin !== undefined && isListedOrigin(origin, allowedOrigins);
  return isListed ? secFetchMode === "cors" && secFetchDest === "empty" : isSameOrigin(source);
}

function tokenRefusal(req: IncomingMessage, token: string, attempts: Attempts): Refusal | undefined {
  const wrong: Refusal = { status: 401, message: "The token is missing or wrong" };
  const [, given] = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? "") ?? [];
  if (given === undefined) return wrong;
  const verdict = judgeGuess({ given, token, address: req.socket.remoteAddress ?? "", attempts });
  if (verdict === "right") return undefined;
  if (verdict === "wrong") return wrong;
  const retryAfterSeconds = verdict.waitSeconds;
  return { status: 429, message: `Too many wrong tokens; wait ${retryAfterSeconds} s`, retryAfterSeconds };
}

/** Host, origin, purpose, token, in this order, as the portal's own guard has it. */
export function refusalOf(req: IncomingMessage, access: HttpAccess, attempts: Attempts): Refusal | undefined {
  const [host = "", second] = req.headersDistinct.host ?? [];
  const names = access.allowedHosts.filter(name => !isLoopbackHost(name));
  if (second !== undefined || !isAllowedHost(host, req.socket.localPort ?? 0, names))
    return refused("This host name is not allowed");
  if (!isAllowedSource(req, access.allowedOrigins)) return refused("This origin is not allowed");
  if (isSpeculative(req.headers) || isNavigation(req) || !isOwnCall(req))
    return refused("Only programs may call this address");
  return access.token === undefined ? undefined : tokenRefusal(req, access.token, attempts);
}
