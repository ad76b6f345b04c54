#!/usr/bin/env node
import { readConfig } from "./config.js";
import { listen } from "./listen.js";
import { createLog } from "./log.js";
import { openBrowser } from "./openBrowser.js";
import { parseOptions } from "./options.js";
import { createPortal } from "./portal.js";
import { PortalError } from "./portalError.js";
import { runStages } from "./shutdown.js";
import { StartError } from "./startError.js";

/** Ends a start that failed: one clear line for what the user can mend, everything for what is our mistake. */
function fail(error: unknown): never {
  const known = error instanceof StartError || error instanceof PortalError;
  process.stderr.write(`${known ? error.message : error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
}

async function start(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  const config = readConfig(options.configFile);
  const log = createLog(options.logLevel);
  const { server, port } = await listen(options.host, options.port);

  let stopping = false;
  async function stop(exitCode = 0): Promise<void> {
    if (stopping) process.exit(exitCode);
    stopping = true;
    await runStages(portal.stages, log);
    server.closeAllConnections();
    process.exit(exitCode);
  }

  const portal = createPortal({
    options,
    config,
    log,
    port,
    stopping: () => stopping,
    stop: () => void stop(),
  });
  server.on("request", portal.app);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop());
  process.on("unhandledRejection", error => log.error({ err: error }, "unhandled rejection"));
  process.on("uncaughtException", error => {
    log.fatal({ err: error }, "unexpected failure, stopping");
    void stop(1);
  });
  portal.ready.catch(fail);

  const url = `http://localhost:${port}`;
  process.stdout.write(`${url}\n${url}/api/stop\n`);
  if (options.open) openBrowser(url, log);
}

start().catch(fail);
