import { delimiter, isAbsolute, join, normalize, sep } from "node:path";

const packageBin = join("node_modules", ".bin");

/**
 * Where the portal searches for programs. It leaves out the folders that `npm run` adds from every package above this
 * one, where an agent could put its own `git`, and places that depend on the current folder.
 */
export function searchPath(path: string, ownRoot: string): string {
  const own = join(ownRoot, packageBin);
  return path
    .split(delimiter)
    .filter(folder => isAbsolute(folder))
    .filter(folder => !normalize(folder).endsWith(sep + packageBin) || normalize(folder) === own)
    .join(delimiter);
}
