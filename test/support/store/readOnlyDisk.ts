import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { TestContext } from "node:test";
import { defer, tempFolder } from "../cleanup.js";
import { seen } from "../seen.js";
import { noWrites } from "./noWrites.js";

export interface ReadOnlyDisk {
  readonly folder: string;
  /** The portal's message about it. */
  readonly complaint: RegExp;
  /** Makes the disk read-only as the kernel does after an error, even with open files; only `repair` undoes it. */
  fail(pid: number): void;
  /** Call this when nothing uses the disk any longer. */
  repair(): Promise<void>;
  /** Makes the disk read-only as an administrator does, once the store has no file open for writing. */
  turnReadOnly(pid: number, pause: () => Promise<unknown>): Promise<void>;
  turnWritable(): void;
}

/** A real file system if the system allows a mount, otherwise a limit on the portal's files. */
export async function readOnlyDisk(t: TestContext): Promise<ReadOnlyDisk> {
  const place = await tempFolder(t, "portal-disk");
  const folder = join(place, "data");
  const image = join(place, "image");
  mkdirSync(folder);
  writeFileSync(image, "");
  truncateSync(image, 300 * 1024 ** 2);
  const mount = () =>
    spawnSync("mount", ["-t", "ext4", "-o", "loop,errors=remount-ro", image, folder]).status === 0;
  if (spawnSync("mkfs.ext4", ["-q", image]).status !== 0 || !mount()) return limitedFiles(folder);
  defer(t, () => execFileSync("umount", ["-l", folder]));
  const remount = (mode: "ro" | "rw") => spawnSync("mount", ["-o", `remount,${mode}`, folder]).status === 0;
  return {
    folder,
    complaint:
      /read-only file system.*Make the disk of the data folder writable again; the portal then continues/i,
    fail: () => {
      const device = execFileSync("findmnt", ["-no", "SOURCE", folder], { encoding: "utf8" }).trim();
      writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, "for a test");
    },
    repair: async () => {
      execFileSync("umount", [folder]);
      // A sandbox of another test has all mounts as they were when it began, and keeps the broken file system alive.
      await seen(async () => execFileSync("losetup", ["-j", image]).length === 0);
      // It exits with 1 when it has repaired something.
      const { status, stdout } = spawnSync("e2fsck", ["-fy", image], { encoding: "utf8" });
      if (status === null || status > 1 || !mount()) throw new Error(`not repaired: ${stdout}`);
    },
    turnReadOnly: async (pid, pause) => {
      const outage = noWrites(pid);
      while (!remount("ro")) await pause();
      outage.end();
    },
    turnWritable: () => void remount("rw"),
  };
}

/** The same without a mount: no file of the portal can grow. */
function limitedFiles(folder: string): ReadOnlyDisk {
  let outage: ReturnType<typeof noWrites> | undefined;
  const begin = (pid: number) => {
    outage = noWrites(pid);
  };
  return {
    folder,
    complaint: /file too large.*Allow this user larger files; the portal then continues/i,
    fail: begin,
    repair: async () => undefined,
    turnReadOnly: async pid => begin(pid),
    turnWritable: () => outage?.end(),
  };
}
