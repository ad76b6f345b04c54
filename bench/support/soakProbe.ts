// Loaded into a portal by `node --import`, with SOAK_FILE and SOAK_INTERVAL_MS: writes a line about the process at
// each interval. It measures what only the process itself knows, without any code in the portal.
import { appendFileSync, readdirSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { usedBytes } from "../../test/support/memory.js";
import { percentile } from "./turns.js";

/** One sample of the portal's process. */
export interface Sample {
  atMs: number;
  /** Reachable memory after a collection, and the memory of the whole process. */
  usedMiB: number;
  residentMiB: number;
  /** Everything that could keep the loop alive: timers, sockets, files, processes. */
  handles: number;
  descriptors: number;
  /** The delay of the loop since the last sample, 99th percentile. */
  loopDelayMs: number;
}

const mib = 1024 * 1024;
const tickMs = 10;
/** The delay of each tick since the last sample. */
let latenessMs: number[] = [];

function watchLoop(): void {
  let dueMs = performance.now() + tickMs;
  const tick = () => {
    latenessMs.push(Math.max(0, performance.now() - dueMs));
    dueMs = performance.now() + tickMs;
    setTimeout(tick, tickMs).unref();
  };
  setTimeout(tick, tickMs).unref();
}

async function look(file: string): Promise<void> {
  const loopDelayMs = percentile(latenessMs, 0.99);
  const handles = process.getActiveResourcesInfo().length;
  const sample: Sample = {
    atMs: performance.now(),
    usedMiB: (await usedBytes()) / mib,
    residentMiB: process.memoryUsage.rss() / mib,
    handles,
    descriptors: readdirSync("/proc/self/fd").length,
    loopDelayMs,
  };
  appendFileSync(file, `${JSON.stringify(sample)}\n`);
  // The probe's own collections are not a delay of the portal.
  latenessMs = [];
}

const { SOAK_FILE, SOAK_INTERVAL_MS } = process.env;
if (isMainThread && SOAK_FILE !== undefined) {
  // The portal's child processes must not load the probe.
  delete process.env.SOAK_FILE;
  delete process.env.NODE_OPTIONS;
  watchLoop();
  setInterval(() => void look(SOAK_FILE), Number(SOAK_INTERVAL_MS)).unref();
}
