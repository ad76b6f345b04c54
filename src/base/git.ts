import { execFile } from "node:child_process";
import { devNull } from "node:os";
import { promisify } from "node:util";

const run = promisify(execFile);
const timeoutMs = 5000;
const maxOutputBytes = 16 * 1024 * 1024;
/** More than any repository needs. */
const maxFilterSettings = 100;

/** These keep a repository's own programs from running, whatever its configuration says. */
const quietSettings: readonly (readonly [string, string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", devNull],
  ["core.untrackedCache", "false"],
];

const filterKey = /^filter\.[\s\S]+\.(clean|smudge|process|required)$/;

function quietEnv(settings: readonly (readonly [string, string])[]): NodeJS.ProcessEnv {
  // The portal's environment may name another repository or more settings.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(inherited),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    // A partial clone would fetch missing objects with a command that its configuration names.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
  };
}

async function git(
  folder: string,
  args: readonly string[],
  settings: readonly (readonly [string, string])[],
) {
  const { stdout } = await run("git", ["-C", folder, ...args], {
    timeout: timeoutMs,
    maxBuffer: maxOutputBytes,
    env: quietEnv(settings),
  });
  return stdout;
}

/** Filters can only be switched off by name. */
async function filterSettings(folder: string): Promise<(readonly [string, string])[]> {
  const found = await git(
    folder,
    ["config", "--name-only", "--null", "--get-regexp", "^filter\\."],
    [],
  ).catch(() => "");
  const keys = [...new Set(found.split("\0"))].filter(key => filterKey.test(key));
  if (keys.length > maxFilterSettings)
    throw new Error(`${folder} has more than ${maxFilterSettings} filters`);
  return keys.map(key => [key, key.endsWith(".required") ? "false" : ""] as const);
}

/** Asks git about a folder that anyone may have created, without running anything that its configuration names. */
export async function quietGit(folder: string, args: readonly string[]): Promise<string> {
  return git(folder, args, [...quietSettings, ...(await filterSettings(folder))]);
}

/** The root of a folder's work tree, according to git; undefined outside git. */
export async function workTreeRoot(folder: string): Promise<string | undefined> {
  const top = await git(folder, ["rev-parse", "--show-toplevel"], quietSettings).catch(() => "");
  return top.replace(/\r?\n$/, "") || undefined;
}
