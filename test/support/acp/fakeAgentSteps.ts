import type { Storm } from "./hostileMessages.js";

/** Steps of a hostile agent. */
export type HostileStep =
  /** Sends this many messages of one kind. */
  | { storm: Storm; count: number }
  /** Sends this many random messages from this seed. */
  | { fuzz: number; count: number }
  /** Sends a line with a repeated part; SESSION is the session's id. */
  | { before: string; repeat: string; times: number; after: string };

/** The steps of the fake agent in a turn, in order. */
export type Step =
  | HostileStep
  /** Reports the answers to requests that it did not wait for. */
  | { strays: true }
  | { message: string; messageId?: string }
  | { thought: string }
  | { update: Record<string, unknown> }
  /** Writes exactly these characters to its output. */
  | { raw: string }
  /** The same as Base64, in separate writes. */
  | { bytes: string[] }
  /** Writes a line of this many MiB. */
  | { flood: number }
  /** Reports its command-line arguments. */
  | { arguments: true }
  /** Reports the value of an environment variable. */
  | { environment: string }
  | { stderr: string }
  /** A request to the portal; the answer is its next message. */
  | { ask: string; params?: Record<string, unknown>; id?: unknown; withdraw?: boolean; forget?: boolean }
  /** Creates a terminal, shows it in a tool's block, and calls these methods on it. */
  | { terminal: Record<string, unknown>; show?: string; calls: string[] }
  /** Lists the job tools, and calls one unless the name is empty. */
  | { job: string; argument?: string }
  /** Reports the MCP servers that it was given. */
  | { mcp: true }
  /** Waits for a file in the working directory. */
  | { until: string }
  | { cancelled: true }
  | { hang: true }
  /** Sends a message, or a tool call with this id, after the turn has ended. */
  | { later: string; toolCallId?: string }
  | { forgetSession: true }
  /** Exits with 9 and leaves this file, unless it exists already. */
  | { onceThenFile: string }
  | { exit: number }
  | { kill: true }
  | { error: { code: number; message: string; data?: unknown } }
  | { stop: unknown };

type Refusal = { code: number; message: string; data?: unknown } | "hang";

/** How the agent behaves in general. */
export interface FakeBehaviour {
  name?: string;
  protocolVersion?: unknown;
  capabilities?: Record<string, unknown>;
  authMethods?: Record<string, unknown>[];
  banner?: string;
  stderr?: string;
  exitAtOnce?: number;
  /** Neither the end of its input nor SIGTERM ends it. */
  staysAlive?: boolean;
  ignoreCancel?: boolean;
  /** `session/new` is answered when this file is in the working directory. */
  startsWhen?: string;
  /** Sent before the answer to `session/new`. */
  earlyUpdates?: Record<string, unknown>[];
  modes?: Record<string, unknown>;
  models?: Record<string, unknown>;
  configOptions?: Record<string, unknown>[];
  ignoresOptions?: boolean;
  loadAnswersNull?: boolean;
  /** Replacement answers by method. */
  refuse?: Record<string, Refusal>;
  /** A file of recorded traffic to play back. */
  playback?: string;
}
