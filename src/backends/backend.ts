import type { ProviderConfig } from "@github/copilot-sdk";

export interface PortalModel {
  id: string;
  name: string;
  /** Premium requests per request; 0 for models that cost none. */
  multiplier: number;
  backend: "github" | "provider" | "demo" | "acp";
  /** The ACP agent behind it. */
  agent?: string;
  /** Whether it takes pictures; absent when nobody has said so. */
  vision?: boolean;
}

export interface Notice {
  level: "info" | "warning" | "error";
  message: string;
}

/** What starts a session on the Copilot runtime. */
export interface SessionTarget {
  model: string;
  provider?: ProviderConfig;
  /** Signs the session in when the runtime itself is not signed in. */
  gitHubToken?: string;
}

export interface BackendModel {
  id: string;
  name: string;
  multiplier: number;
  agent?: string;
  vision?: boolean | undefined;
  /** Absent where the Copilot runtime does not run it. */
  target?: SessionTarget;
}

/** Where models come from. */
export interface Backend {
  readonly kind: PortalModel["backend"];
  /** Prefixes an id that an earlier backend also has. */
  readonly name: string;
  /** Whether only this backend can have the id, so that the others need not be asked. */
  owns?(id: string): boolean;
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

  /** The user has not set this backend up: a hint, not a failure. */
  static notSetUp(message: string): BackendUnavailable {
    return new BackendUnavailable("info", message);
  }

  static failing(message: string): BackendUnavailable {
    return new BackendUnavailable("error", message);
  }
}
