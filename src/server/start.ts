import { ownerMarker } from "../backends/orphans.js";
import { knownSecrets } from "../backends/providers.js";
import { createLog, type Log } from "../base/log.js";
import { packageRoot } from "../base/paths.js";
import { PortalError } from "../base/portalError.js";
import { searchPath } from "../base/searchPath.js";
import { StartError } from "../base/startError.js";
import { chosenToken } from "../guard/token/token.js";
import { SharedFolders } from "../nodes/sharedFolders.js";
import { readPolicy } from "../permissions/policy.js";
import { availabilityOf, probe } from "../sandbox/availability.js";
import { agentSecrets, readAgentsFile } from "../sessions/acp/agentSettings.js";
import { lockDataFolder } from "../store/lock/lock.js";
import { checkServer } from "../store/server/checkServer.js";
import { databaseSecrets } from "../store/server/serverAddress.js";
import { readConfig } from "./config.js";
import { listen, urlOf } from "./listen.js";
import { runNodeCommand } from "./nodeCommands.js";
import { openBrowser, type RedirectFile, redirectFile } from "./openBrowser.js";
import { checkNodeToken, parseOptions } from "./options.js";
import { type CreateApp, createPortal } from "./portal.js";
import { writeAddress } from "./portalAddress.js";
import { readEntry } from "./readEntry.js";
import { Shutdown } from "./shutdown.js";
import { type Started, startLines } from "./startLines.js";
import { runStoreCommand } from "./storeCommands.js";

/** One clear line for what the user can fix, the whole error for our own mistakes. */
function explain(error: unknown): void {
  const known = error instanceof StartError || error instanceof PortalError;
  process.stderr.write(`${known ? error.message : error instanceof Error ? error.stack : error}\n`);
}

/** Plain text for a person, a log line for a program. */
function announce(started: Started, log: Log): void {
  if (process.stderr.isTTY) process.stderr.write(`${startLines(started).join("\n")}\n`);
  else log.info(started, "the portal is open");
}

/** A user who asks for a sandbox must not silently get less. */
async function needSandbox(): Promise<void> {
  const { available, why } = availabilityOf(await probe());
  if (!available) throw new StartError(`--sandbox: ${why}`);
}

async function open(createApp: CreateApp): Promise<void> {
  process.env.PATH = searchPath(process.env.PATH ?? "", packageRoot);
  const args = process.argv.slice(2);
  if ((await runStoreCommand(args)) || (await runNodeCommand(args))) process.exit(0);
  const options = parseOptions(args);
  checkNodeToken(options, process.env);
  // No program that the portal starts inherits it.
  delete process.env.PORTAL_DATABASE_URL;
  if (options.sandbox) await needSandbox();
  const config = readConfig(options.configFile);
  const entry = options.entryFile === undefined ? undefined : readEntry(options.entryFile);
  const policy = readPolicy(config.permissions?.policy);
  const token = options.auth ? chosenToken(process.env) : undefined;
  const agents = readAgentsFile(options.configFile, process.env);
  const { databaseUrl } = options;
  const secrets = [
    ...knownSecrets(config.providers, process.env, token),
    ...agentSecrets(agents),
    ...databaseSecrets(databaseUrl),
  ];
  const log = createLog(options.logLevel, secrets);
  const marker = await ownerMarker(options.dataDir);
  if (databaseUrl !== undefined) await checkServer(databaseUrl);
  const shared = databaseUrl === undefined ? undefined : await SharedFolders.open(options.sharedDirs, log);
  const { server, port } = await listen(options.host, options.port);
  const unlock = await lockDataFolder(options.dataDir);

  let redirect: RedirectFile | undefined;
  process.once("exit", () => redirect?.remove());
  const shutdown = new Shutdown({ stages: () => [...portal.stages, closeServer], exit: process.exit, log });
  const closeServer = { name: "connections", timeoutMs: 100, stop: () => server.closeAllConnections() };
  const onExchange = () => redirect?.remove();
  const endWith = (error: unknown) => {
    if (shutdown.stopping) return;
    explain(error);
    void shutdown.stop(1);
  };
  const parts = {
    createApp,
    options,
    config,
    entry,
    policy,
    log,
    port,
    token,
    unlock,
    shared,
    marker,
    shutdown,
    onExchange,
    onReplaced: endWith,
  };
  const portal = createPortal(parts);
  server.on("request", portal.app);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => shutdown.signal(signal === "SIGINT"));
  }
  process.on("unhandledRejection", error => log.error({ err: error }, "unhandled rejection"));
  process.on("uncaughtException", error => {
    log.fatal({ err: error }, "unexpected failure, stopping");
    void shutdown.stop(1);
  });
  portal.ready.catch(endWith);

  const url = urlOf(options.host, port);
  writeAddress(options.dataDir, url);
  const entrance = token === undefined ? url : `${url}/?token=${encodeURIComponent(token)}`;
  // A killed portal may have left it behind.
  redirect = redirectFile(options.dataDir);
  redirect.remove();
  const opened = token !== undefined && options.open ? redirect.write(entrance) : url;
  process.stdout.write(`${entrance}\n${url}/api/stop\n`);
  announce({ url, permissions: options.permissions, sandbox: options.sandbox }, log);
  if (options.open) openBrowser(opened, log);
}

/** Runs the portal until it is told to stop. */
export async function start(createApp: CreateApp): Promise<void> {
  try {
    await open(createApp);
  } catch (error) {
    explain(error);
    process.exit(1);
  }
}
