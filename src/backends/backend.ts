import type { ProviderConfig } from "@github/copilot-sdk";

export interface PortalModel {
  id: string;
  name: string;
  /** Premium requests per request; 0 for models that cost none. */
  multiplier: number;
  backend: "github" | "provider" | "demo" | "acp";
}

export interface Notice {
  level: "info" | "warning" | "error";
  message: string;
}

/** What a session is started with. */
export interface SessionTarget {
  model: string;
  provider?: ProviderConfig;
}

export interface BackendModel {
  id: string;
  name: string;
  multiplier: number;
  target: SessionTarget;
}

/** Where models come from. */
export interface Backend {
  readonly kind: PortalModel["backend"];
  /** Stands before an id that an earlier backend has too. */
  readonly name: string;
  /** Throws BackendUnavailable when there is nothing to list. */
  list(signal: AbortSignal): Promise<BackendModel[]>;
}

/** Why a backend has no models, and what to do about it. Its message is shown, so it never holds a secret. */
export class BackendUnavailable extends Error {
  override readonly name = "BackendUnavailable";
  readonly level: Notice["level"];

  private constructor(level: Notice["level"], message: string) {
    super(message);
    this.level = level;
  }

  /** Nobody asked for this backend: a hint, not a failure. */
  static notSetUp(message: string): BackendUnavailable {
    return new BackendUnavailable("info", message);
  }

  static failing(message: string): BackendUnavailable {
    return new BackendUnavailable("error", message);
  }
}
