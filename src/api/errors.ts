import { randomUUID } from "node:crypto";
import { type Server, STATUS_CODES } from "node:http";
import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";

interface ErrorAnswer {
  status: number;
  body: { error: string; message?: string; id?: string };
}

/** An error from Express itself (for example, for a path that it cannot decode) carries its HTTP status. */
function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  return typeof status === "number" && status >= 400 && status < 500 ? status : undefined;
}

/** A domain error is known by its name alone; all others explain themselves. */
export function errorAnswerOf(error: unknown, newId: () => string): ErrorAnswer {
  if (error instanceof PortalError) {
    const { status, code, message, explained } = error;
    return { status, body: explained ? { error: code, message } : { error: code } };
  }
  const status = statusOf(error);
  if (status !== undefined) {
    return { status, body: { error: "RequestMalformed", message: `${STATUS_CODES[status] ?? "Refused"}` } };
  }
  const id = newId();
  return {
    status: 500,
    body: {
      error: "InternalError",
      message: `Something went wrong; the log has the details under ${id}`,
      id,
    },
  };
}

/** A path that cannot be decoded is refused before any route sees it. */
export function refuseMalformedPath(): RequestHandler {
  return function checkPath(req, _res, next) {
    try {
      decodeURIComponent(req.path);
    } catch {
      throw PortalError.malformed("PathMalformed", "The path is not valid percent-encoding");
    }
    next();
  };
}

export function refuseUnknownEndpoint(): RequestHandler {
  return function unknownEndpoint(req) {
    throw PortalError.unknownEndpoint(
      `There is no ${req.path.slice(0, 200)}; api/openapi.json lists what there is`,
    );
  };
}

/** The last middleware: every error becomes a JSON answer, and every unexpected one also a line in the log. */
export function answerErrors(log: Log): ErrorRequestHandler {
  return function answerError(error: unknown, req, res, _next) {
    const { status, body } = errorAnswerOf(error, randomUUID);
    if (status === 500)
      log.error({ err: error, id: body.id, method: req.method, path: req.path }, "request failed");
    res.locals.refused = body.error;
    // Half an answer cannot be withdrawn, only cut off.
    if (res.headersSent) return void res.destroy();
    res.status(status).json(body);
  };
}

const clientErrorStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Long enough for the answer to arrive; Node itself would wait ten times as long for a client that never closes. */
const lingerMs = 1000;

/** A request that is not HTTP never reaches Express, but gets a JSON answer too. */
export function answerClientErrors(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
    const status = clientErrorStatus[error.code ?? ""] ?? 400;
    const reason = STATUS_CODES[status] ?? "";
    const body = JSON.stringify({ error: "RequestMalformed", message: reason });
    socket.end(
      `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
}
