// A small process beside a node: it ends the node's agents when the node is silent or dead, and then frees its lease.
import { createInterface } from "node:readline";
import { endOwnedProcesses, isMovableOwner } from "../backends/orphans.js";
import type { WatchdogMessage } from "./watchdog.js";

const connectTimeoutMs = 5_000;
const checkEveryMs = 500;

let marker: string | undefined;
let databaseUrl = "";
let boot: number | undefined;
let silenceMs = Number.POSITIVE_INFINITY;
let heardAtMs = performance.now();
let isSilent = false;

const isOurs = (owner: string) => marker !== undefined && owner.startsWith(`${marker}/`);

/** Only after its agents have ended: from now on others may go on with what they did. */
async function freeLease(): Promise<void> {
  // Half of what the start of this process would cost, and most of them never need it.
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => {});
  await client.connect();
  await client.query("update nodes set lease_until = now() where boot = $1 and lease_until > now()", [boot]);
  await client.end();
}

async function nodeDied(): Promise<void> {
  await endOwnedProcesses(isOurs);
  // Without a database the lease runs out by itself.
  if (boot !== undefined) await freeLease().catch(() => {});
  process.exit(0);
}

function read(line: string): void {
  const message = JSON.parse(line) as WatchdogMessage;
  heardAtMs = performance.now();
  isSilent = false;
  if ("marker" in message) ({ marker, databaseUrl, silenceMs } = message);
  else if ("boot" in message) ({ boot } = message);
  else if ("end" in message) process.exit(0);
}

setInterval(() => {
  if (isSilent || performance.now() - heardAtMs < silenceMs) return;
  isSilent = true;
  void endOwnedProcesses(owner => isOurs(owner) && isMovableOwner(owner));
}, checkEveryMs);

// Signals to the group of the node are not for its watchdog: the end of the pipe is.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
createInterface({ input: process.stdin })
  .on("line", read)
  .once("close", () => void nodeDied());
