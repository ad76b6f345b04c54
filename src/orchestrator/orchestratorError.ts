export type ErrorCode =
  | "AGENT_NOT_FOUND"
  | "CLI_NOT_AVAILABLE"
  | "EXECUTION_TIMEOUT"
  | "INVALID_PROMPT"
  | "ORCHESTRATION_FAILED"
  | "UNKNOWN_ERROR";

/** An error that the caller may see: its text is safe to show. */
export class OrchestratorError extends Error {
  override readonly name = "OrchestratorError";
  readonly code: ErrorCode;
  readonly details: string;

  private constructor(code: ErrorCode, message: string, details = "", cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }

  static agentNotFound(name: string, details: string): OrchestratorError {
    return new OrchestratorError("AGENT_NOT_FOUND", `No agent named ${JSON.stringify(name)}.`, details);
  }

  static notAvailable(message: string, details = "", cause?: unknown): OrchestratorError {
    return new OrchestratorError("CLI_NOT_AVAILABLE", message, details, cause);
  }

  static timeout(message: string, details = ""): OrchestratorError {
    return new OrchestratorError("EXECUTION_TIMEOUT", message, details);
  }

  static invalid(message: string, details: string): OrchestratorError {
    return new OrchestratorError("INVALID_PROMPT", message, details);
  }

  static failed(message: string, details = ""): OrchestratorError {
    return new OrchestratorError("ORCHESTRATION_FAILED", message, details);
  }

  static unknown(message: string, cause?: unknown): OrchestratorError {
    return new OrchestratorError("UNKNOWN_ERROR", message, "", cause);
  }

  /** Any other error is a bug; only the log shows it. */
  static of(error: unknown): OrchestratorError {
    if (error instanceof OrchestratorError) return error;
    return OrchestratorError.unknown("Something went wrong; the log has the details.", error);
  }
}

/** The caller cancelled and no longer waits for an answer. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

export function abortError(): Error {
  return new DOMException("The call was cancelled.", "AbortError");
}
