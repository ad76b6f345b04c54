import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The nearest folder at or above `from` that contains `name`. */
function folderWith(name: string, from: string): string | undefined {
  if (existsSync(join(from, name))) return from;
  const parent = dirname(from);
  return parent === from ? undefined : folderWith(name, parent);
}

const here = dirname(fileURLToPath(import.meta.url));

/** Where package.json, assets/ and test/ are. */
export const packageRoot = folderWith("package.json", here) ?? here;

/** The repository that contains the server; without one (an installed package), the folder the user is in. */
export const repoRoot = folderWith(".git", packageRoot) ?? process.cwd();

/** The portal's version from package.json. */
export const packageVersion: string = JSON.parse(
  readFileSync(join(packageRoot, "package.json"), "utf8"),
).version;

/** Starts the portal from one file, which `scripts/bundle.mjs` makes of `src/index.ts`. */
export const portalProgram = join(packageRoot, "dist", "src", "portal.js");

/** Whether Node was started with this module, which others may also import. Node takes its path without `.js` too. */
export function isProgram(moduleUrl: string): boolean {
  const [, started] = process.argv;
  if (started === undefined) return false;
  try {
    return createRequire(moduleUrl).resolve(started) === fileURLToPath(moduleUrl);
  } catch {
    // With `--eval` it is no file.
    return false;
  }
}
