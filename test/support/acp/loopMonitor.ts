import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { packageRoot } from "../../../src/base/paths.js";

/** Loaded into a portal before its own code: reports over a socket how long its loop was blocked, and its memory. */

export interface LoopReport {
  /** The longest time in which nothing else could run. */
  heldUpMs: number;
  rssBytes: number;
}

const variable = "LOOP_MONITOR_SOCKET";
const tickMs = 5;

/** Processor time of the main thread alone. */
const cpuMs = () =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

function serve(socket: string): void {
  let heldUpMs = 0;
  const now = () => ({ atMs: performance.now(), cpuMs: cpuMs() });
  let last = now();
  setInterval(() => {
    const { atMs, cpuMs } = now();
    // Neither the load of other programs nor the portal's other threads count as a delay of its loop.
    heldUpMs = Math.max(heldUpMs, Math.min(atMs - last.atMs - tickMs, cpuMs - last.cpuMs));
    last = now();
  }, tickMs).unref();
  const server = createServer(client => {
    const report: LoopReport = { heldUpMs, rssBytes: process.memoryUsage.rss() };
    heldUpMs = 0;
    client.on("error", () => {});
    client.end(JSON.stringify(report));
  });
  // Child processes inherit the variable, but the portal has the socket already.
  server.on("error", () => {});
  server.listen(socket).unref();
}

/** The variables of a monitored portal. */
export function monitored(folder: string): NodeJS.ProcessEnv {
  const program = join(packageRoot, "dist", "test", "support", "acp", "loopMonitor.js");
  return { NODE_OPTIONS: `--import ${program}`, [variable]: join(folder, "loop.sock") };
}

/** The figures since the last report. */
export async function loopReport(folder: string): Promise<LoopReport> {
  let text = "";
  for await (const part of connect(join(folder, "loop.sock")).setEncoding("utf8")) text += part;
  return JSON.parse(text) as LoopReport;
}

const own = process.env[variable];
if (own !== undefined) serve(own);
