import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { callerGuard } from "./caller/caller.js";
import { securityHeaders } from "./headers/headers.js";
import { hostGuard, isLoopbackHost } from "./host/host.js";
import { Confirmations } from "./navigation/confirmations.js";
import { type ActionGuard, actionGuard, refuseNavigation } from "./navigation/navigation.js";
import { originGuard } from "./origin/origin.js";
import { prefetchGuard } from "./prefetch/prefetch.js";
import { bearerGuard, tokenGuard } from "./token/token.js";

export interface GuardOptions {
  /** The port that is open. */
  port(): number;
  /** Names besides those of loopback under which the portal may be called. */
  allowedHosts?: readonly string[];
  /** Whoever calls must show it; none is needed when undefined. */
  token?: string | undefined;
  /** Called when somebody has got in by the printed address. */
  onExchange?: (() => void) | undefined;
  /** Whether an agent has been put into a sandbox, from which it could call the portal. */
  hasSandboxes?(): boolean;
}

export interface Guard {
  /** Before everything, the pages among it. */
  everything: RequestHandler[];
  /** Before everything that does something: all routers but those of the pages stand behind it. */
  calls: RequestHandler[];
  /** After that, before all but the routes that have a secret of their own in their path. */
  token: RequestHandler[];
  /** Before each route that does more than read. */
  action: ActionGuard;
  /** After all of them, before what programs alone speak to. */
  programs: RequestHandler[];
}

/** All that decides who may call, in the order in which it is asked. */
export function createGuard(options: GuardOptions): Guard {
  const { port, allowedHosts = [], token, onExchange, hasSandboxes = () => false } = options;
  const tokens = token === undefined ? undefined : tokenGuard({ token, port, onExchange });
  return {
    everything: [
      hostGuard({ port, names: allowedHosts }),
      securityHeaders(),
      prefetchGuard(),
      ...(tokens ? [tokens.exchange] : []),
    ],
    calls: [originGuard()],
    token: [tokens ? tokens.check : callerGuard({ hasSandboxes })],
    action: actionGuard(new Confirmations()),
    programs: [refuseNavigation()],
  };
}

export interface ProgramGuardOptions {
  /** Names besides those of loopback under which the server may be called. */
  allowedHosts?: readonly string[];
  /** Pages elsewhere whose scripts may call, each as a name or a whole origin. */
  allowedOrigins?: readonly string[];
  token?: string | undefined;
}

/** The same for a server without pages, which programs alone call: no cookie, no address with a token. */
export function createProgramGuard(options: ProgramGuardOptions): RequestHandler[] {
  const { allowedHosts = [], allowedOrigins = [], token } = options;
  const port = ({ socket }: IncomingMessage) => socket.localPort ?? 0;
  // Those of loopback are known already, and count at the open port alone.
  const names = allowedHosts.filter(name => !isLoopbackHost(name));
  return [
    hostGuard({ port, names }),
    securityHeaders(),
    originGuard({ allowedOrigins }),
    prefetchGuard(),
    refuseNavigation(),
    ...(token === undefined ? [] : [bearerGuard({ token })]),
  ];
}
