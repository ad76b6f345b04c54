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
  /** Every caller must present it; undefined means that none is needed. */
  token?: string | undefined;
  /** Called when somebody has signed in through the printed address. */
  onExchange?: (() => void) | undefined;
  /** Whether an agent runs in a sandbox, from which it could call the portal. */
  hasSandboxes?(): boolean;
}

export interface Guard {
  /** Runs before everything, including the pages. */
  everything: RequestHandler[];
  /** Runs before everything that does something: before every router except those of the pages. */
  calls: RequestHandler[];
  /** Runs next, before every route except those with their own secret in the path. */
  token: RequestHandler[];
  /** Runs before each route that does more than read. */
  action: ActionGuard;
  /** After all of them, before what programs alone speak to. */
  programs: RequestHandler[];
}

/** Everything that decides who may call, in the order in which it runs. */
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
