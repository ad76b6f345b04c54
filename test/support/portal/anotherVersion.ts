import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { packageRoot, packageVersion, portalProgram } from "../../../src/base/paths.js";
import { type Scope, tempFolder } from "../cleanup.js";

const [major, minor] = packageVersion.split(".").map(Number);
export const nextVersion = `${major}.${Number(minor) + 1}.0`;

/** The program of this build as the next version: for portals of neighbouring versions beside each other. */
export async function nextProgram(t: Scope): Promise<string> {
  const root = await tempFolder(t, "portal-next");
  const own = JSON.parse(await readFile(join(packageRoot, "package.json"), "utf8"));
  await writeFile(join(root, "package.json"), JSON.stringify({ ...own, version: nextVersion }));
  for (const name of ["assets", "node_modules"]) await symlink(join(packageRoot, name), join(root, name));
  const built = relative(packageRoot, dirname(portalProgram));
  await cp(join(packageRoot, built), join(root, built), {
    recursive: true,
    // Code that V8 compiled counts only while it is newer than the program.
    preserveTimestamps: true,
    filter: path => !/\.map$|\.test\.js$/.test(path),
  });
  return join(root, relative(packageRoot, portalProgram));
}
