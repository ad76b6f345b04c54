import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Log } from "../base/log.js";

/** One line of JSON to the watchdog. Every line is a sign of life. */
export type WatchdogMessage =
  | { marker: string; databaseUrl: string; silenceMs: number }
  | { boot: number }
  | { beat: true }
  | { end: true };

export interface WatchdogOptions {
  /** The result of `ownerMarker`: the agents of this node have it. */
  marker: string;
  /** Goes through the pipe, because others see an environment and a command line. */
  databaseUrl: string;
  /** After this time without a sign of life the agents that can move are ended. */
  silenceMs: number;
  log: Log;
}

const program = fileURLToPath(new URL("./watchdogProcess.js", import.meta.url));

/** After this time a watchdog that has ended is started again. */
const restartMs = 1_000;

/** A process that outlives this one. Nothing of the portal's environment is its business, secrets least of all. */
export function startWatchdog({ marker, databaseUrl, silenceMs, log }: WatchdogOptions) {
  let child: ChildProcess;
  let boot: number | undefined;
  let hasEnded = false;
  const say = (message: WatchdogMessage) => void child.stdin?.write(`${JSON.stringify(message)}\n`);

  function start(): void {
    if (hasEnded) return;
    const { PATH = "", NODE_EXTRA_CA_CERTS } = process.env;
    child = spawn(process.execPath, ["--max-old-space-size=32", program], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      env: { PATH, ...(NODE_EXTRA_CA_CERTS !== undefined && { NODE_EXTRA_CA_CERTS }) },
    });
    child.on("error", error => log.error({ err: error }, "the watchdog did not start"));
    child.on("exit", code => {
      if (hasEnded) return;
      log.error({ code }, "the watchdog has ended and is started again");
      setTimeout(start, restartMs).unref();
    });
    child.stdin?.on("error", () => {});
    child.unref();
    say({ marker, databaseUrl, silenceMs });
    if (boot !== undefined) say({ boot });
  }

  start();
  return {
    boot(next: number) {
      boot = next;
      say({ boot: next });
    },
    beat: () => say({ beat: true }),
    end() {
      hasEnded = true;
      say({ end: true });
    },
  };
}
