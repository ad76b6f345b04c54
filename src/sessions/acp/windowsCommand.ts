import { existsSync } from "node:fs";
import { delimiter, extname, isAbsolute, join } from "node:path";

export interface ResolvedCommand {
  program: string;
  args: string[];
  /** The arguments are quoted already. */
  windowsVerbatimArguments: boolean;
}

/** What a Windows shell would run for a bare name: the first match in PATH with a usual extension. */
function findOnWindows(command: string, env: NodeJS.ProcessEnv): string {
  const extensions = (env.PATHEXT ?? ".COM;.EXE;.BAT;.CMD").split(";");
  const names = extname(command) === "" ? extensions.map(extension => command + extension) : [command];
  const folders = /[\\/]/.test(command) || isAbsolute(command) ? [""] : (env.PATH ?? "").split(delimiter);
  const candidates = folders.flatMap(folder => names.map(name => (folder ? join(folder, name) : name)));
  return candidates.find(candidate => existsSync(candidate)) ?? command;
}

/** Quotes an argument so that cmd.exe passes it unchanged to the program behind a script wrapper. */
export function quoteForCmd(arg: string): string {
  const quoted = `"${arg.replaceAll(/(?<!\\)(\\*)"/g, '$1$1\\"').replace(/(?<!\\)(\\*)$/, "$1$1")}"`;
  // Twice: cmd.exe reads the line, and the wrapper's own line is read again.
  return quoted.replaceAll(/[()%!^"<>&|;, ]/g, "^$&").replaceAll(/[()%!^"<>&|;, ]/g, "^$&");
}

/** A program and its arguments for `spawn` without a shell; only Windows needs help to find scripts. */
export function resolveCommand(
  command: string,
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): ResolvedCommand {
  const found = platform === "win32" ? findOnWindows(command, env) : command;
  if (platform !== "win32" || !/\.(cmd|bat)$/i.test(found))
    return { program: found, args: [...args], windowsVerbatimArguments: false };
  const line = [quoteForCmd(found), ...args.map(quoteForCmd)].join(" ");
  const program = env.ComSpec ?? "cmd.exe";
  return { program, args: ["/d", "/s", "/c", `"${line}"`], windowsVerbatimArguments: true };
}
