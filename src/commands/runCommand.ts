import type { ChildProcess } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import spawn from "cross-spawn";
import { CommandOutput } from "./commandOutput.js";

/** A program that the portal starts, and where it writes to. */
export interface CommandToRun {
  program: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  /** Ends the command and everything that it started. */
  signal?: AbortSignal | undefined;
  /** Called with the beginning of the output, while it is written. */
  onOutput?: ((text: string) => void) | undefined;
  /** Ends what has left the command's process group; called when the command has ended. */
  endStrays?: (() => Promise<unknown>) | undefined;
}

/** How a command ended. Exactly one of `exitCode`, `signal`, `timedOut` and `problem` says so. */
export interface CommandEnd {
  exitCode?: number;
  signal?: string;
  timedOut?: true;
  /** Why it could not be started. */
  problem?: string;
  durationMs: number;
  /** The last lines of its output. */
  tail: string;
}

/** A command that ignores SIGTERM is killed after this time. */
const killAfterMs = 2000;
/** What a command leaves running in the background may keep its pipes open. */
const pipesMs = 500;

/** Runs a command to its end, with bounded output. Never rejects. */
export async function runCommand(command: CommandToRun): Promise<CommandEnd> {
  const { program, args, cwd, env, timeoutMs, signal, onOutput } = command;
  const startedAt = performance.now();
  const output = new CommandOutput(text => onOutput?.(text));
  const end = (how: Omit<CommandEnd, "durationMs" | "tail">): CommandEnd => ({
    ...how,
    durationMs: Math.round(performance.now() - startedAt),
    tail: output.tail(),
  });
  if (signal?.aborted) return end({ signal: "SIGTERM" });
  let child: ChildProcess;
  try {
    child = spawn(program, [...args], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    return end({ problem: problemOf(program, error) });
  }
  let timedOut = false;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = () => {
    signalGroup(child, "SIGTERM");
    killTimer ??= setTimeout(() => signalGroup(child, "SIGKILL"), killAfterMs);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, timeoutMs);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder("utf8");
      stream?.on("data", (chunk: Buffer) => output.push(decoder.write(chunk)));
    }
    const { exitCode, by, error } = await exitOf(child);
    if (error) return end({ problem: problemOf(program, error) });
    if (timedOut) return end({ timedOut: true });
    return end(exitCode === null ? { signal: by ?? "SIGKILL" } : { exitCode });
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal?.removeEventListener("abort", stop);
    // Nothing that the command started outlives it.
    signalGroup(child, "SIGKILL");
    await command.endStrays?.().catch(() => undefined);
  }
}

interface Exit {
  exitCode: number | null;
  by: NodeJS.Signals | null;
  error?: Error;
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise(resolve => {
    child.once("error", error => resolve({ exitCode: null, by: null, error }));
    child.once("close", (exitCode, by) => resolve({ exitCode, by }));
    child.once("exit", (exitCode, by) => setTimeout(() => resolve({ exitCode, by }), pipesMs));
  });
}

function problemOf(program: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return `There is no program ${JSON.stringify(program)}.`;
  if (code === "EACCES") return `${JSON.stringify(program)} may not be run.`;
  return `${JSON.stringify(program)} cannot be run (${code ?? "unknown reason"}).`;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The whole group has ended by itself.
  }
}
