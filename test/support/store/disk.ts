import { execFileSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { defer, tempFolder } from "../cleanup.js";

export interface SmallDisk {
  readonly folder: string;
  /** From now on nothing can be written. */
  fill(): void;
  free(): void;
}

/** A real file system of this size if the system allows a mount, otherwise a limit on the size of files. */
export async function smallDisk(t: TestContext, megabytes: number): Promise<SmallDisk> {
  const folder = await tempFolder(t, "portal-disk");
  return mounted(t, folder, megabytes) ?? limitedFiles(t, folder);
}

/** The same for programs that this process does not run: undefined where the system allows no mount. */
export async function mountedDisk(t: TestContext, megabytes: number): Promise<SmallDisk | undefined> {
  return mounted(t, await tempFolder(t, "portal-disk"), megabytes);
}

function mounted(t: TestContext, folder: string, megabytes: number): SmallDisk | undefined {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  defer(t, () => execFileSync("umount", ["-l", folder]));
  const filler = join(folder, "filler");
  return {
    folder,
    fill: () => {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    },
    free: () => rmSync(filler, { force: true }),
  };
}

/** Limits the files of this process to the size of its smallest one. */
function limitedFiles(t: TestContext, folder: string): SmallDisk {
  const limit = (bytes: string) => execFileSync("prlimit", ["--pid", `${process.pid}`, `--fsize=${bytes}:`]);
  const free = () => void limit("unlimited");
  defer(t, free);
  return { folder, fill: () => void limit("8192"), free };
}
