import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Log } from "../base/log.js";
import { stateFolder } from "../server/options.js";
import { readAddress } from "../server/portalAddress.js";
import { oneDeeper } from "../sessions/acp/nesting.js";
import { PortalGone } from "./rpcErrors.js";

export interface OwnPortalOptions {
  env: NodeJS.ProcessEnv;
  log: Log;
  logLevel: string;
  isPortal(url: string): Promise<boolean>;
}

/** A portal that this program has started. */
export interface OwnPortal {
  readonly url: string;
  readonly isAlive: boolean;
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL("./childPortal.js", import.meta.url));
/** A first start unpacks the store. */
const startTimeoutMs = 30_000;
const stopTimeoutMs = 3000;
/** Another program's portal may be starting or ending on the same folder. */
const sharingTimeoutMs = 15_000;
const retryMs = 300;
const maxLinesOfError = 5;

/** Starts a portal on a free port, or finds the one that already has the data folder. */
export async function startOwnPortal(options: OwnPortalOptions): Promise<{ url: string; own?: OwnPortal }> {
  const dataDir = stateFolder(process.platform, options.env, homedir());
  const deadlineMs = performance.now() + sharingTimeoutMs;
  for (;;) {
    const started = await launch(options);
    if ("url" in started) return { url: started.url, own: started };
    if (!/is in use by another portal/.test(started.error))
      throw new PortalGone(`No portal runs, and none can be started: ${started.error}`);
    const url = readAddress(dataDir);
    if (url !== undefined && (await options.isPortal(url))) return { url };
    if (performance.now() > deadlineMs)
      throw new PortalGone(`${started.error} Or give the address of that portal with --server.`);
    await delay(retryMs);
  }
}

async function launch({ env, log, logLevel }: OwnPortalOptions): Promise<OwnPortal | { error: string }> {
  const args = [program, "--port", "0", "--log-level", logLevel];
  const child = spawn(process.execPath, args, {
    env: { ...env, ...oneDeeper(env) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A failed write to an ended portal must not end this program.
  child.stdin.on("error", () => undefined);
  const exited = once(child, "close").catch(error => log.warn({ err: error }, "the portal"));
  const isAlive = () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  const errorLines: string[] = [];
  createInterface(child.stderr).on("line", line => {
    process.stderr.write(`${line}\n`);
    if (!line.startsWith("{") && errorLines.length < maxLinesOfError) errorLines.push(line);
  });
  async function stop(): Promise<void> {
    // It stops when its starter is gone.
    child.stdin.end();
    const force = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
    await exited;
    clearTimeout(force);
  }
  const lines = createInterface(child.stdout);
  const [first] = (await Promise.race([
    once(lines, "line"),
    exited.then(() => []),
    delay(startTimeoutMs, [], { ref: false }),
  ])) as string[];
  lines.on("line", () => undefined);
  if (first !== undefined) {
    return {
      url: first,
      get isAlive() {
        return isAlive();
      },
      stop,
    };
  }
  const wasLate = isAlive();
  await stop();
  return { error: wasLate ? "It did not start in time." : errorLines.join(" ") || "It ended at once." };
}
