import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { PortalError } from "../../base/portalError.js";
import { StartError } from "../../base/startError.js";
import { isSameOrigin, sourceOf } from "../origin/origin.js";
import { Attempts } from "./attempts.js";
import { judgeGuess } from "./guess.js";
import { isSameSecret } from "./secret.js";

export interface TokenGuardOptions {
  token: string;
  /** All ports of a machine share cookies: the port in the name keeps two portals apart. */
  port(): number;
  attempts?: Attempts;
  /** Called each time the printed address is exchanged for a cookie. */
  onExchange?: (() => void) | undefined;
}

/** A machine can guess a shorter token if it tries long enough. */
const minTokenLength = 16;
const generatedBytes = 32;

export function createToken(): string {
  return randomBytes(generatedBytes).toString("base64url");
}

/** Messages never show the value: it may be nearly right. */
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

/** The browser's cookie: this portal accepts it like the token, but nobody can derive the token from it. */
export function cookieValue(token: string): string {
  return createHmac("sha256", token).update("copilot-portal cookie").digest("base64url");
}

/** All cookies of that name: a page on another port can add its own, which must not hide the right one. */
export function cookiesOf({ headers }: Pick<IncomingMessage, "headers">, name: string): string[] {
  const pairs = headers.cookie?.split(";").map(pair => pair.trim()) ?? [];
  return pairs.filter(pair => pair.startsWith(`${name}=`)).map(pair => pair.slice(name.length + 1));
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}

/** The challenge names no realm: browsers ask nobody for a token of this kind. */
function unauthorized(res: ServerResponse, code: string, message: string): PortalError {
  res.setHeader("WWW-Authenticate", "Bearer");
  return PortalError.unauthorized(code, message);
}

/** Only a token counts as a guess: a cookie from an earlier start must not lock its user out. */
function guessCheck(token: string, attempts: Attempts) {
  return function checkGuess(req: IncomingMessage, res: ServerResponse, given: string): void {
    const verdict = judgeGuess({ given, token, address: req.socket.remoteAddress ?? "", attempts });
    if (verdict === "right") return;
    if (verdict === "wrong") throw unauthorized(res, "TokenWrong", "This is not the token of this server");
    res.setHeader("Retry-After", verdict.waitSeconds);
    throw PortalError.tooManyAttempts(verdict.waitSeconds);
  };
}

/** Stands before a server without pages: the token itself, and no cookie. */
export function bearerGuard({
  token,
  attempts = new Attempts(),
}: Pick<TokenGuardOptions, "token" | "attempts">): RequestHandler {
  const checkGuess = guessCheck(token, attempts);
  return function checkBearer(req, res, next) {
    const bearer = bearerOf(req);
    if (bearer === undefined)
      throw unauthorized(res, "TokenRequired", "Send the token as Authorization: Bearer");
    checkGuess(req, res, bearer);
    next();
  };
}

export interface TokenGuard {
  /** Runs before the pages: turns `/?token=…`, the printed address, into a cookie and clears the address bar. */
  exchange: RequestHandler;
  /** Runs before everything that does something. */
  check: RequestHandler;
}

export function tokenGuard(options: TokenGuardOptions): TokenGuard {
  const { token, port, attempts = new Attempts(), onExchange } = options;
  const cookieName = () => `portal-${port()}`;
  const cookie = cookieValue(token);
  const checkGuess = guessCheck(token, attempts);

  return {
    exchange: function exchangeToken(req, res, next) {
      const given = req.path === "/" ? req.query.token : undefined;
      if (given === undefined) return next();
      const guess = String(given);
      // The file that `--open` opens is foreign too, but it has the token; a guessing page must not use up attempts.
      if (!isSameSecret(guess, token) && !isSameOrigin(sourceOf(req)))
        throw PortalError.refused("OriginRefused", "Copy the address with the token into the address bar");
      checkGuess(req, res, guess);
      res.cookie(cookieName(), cookie, { httpOnly: true, sameSite: "strict", path: "/" });
      res.setHeader("Cache-Control", "no-store");
      res.redirect(303, "/");
      onExchange?.();
    },
    check: function checkToken(req, res, next) {
      const bearer = bearerOf(req);
      if (bearer !== undefined) checkGuess(req, res, bearer);
      else if (!cookiesOf(req, cookieName()).some(value => isSameSecret(value, cookie)))
        throw unauthorized(
          res,
          "TokenRequired",
          "Open the address that the portal printed at its start, or send its token as Authorization: Bearer",
        );
      next();
    },
  };
}
