import type { Storm } from "./hostileMessages.js";

/** What only an agent does that means harm. */
export type HostileStep =
  /** So many messages of one kind. */
  | { storm: Storm; count: number }
  /** So many messages at random from this seed. */
  | { fuzz: number; count: number }
  /** A line of which a part is there many times; SESSION is the session's id. */
  | { before: string; repeat: string; times: number; after: string };

/** What the fake agent does in a turn, one after the other. */
export type Step =
  | HostileStep
  /** Tells what was answered to requests that it did not wait for. */
  | { strays: true }
  | { message: string; messageId?: string }
  | { thought: string }
  | { update: Record<string, unknown> }
  /** Exactly these characters on its output. */
  | { raw: string }
  /** The same in Base64, written apart from each other. */
  | { bytes: string[] }
  /** A line of so many MiB. */
  | { flood: number }
  /** Tells the arguments it was started with. */
  | { arguments: true }
  /** Tells the value of a variable. */
  | { environment: string }
  | { stderr: string }
  /** A request to the portal; the answer is its next message. */
  | { ask: string; params?: Record<string, unknown>; id?: unknown; withdraw?: boolean; forget?: boolean }
  /** Creates a terminal, shows it in a tool's block, and calls these methods on it. */
  | { terminal: Record<string, unknown>; show?: string; calls: string[] }
  /** Lists the job tools, and calls one unless the name is empty. */
  | { job: string; argument?: string }
  /** Tells the MCP servers that it was given. */
  | { mcp: true }
  /** Waits for a file in the working directory. */
  | { until: string }
  | { cancelled: true }
  | { hang: true }
  /** A message, or a tool call of this name, some time after, when the turn is over. */
  | { later: string; toolCallId?: string }
  | { forgetSession: true }
  /** Exits with 9 and leaves this file, unless it is there already. */
  | { onceThenFile: string }
  | { exit: number }
  | { kill: true }
  | { error: { code: number; message: string; data?: unknown } }
  | { stop: unknown };

type Refusal = { code: number; message: string; data?: unknown } | "hang";

/** How it is as a whole. */
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
  /** Sent before the answer to `session/new`. */
  earlyUpdates?: Record<string, unknown>[];
  modes?: Record<string, unknown>;
  models?: Record<string, unknown>;
  configOptions?: Record<string, unknown>[];
  ignoresOptions?: boolean;
  loadAnswersNull?: boolean;
  /** By method, what is answered instead. */
  refuse?: Record<string, Refusal>;
  /** A file of recorded traffic that is played back. */
  playback?: string;
}
