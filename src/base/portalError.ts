/** An error the caller can act on: a name for scripts, a sentence for people, and the HTTP status that carries it. */
export class PortalError extends Error {
  override readonly name = "PortalError";
  readonly code: string;
  readonly status: number;
  /** Whether the answer carries the sentence as well as the name. */
  readonly explained: boolean;

  private constructor(code: string, message: string, status: number, cause?: unknown, explained = true) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.explained = explained;
  }

  /** A documented result with a name: HTTP 200 with `{error}`. */
  static domain(code: string, message: string): PortalError {
    return new PortalError(code, message, 200, undefined, false);
  }

  /** The same when only the sentence helps: why an agent does not work and what to do about it. */
  static explained(code: string, message: string): PortalError {
    return new PortalError(code, message, 200);
  }

  static malformed(code: string, message: string): PortalError {
    return new PortalError(code, message, 400);
  }

  /** The caller did not present the token. */
  static unauthorized(code: string, message: string): PortalError {
    return new PortalError(code, message, 401);
  }

  static refused(code: string, message: string): PortalError {
    return new PortalError(code, message, 403);
  }

  static unknownEndpoint(message: string): PortalError {
    return new PortalError("EndpointNotFound", message, 404);
  }

  static methodNotAllowed(message: string): PortalError {
    return new PortalError("MethodNotAllowed", message, 405);
  }

  static tooLarge(message: string): PortalError {
    return new PortalError("BodyTooLarge", message, 413);
  }

  static tooManyAttempts(waitSeconds: number): PortalError {
    return new PortalError("TooManyAttempts", `Too many wrong tokens; try again in ${waitSeconds} s`, 429);
  }

  /** Something that the portal needs is unavailable for the moment: the store, the runtime, a provider. */
  static unavailable(code: string, message: string, cause?: unknown): PortalError {
    return new PortalError(code, message, 503, cause);
  }
}
