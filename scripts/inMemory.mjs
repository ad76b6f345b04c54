// Tests write thousands of files that are gone a moment later. In memory they take a sixth less processor time than on a
// disk. A mount of the run's own ends with its last process; it needs the right to mount, which root has on Linux.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A run holds at most two gigabytes there, beside what its processes need. */
const neededBytes = 8 * 2 ** 30;
/** The folder is `$0`. */
const mounting = 'mount -t tmpfs -o mode=1777 tmpfs "$0" && exec "$@"';
const inFolder = (folder, command) => ["unshare", "--mount", "sh", "-c", mounting, folder, ...command];

function works(folder) {
  if (process.platform !== "linux" || process.availableMemory() < neededBytes) return false;
  const [program, ...args] = inFolder(folder, ["true"]);
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

/** Runs `perform` with a command line and variables that keep temporary files in memory, where that is possible. */
export function inMemory(command, perform) {
  const folder = mkdtempSync(join(tmpdir(), "portal-run-"));
  try {
    return works(folder) ? perform(inFolder(folder, command), { TMPDIR: folder }) : perform(command, {});
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
