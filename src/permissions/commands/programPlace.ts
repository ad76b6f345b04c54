import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { isInside } from "../../base/inside.js";

/**
 * Whether a bare name would start a program from the folder itself, where an agent may have put it: `npm run` adds
 * `node_modules/.bin` to the search path.
 */
export async function isFoundInFolder(folder: string, program: string): Promise<boolean> {
  for (const named of (process.env.PATH ?? "").split(delimiter)) {
    const place = isAbsolute(named) ? named : resolve(folder, named);
    const file = join(place, program);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const real = await realpath(file).catch(() => file);
    return (await isInside(folder, place)) || (await isInside(folder, real));
  }
  return false;
}
