import { ownerMarker, sweepOrphans } from "../../backends/orphans.js";
import { RuntimePool } from "../../backends/runtime.js";
import type { Log } from "../../base/log.js";
import type { RuntimeSource } from "../../sessions/copilot/copilotHost.js";

/** A healthy runtime stops sooner; one that hangs is killed. */
const stopTimeoutMs = 1000;

export interface OwnRuntimes extends RuntimeSource {
  stop(): Promise<void>;
}

/** The runtimes of an orchestrator without a host: started at first use, stopped with it. */
export function ownRuntimes(repoRoot: string, log: Log): OwnRuntimes {
  const pool = ownerMarker(`mcp:${repoRoot}`).then(marker => {
    sweepOrphans(marker).catch(error => log.warn({ err: error }, "cannot look for left-over processes"));
    return new RuntimePool({ marker, log });
  });
  return {
    use: async () => (await pool).use(),
    running: async sandboxed => (await pool).running(sandboxed),
    stop: async () => (await pool).stop(stopTimeoutMs),
  };
}
