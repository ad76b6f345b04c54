import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Says in the data folder that a user has stopped the portal, from then until its jobs are paused. Stopping takes only
 * so long, and a store may take longer: then the next start pauses them.
 */
export interface StopNote {
  readonly isThere: boolean;
  write(): void;
  remove(): void;
}

export function stopNoteIn(dataDir: string): StopNote {
  const file = join(dataDir, "stopped-by-user");
  return {
    get isThere() {
      return existsSync(file);
    },
    write() {
      try {
        writeFileSync(file, "");
      } catch {
        // A folder that cannot be written must not keep the portal from stopping.
      }
    },
    remove: () => rmSync(file, { force: true }),
  };
}
