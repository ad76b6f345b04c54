import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { PortalError } from "../../portalError.js";
import { StartError } from "../../startError.js";
import { isSameOrigin, sourceOf } from "../origin/origin.js";
import { Attempts } from "./attempts.js";

export interface TokenGuardOptions {
  token: string;
  /** Cookies are shared by all ports of a machine: the port in the name keeps two portals apart. */
  port(): number;
  attempts?: Attempts;
}

/** Shorter ones can be guessed by a machine that tries for long enough. */
const minTokenLength = 16;
const generatedBytes = 32;

export function createToken(): string {
  return randomBytes(generatedBytes).toString("base64url");
}

/** The value itself is never shown: it may be nearly right. */
export function checkToken(token: string): string {
  if (token.length < minTokenLength)
    throw new StartError(`PORTAL_TOKEN: is too short, a token has at least ${minTokenLength} characters`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new StartError("PORTAL_TOKEN: a token is made of visible ASCII characters only");
  return token;
}

export function chosenToken({ PORTAL_TOKEN: given }: NodeJS.ProcessEnv): string {
  return given ? checkToken(given) : createToken();
}

/** In constant time, whatever the two lengths are. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** What the browser keeps: worth as much as the token to this portal, but the token cannot be had from it. */
export function cookieValue(token: string): string {
  return createHmac("sha256", token).update("copilot-portal cookie").digest("base64url");
}

export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = headers.cookie?.split(";").map(pair => pair.trim()) ?? [];
  return pairs.find(pair => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}

export interface TokenGuard {
  /** Stands before the pages: `/?token=…`, the printed address, becomes a cookie and leaves the address bar. */
  exchange: RequestHandler;
  /** Stands before everything that does something. */
  check: RequestHandler;
}

export function tokenGuard({ token, port, attempts = new Attempts() }: TokenGuardOptions): TokenGuard {
  const cookieName = () => `portal-${port()}`;
  const cookie = cookieValue(token);

  /** Only what someone can guess counts as an attempt: a cookie of an earlier start must not lock its user out. */
  function checkGuess(req: IncomingMessage, res: ServerResponse, guess: string): void {
    const address = req.socket.remoteAddress ?? "";
    const waitSeconds = Math.ceil(attempts.waitMs(address) / 1000);
    if (waitSeconds > 0) {
      res.setHeader("Retry-After", waitSeconds);
      throw PortalError.tooManyAttempts(waitSeconds);
    }
    if (isSameSecret(guess, token)) return;
    attempts.failed(address);
    throw PortalError.unauthorized("TokenWrong", "This is not the token of this portal");
  }

  return {
    exchange: function exchangeToken(req, res, next) {
      const guess = req.path === "/" ? req.query.token : undefined;
      if (guess === undefined) return next();
      // A foreign page must neither log its visitor in nor spend the visitor's attempts.
      if (!isSameOrigin(sourceOf(req)))
        throw PortalError.refused("OriginRefused", "Copy the address with the token into the address bar");
      checkGuess(req, res, String(guess));
      res.cookie(cookieName(), cookie, { httpOnly: true, sameSite: "strict", path: "/" });
      res.setHeader("Cache-Control", "no-store");
      res.redirect(303, "/");
    },
    check: function checkToken(req, res, next) {
      const bearer = bearerOf(req);
      if (bearer !== undefined) checkGuess(req, res, bearer);
      else if (!isSameSecret(cookieOf(req, cookieName()) ?? "", cookie))
        throw PortalError.unauthorized(
          "TokenRequired",
          "Open the address that the portal printed at its start, or send its token as Authorization: Bearer",
        );
      next();
    },
  };
}
