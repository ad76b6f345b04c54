import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isInside } from "../base/inside.js";

const modules = `${sep}node_modules${sep}`;

/** The real path of the program that a shell would find for a command. */
export async function realProgram(command: string, path: string, cwd: string): Promise<string | undefined> {
  const candidates = command.includes(sep)
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map(folder => join(folder, command));
  for (const candidate of candidates) {
    const found = await access(candidate, constants.X_OK)
      .then(() => stat(candidate))
      .catch(() => undefined);
    if (found?.isFile()) return realpath(candidate);
  }
  return undefined;
}

/** What a program needs to see of itself: the packages it is installed with, else its folder, else only the file. */
export async function programFolder(program: string, home: string): Promise<string> {
  const packages = program.indexOf(modules);
  if (packages >= 0) return program.slice(0, packages + modules.length - 1);
  return holdsHome(dirname(program), home).then(holds => (holds ? program : dirname(program)));
}

/** The folder in which Node.js is installed, with npm beside it. */
export async function nodeFolder(execPath: string, home: string): Promise<string> {
  const folder = dirname(execPath);
  const prefix = folder.endsWith(`${sep}bin`) ? dirname(folder) : folder;
  return (await holdsHome(prefix, home)) ? programFolder(execPath, home) : prefix;
}

/** A program directly in the home folder must not make the whole home visible. */
function holdsHome(folder: string, home: string): Promise<boolean> {
  return isInside(folder, home);
}

/** Files that arguments name: the script of `node SCRIPT`. */
export async function filesIn(args: readonly string[]): Promise<string[]> {
  const real = await Promise.all(
    args.filter(isAbsolute).map(async path => {
      const found = await stat(path).catch(() => undefined);
      return found?.isFile() ? realpath(path) : undefined;
    }),
  );
  return real.filter(path => path !== undefined);
}
