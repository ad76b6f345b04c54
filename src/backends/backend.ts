import type { ProviderConfig } from "@github/copilot-sdk";

export interface PortalModel {
  id: string;
  name: string;
  /** Premium requests per request; 0 for models that cost none. */
  multiplier: number;
  backend: "github" | "provider" | "demo" | "acp";
  /** The ACP agent behind it. */
  agent?: string;
}

export interface Notice {
  level: "info" | "warning" | "error";
  message: string;
}

/** What a session of the Copilot runtime is started with. */
export interface SessionTarget {
  model: string;
  provider?: ProviderConfig;
  /** Signs the session in, where the runtime itself is not. */
  gitHubToken?: string;
}

export interface BackendModel {
  id: string;
  name: string;
  multiplier: number;
  agent?: string;
  /** Absent where the Copilot runtime does not run it. */
  target?: SessionTarget;
}

/** Where models come from. */
export interface Backend {
  readonly kind: PortalModel["backend"];
  /** Stands before an id that an earlier backend has too. */
  readonly name: string;
  /** Ids that no other backend can have: they are found without asking the others. */
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

  /** Nobody asked for this backend: a hint, not a failure. */
  static notSetUp(message: string): BackendUnavailable {
    return new BackendUnavailable("info", message);
  }

  static failing(message: string): BackendUnavailable {
    return new BackendUnavailable("error", message);
  }
}
