import { existsSync, readFileSync } from "node:fs";
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
