import { delimiter, isAbsolute, join, normalize, sep } from "node:path";

const packageBin = join("node_modules", ".bin");

/**
 * Where the portal looks for programs: without the folders that `npm run` adds from every package above this one, into
 * which an agent that works up there could put a `git` of its own, and without places that depend on the folder.
 */
export function searchPath(path: string, ownRoot: string): string {
  const own = join(ownRoot, packageBin);
  return path
    .split(delimiter)
    .filter(folder => isAbsolute(folder))
    .filter(folder => !normalize(folder).endsWith(sep + packageBin) || normalize(folder) === own)
    .join(delimiter);
}
