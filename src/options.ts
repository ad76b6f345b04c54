import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import yargs from "yargs";
import { packageVersion, repoRoot } from "./paths.js";
import { StartError } from "./startError.js";

export interface Options {
  port: number;
  host: string;
  test: boolean;
  /** A jobs entry instead of the built-in one. */
  entryFile: string | undefined;
  /** Undefined when none was named and there is none in the repo root. */
  configFile: string | undefined;
  dataDir: string;
  demo: boolean;
  open: boolean;
  logLevel: string;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const loopbackAddresses = ["127.0.0.1", "::1", "localhost"];
const configName = "portal.config.json";

/** The folder in which programs of this user keep what they must remember, as each system has it. */
export function stateFolder(platform: NodeJS.Platform, env: NodeJS.ProcessEnv, home: string): string {
  if (platform === "win32") return join(env.LOCALAPPDATA ?? join(home, "AppData", "Local"), "copilot-portal");
  if (platform === "darwin") return join(home, "Library", "Application Support", "copilot-portal");
  return join(env.XDG_STATE_HOME || join(home, ".local", "state"), "copilot-portal");
}

export function parsePort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= 65535)) throw new StartError(`--port ${value}: a port is a number from 0 to 65535`);
  return port;
}

function checkHost(host: string): string {
  if (loopbackAddresses.includes(host)) return host;
  const known = loopbackAddresses.join(", ");
  throw new StartError(`--host ${host}: the portal opens on this machine only, that is on one of ${known}`);
}

function findConfig(given: string | undefined): string | undefined {
  if (given === undefined) {
    const usual = join(repoRoot, configName);
    return existsSync(usual) ? usual : undefined;
  }
  if (!existsSync(given)) throw new StartError(`--config ${given}: there is no such file`);
  return resolve(given);
}

function findEntry(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (!existsSync(given)) throw new StartError(`--entry ${given}: there is no such file`);
  return resolve(given);
}

function chosenFolder(dataDir: string): string {
  if (dataDir === "") throw new StartError("--data-dir: the name of the folder is empty");
  return resolve(dataDir);
}

function createParser(args: readonly string[]) {
  return yargs([...args])
    .scriptName("copilot-portal")
    .usage("$0 [port] [options]\n\nRuns AI coding agents from a browser, curl, an editor or another agent.")
    .parserConfiguration({
      "duplicate-arguments-array": false,
      "dot-notation": false,
      "parse-positional-numbers": false,
    })
    .locale("en")
    .version(packageVersion)
    .strictOptions()
    .option("port", {
      type: "string",
      requiresArg: true,
      describe: "Port; 0 picks a free one [default: 8888]",
    })
    .option("host", {
      type: "string",
      requiresArg: true,
      default: "127.0.0.1",
      describe: "Address to listen on",
    })
    .option("test", { type: "boolean", default: false, describe: "Test mode: no jobs entry is installed" })
    .option("entry", {
      type: "string",
      requiresArg: true,
      describe: "A jobs entry instead of the built-in one",
    })
    .option("config", {
      type: "string",
      requiresArg: true,
      describe: `Providers and defaults [default: ${configName} in the repo root]`,
    })
    .option("data-dir", {
      type: "string",
      requiresArg: true,
      default: stateFolder(process.platform, process.env, homedir()),
      describe: "Where the embedded store lives",
    })
    .option("demo", { type: "boolean", default: false, describe: "List the demo model also beside others" })
    .option("open", { type: "boolean", default: false, describe: "Open the browser" })
    .option("log-level", { choices: logLevels, default: "info", describe: "Of the log on stderr" });
}

/** The port may stand alone, as in `yarn portal 9000`. */
function chosenPort(named: string | undefined, rest: readonly (string | number)[]): number {
  const [bare, ...more] = rest.map(String);
  if (more.length > 0 || (bare !== undefined && (named !== undefined || !/^\d+$/.test(bare)))) {
    throw new StartError(`Unknown argument: ${rest.join(" ")}; --help lists the options`);
  }
  return parsePort(named ?? bare ?? "8888");
}

/** What the command line asks for, each value checked; throws a StartError that names the value. */
export function parseOptions(args: readonly string[]): Options {
  const parsed = createParser(args)
    .fail((message, error) => {
      const line = (message ?? error.message).replaceAll(/\s+/g, " ");
      throw new StartError(`${line}; --help lists the options`);
    })
    .parseSync();
  return {
    port: chosenPort(parsed.port, parsed._),
    host: checkHost(parsed.host),
    test: parsed.test,
    entryFile: findEntry(parsed.entry),
    configFile: findConfig(parsed.config),
    dataDir: chosenFolder(parsed.dataDir),
    demo: parsed.demo,
    open: parsed.open,
    logLevel: parsed.logLevel,
  };
}
