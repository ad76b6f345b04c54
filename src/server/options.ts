import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join, normalize, resolve } from "node:path";
import yargs from "yargs";
import { isLoopbackName } from "../base/loopback.js";
import { packageVersion, repoRoot } from "../base/paths.js";
import { StartError } from "../base/startError.js";
import { checkNodeName, checkNodeUrl, nodeNameOf } from "../nodes/nodeName.js";
import { type PermissionPolicy, permissionPolicies } from "../permissions/approvals.js";

export interface Options {
  port: number;
  host: string;
  /** Names besides the loopback names under which the portal may be called, in lower case. */
  allowedHosts: string[];
  /** Whether callers must present the token. */
  auth: boolean;
  test: boolean;
  /** A jobs entry instead of the built-in one. */
  entryFile: string | undefined;
  /** Undefined when no file was named and the repo root has none. */
  configFile: string | undefined;
  dataDir: string;
  /** A database on a server instead of the embedded store. Holds a password: never show it. */
  databaseUrl: string | undefined;
  /** This portal among those on the same database. */
  node: string;
  /** Where the other nodes reach this one; undefined means at the address that it listens on. */
  nodeUrl: string | undefined;
  /** Folders that every node sees under the same path. */
  sharedDirs: string[];
  /** The policy for sessions that choose none. */
  permissions: PermissionPolicy;
  /** Whether agents run in a sandbox unless a session says otherwise. */
  sandbox: boolean;
  demo: boolean;
  open: boolean;
  logLevel: string;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const hostName = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$/i;
const configName = "portal.config.json";

/** The folder in which this user's programs keep their state, on each system. */
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

/** An empty address would open the portal on all interfaces. */
function checkHost(host: string): string {
  if (isIP(host) !== 0 || hostName.test(host)) return host;
  throw new StartError(`--host ${host}: an address is an IP address or a name of this machine`);
}

function parseHosts(list: string): string[] {
  const hosts = list.split(",").map(host => host.trim().toLowerCase());
  const bad = hosts.find(host => !isHostHeader(host));
  if (bad !== undefined)
    throw new StartError(`--allowed-hosts ${bad}: a host is a name or an address, with or without :PORT`);
  return hosts;
}

function isHostHeader(host: string): boolean {
  const [, name = "", port = "0"] = /^(\[[0-9a-f:.]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(host) ?? [];
  const known = name.startsWith("[") ? isIP(name.slice(1, -1)) === 6 : hostName.test(name);
  return known && Number(port) <= 65535;
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

/** An empty variable means that there is none, an empty option is a mistake. */
export function chosenDatabase(given: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (given === "") throw new StartError("--database-url: the address is empty");
  return given ?? (env.PORTAL_DATABASE_URL || undefined);
}

/** Nodes are of use only where they share a database. */
function chosenNode(
  parsed: { node: string | undefined; nodeUrl: string | undefined; sharedDirs: readonly string[] },
  databaseUrl: string | undefined,
): Pick<Options, "node" | "nodeUrl" | "sharedDirs"> {
  const { node, nodeUrl, sharedDirs } = parsed;
  const given = { "--node": node, "--node-url": nodeUrl, "--shared-dir": sharedDirs[0] };
  const [alone] = Object.entries(given).filter(([, value]) => value !== undefined);
  if (databaseUrl === undefined && alone)
    throw new StartError(
      `${alone[0]} ${alone[1]}: a portal is a node of a database; name it with --database-url`,
    );
  const wrong = sharedDirs.find(folder => !isAbsolute(folder));
  if (wrong !== undefined)
    throw new StartError(
      `--shared-dir ${wrong}: every node has to see the folder under the same path; give the whole path`,
    );
  const name = node === undefined ? nodeNameOf() : checkNodeName(node);
  if (name === undefined && databaseUrl !== undefined)
    throw new StartError("--node: this machine has no name that a node could have; choose one");
  return {
    node: name ?? "",
    nodeUrl: nodeUrl === undefined ? undefined : checkNodeUrl(nodeUrl),
    sharedDirs: [...new Set(sharedDirs.map(normalize))],
  };
}

/** Nodes show each other their token; one that makes up its own could reach nobody. */
export function checkNodeToken({ databaseUrl, host, nodeUrl }: Options, env: NodeJS.ProcessEnv): void {
  if (databaseUrl === undefined || env.PORTAL_TOKEN) return;
  const reached = isLoopbackName(host) ? isReached(nodeUrl) && `--node-url ${nodeUrl}` : `--host ${host}`;
  if (reached)
    throw new StartError(
      `${reached}: with --database-url all nodes need the same token; set PORTAL_TOKEN for each of them`,
    );
}

/** Whether a node may be called from other machines by the address that it names. */
function isReached(nodeUrl: string | undefined): boolean {
  return nodeUrl !== undefined && !isLoopbackName(new URL(nodeUrl).hostname);
}

/** For the portal and for the commands on its store. */
export const databaseOption = {
  type: "string",
  requiresArg: true,
  describe: "A PostgreSQL server instead of the embedded store [default: PORTAL_DATABASE_URL]",
} as const;

function createParser(args: readonly string[]) {
  return yargs([...args])
    .scriptName("copilot-portal")
    .usage(
      "$0 [port] [options]\n$0 export FILE [--data-dir DIR | --database-url URL]\n$0 import FILE [--data-dir DIR | --database-url URL] [--continue] [--node NAME]\n$0 restored [--data-dir DIR | --database-url URL]\n$0 nodes\n$0 node remove NAME\n\nRuns AI coding agents from a browser, curl, an editor or another agent.",
    )
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
      describe: "Address to listen on; any but a loopback address turns --auth on",
    })
    .option("allowed-hosts", {
      type: "string",
      requiresArg: true,
      describe: "More names of the portal, separated by commas; turns --auth on",
    })
    .option("auth", {
      type: "boolean",
      default: false,
      describe: "Ask everyone for a token: PORTAL_TOKEN, else a new one that is printed",
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
    .option("database-url", databaseOption)
    .option("node", {
      type: "string",
      requiresArg: true,
      describe: "Name of this portal among those on the same database [default: the name of the machine]",
    })
    .option("node-url", {
      type: "string",
      requiresArg: true,
      describe: "Where the other nodes reach this one [default: from --host and the port]",
    })
    .option("shared-dir", {
      type: "string",
      requiresArg: true,
      describe: "A folder that every node sees under this path; repeatable",
    })
    .option("permissions", {
      choices: permissionPolicies,
      default: "allow-all" as PermissionPolicy,
      describe: "What agents may do unless a session says otherwise",
    })
    .option("sandbox", {
      type: "boolean",
      default: false,
      describe: "Run agents in a sandbox unless a session says otherwise (Linux, bwrap)",
    })
    .option("demo", { type: "boolean", default: false, describe: "List the demo model also beside others" })
    .option("open", { type: "boolean", default: false, describe: "Open the browser" })
    .option("log-level", { choices: logLevels, default: "info", describe: "Of the log on stderr" });
}

/** Of every other option the last one counts; this one is repeatable. */
function sharedDirsIn(args: readonly string[]): string[] {
  const { sharedDir } = yargs([...args])
    .help(false)
    .version(false)
    .exitProcess(false)
    .option("shared-dir", { type: "string", array: true, nargs: 1 })
    .parseSync();
  return sharedDir ?? [];
}

/** The port may be a bare number, as in `yarn portal 9000`. */
function chosenPort(named: string | undefined, rest: readonly (string | number)[]): number {
  const [bare, ...more] = rest.map(String);
  if (more.length > 0 || (bare !== undefined && (named !== undefined || !/^\d+$/.test(bare)))) {
    throw new StartError(`Unknown argument: ${rest.join(" ")}; --help lists the options`);
  }
  return parsePort(named ?? bare ?? "8888");
}

/** Reads and checks the command line; throws a StartError that names the wrong value. */
export function parseOptions(args: readonly string[], env = process.env): Options {
  const parsed = createParser(args)
    .fail((message, error) => {
      const line = (message ?? error.message).replaceAll(/\s+/g, " ");
      throw new StartError(`${line}; --help lists the options`);
    })
    .parseSync();
  const host = checkHost(parsed.host);
  const allowedHosts = parsed.allowedHosts === undefined ? [] : parseHosts(parsed.allowedHosts);
  const databaseUrl = chosenDatabase(parsed.databaseUrl, env);
  const node = chosenNode({ ...parsed, sharedDirs: sharedDirsIn(args) }, databaseUrl);
  return {
    port: chosenPort(parsed.port, parsed._),
    host,
    allowedHosts,
    // Others can reach any other address or name, and an agent in a sandbox can reach every address.
    auth: parsed.auth || !isLoopbackName(host) || allowedHosts.length > 0 || isReached(node.nodeUrl),
    test: parsed.test,
    entryFile: findEntry(parsed.entry),
    configFile: findConfig(parsed.config),
    dataDir: chosenFolder(parsed.dataDir),
    databaseUrl,
    ...node,
    permissions: parsed.permissions,
    sandbox: parsed.sandbox,
    demo: parsed.demo,
    open: parsed.open,
    logLevel: parsed.logLevel,
  };
}
