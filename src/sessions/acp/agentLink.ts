import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import spawn from "cross-spawn";
import { endOwnedProcesses, ownerVariable } from "../../backends/orphans.js";
import { PortalError } from "../../base/portalError.js";
import { withTimeout } from "../../base/withTimeout.js";
import type { Command, CommandInFolder } from "../../sandbox/sandboxes.js";
import { errorText } from "../copilot/errorText.js";
import type { AgentSettings } from "./agentSettings.js";
import { LineReader } from "./lines.js";
import { depthVariable } from "./nesting.js";
import { PacedLines } from "./pacedLines.js";

/** How the connection to an agent ended. */
export interface LinkEnd {
  /** For people: "exited with code 1", "the connection was closed". */
  reason: string;
  /** The agent left by itself without an error. */
  clean: boolean;
  /** The program does not exist or may not be run. */
  notFound?: boolean;
}

interface AgentCommand {
  program: string;
  args: readonly string[];
}

export interface LinkOptions {
  settings: AgentSettings;
  /** The model that the process is started with. */
  model: string | undefined;
  /** The part of the portal's environment that agents may see. */
  env: NodeJS.ProcessEnv;
  /** Marks the process and its children as this portal's. */
  owner: string;
  /** Puts a command into the agent's sandbox, if it has one. */
  wrap?(command: CommandInFolder): Promise<Command>;
  /** Secrets that stderr must not show. */
  secrets: readonly string[];
  /** Collects the latest lines of stderr, to show why an agent failed; it outlives an agent that cannot start. */
  stderr: string[];
}

export interface StopTimes {
  /** How long the agent may take to leave after its input has closed. */
  exitMs: number;
  /** The time between the request to end and the kill. */
  killMs: number;
}

const maxLineBytes = 32 * 1024 * 1024;
const stderrLines = 200;
const stderrLineChars = 2000;
const maxStderrLineBytes = 256 * 1024;
const retryMs = 250;

/** The wire to one agent: its process with pipes, a socket, or a process with a socket. */
export class AgentLink {
  readonly stderr: string[];
  /** Resolves when nothing more can be sent or received. */
  readonly ended: Promise<LinkEnd>;
  readonly address: string | undefined;
  onLine: (line: string) => void = () => {};
  readonly #options: LinkOptions;
  #end: (end: LinkEnd) => void = () => {};
  #child: ChildProcess | undefined;
  #exited: Promise<LinkEnd> | undefined;
  #socket: Socket | undefined;
  #lines: PacedLines | undefined;
  #port: number;
  /** Once set, nothing is started. */
  #stopped = false;

  constructor(options: LinkOptions, port: number) {
    this.#options = options;
    this.stderr = options.stderr;
    this.#port = port;
    const { transport, host } = options.settings;
    if (transport === "tcp") this.address = `${host}:${port}`;
    this.ended = new Promise(resolve => {
      this.#end = resolve;
    });
  }

  /** Resolves when messages can be sent; otherwise `ended` says why. */
  async open(): Promise<void> {
    const { transport, command } = this.#options.settings;
    if (command === undefined && this.#options.wrap)
      throw PortalError.explained(
        "SandboxNotAvailable",
        `The portal does not start the agent at ${this.address}, so it cannot run in a sandbox.`,
      );
    if (transport === "stdio") {
      const resolved = await this.#command();
      if (this.#stopped) return;
      const { stdin, stdout } = this.#spawn(resolved);
      this.#carry(stdout, stdin);
      void this.#exited?.then(end => this.#endAfterLines(end));
      return;
    }
    if (command !== undefined && (await this.#answers())) {
      this.#end({ reason: `cannot use ${this.address}: another program has it`, clean: false });
      return;
    }
    if (command !== undefined) {
      const resolved = await this.#command();
      if (this.#stopped) return;
      this.#spawn(resolved).stdout.resume();
      void this.#exited?.then(end =>
        this.#endAfterLines({ ...end, reason: `${end.reason} (${this.address})` }),
      );
    }
    await this.#connect();
  }

  send(line: string): void {
    const stream: Writable | null | undefined = this.#socket ?? this.#child?.stdin;
    if (stream?.writable) stream.write(line);
  }

  /** Leaves the agent; one that the portal started is ended with all its children. */
  async stop({ exitMs, killMs }: StopTimes): Promise<void> {
    this.#stopped = true;
    this.#socket?.destroy();
    this.#end({ reason: "was stopped", clean: true });
    if (!this.#child || !this.#exited) return;
    this.#child.stdin?.end();
    if (await isLate(this.#exited, exitMs)) {
      this.#signal("SIGTERM");
      await isLate(this.#exited, killMs);
    }
    // The process may be gone while others of its group live on: wrappers do not pass signals on.
    this.#signal("SIGKILL");
    await endOwnedProcesses(owner => owner === this.#options.owner);
  }

  /** The actual command: that of the settings with port and model, inside the sandbox if there is one. */
  async #command(): Promise<AgentCommand> {
    const { settings, model, wrap } = this.#options;
    const { command = "", args, modelArgs } = settings;
    const filled = [
      ...args.map(arg => arg.replaceAll("{port}", String(this.#port))),
      ...(model === undefined ? [] : modelArgs.map(arg => arg.replaceAll("{model}", model))),
    ];
    return wrap ? wrap({ command, args: filled, by: "user" }) : { program: command, args: filled };
  }

  #spawn({ program, args }: AgentCommand): { stdin: Writable; stdout: Readable } {
    const { settings, env, owner } = this.#options;
    const { cwd, inheritEnv, transport, port } = settings;
    // An agent on a known port can be found again, and a later portal must not end it.
    const marked = transport === "stdio" || port === 0;
    // Its type does not say that there are pipes unless told otherwise.
    const child = spawn(program, args, {
      cwd,
      env: {
        ...(inheritEnv ? env : {}),
        ...settings.env,
        // Even if it inherits nothing: a portal must not become its own agent endlessly.
        [depthVariable]: env[depthVariable],
        [ownerVariable]: marked ? owner : undefined,
      },
      // A group of its own, so that all of it can be ended.
      detached: process.platform !== "win32",
      windowsHide: true,
    }) as ChildProcessWithoutNullStreams;
    this.#child = child;
    this.#exited = new Promise(resolve => {
      child.once("error", error => resolve(notStarted(error)));
      // Not "exit": its last output is read first.
      child.once("close", (code, signal) => resolve(exitOf(code, signal)));
      // Children that keep its pipes open must not hide its death.
      child.once("exit", (code, signal) => setTimeout(() => resolve(exitOf(code, signal)), 500).unref());
    });
    child.stdin.on("error", () => {});
    child.stdout.on("error", () => {});
    const written: string[] = [];
    const stderr = new LineReader({
      maxBytes: maxStderrLineBytes,
      onLine: line => void written.push(line),
      // No one reads a line this long.
      onTooLong: () => {},
    });
    child.stderr
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        stderr.push(chunk);
        this.#keep(written.splice(0));
      });
    return child;
  }

  /** A socket may be refused until the agent listens. The wait for the handshake enforces `startupTimeoutMs`. */
  async #connect(): Promise<void> {
    const until = performance.now() + this.#options.settings.startupTimeoutMs;
    let over = false;
    void this.ended.then(() => {
      over = true;
    });
    for (;;) {
      const socket = await this.#dial();
      if (over) {
        socket?.destroy();
        return;
      }
      if (socket) {
        this.#socket = socket;
        this.#carry(socket, socket);
        socket.once(
          "close",
          () => void this.#endAfterLines({ reason: "closed the connection", clean: false }),
        );
        return;
      }
      if (performance.now() + retryMs > until) {
        this.#end({ reason: `does not answer at ${this.address}`, clean: false });
        return;
      }
      await delay(retryMs);
    }
  }

  #dial(): Promise<Socket | undefined> {
    return new Promise(resolve => {
      const socket = connect({ host: this.#options.settings.host, port: this.#port });
      socket.once("connect", () => resolve(socket));
      socket.on("error", () => resolve(undefined));
    });
  }

  async #answers(): Promise<boolean> {
    const socket = await this.#dial();
    socket?.destroy();
    return socket !== undefined;
  }

  #carry(from: Readable, to: Writable): void {
    to.on("error", () => {});
    const lines = new PacedLines(from, {
      maxBytes: maxLineBytes,
      onLine: line => this.onLine(line),
      onTooLong: () => {
        from.destroy();
        this.#end({ reason: "sent a line of more than 32 MiB", clean: false });
      },
    });
    this.#lines = lines;
    // An agent that closes its end has nothing more to say, alive or not.
    from.once("end", () => {
      setTimeout(() => void this.#endAfterLines({ reason: "closed its output", clean: false }), 500).unref();
    });
  }

  /** Passes on first what the agent wrote before it left. */
  async #endAfterLines(end: LinkEnd): Promise<void> {
    await this.#lines?.idle();
    this.#end(end);
  }

  #keep(lines: readonly string[]): void {
    // Cut before the search for secrets, with room for one at the cut.
    for (const line of lines.slice(-stderrLines)) {
      const text = errorText(line.slice(0, 2 * stderrLineChars), this.#options.secrets);
      this.stderr.push(text.slice(0, stderrLineChars));
    }
    this.stderr.splice(0, this.stderr.length - stderrLines);
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    if (process.platform === "win32") {
      execFile("taskkill", ["/pid", String(pid), "/t", "/f"], () => {});
      return;
    }
    try {
      process.kill(-pid, signal);
    } catch {
      // The whole group has ended by itself.
    }
  }
}

async function isLate(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return withTimeout(work, timeoutMs, "").then(
    () => false,
    () => true,
  );
}

function notStarted(error: NodeJS.ErrnoException): LinkEnd {
  const why = error.code === "ENOENT" ? "was not found" : `cannot be run (${error.code ?? error.message})`;
  return { reason: why, clean: false, notFound: true };
}

function exitOf(code: number | null, signal: NodeJS.Signals | null): LinkEnd {
  return signal
    ? { reason: `was ended by ${signal}`, clean: false }
    : { reason: `exited with code ${code}`, clean: code === 0 };
}

/** The port of the settings, or a free one. */
export async function choosePort({ port, host }: AgentSettings): Promise<number> {
  if (port !== 0) return port;
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, host, resolve));
  const address = server.address();
  await new Promise(resolve => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
