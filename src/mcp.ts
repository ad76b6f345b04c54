#!/usr/bin/env node
import { messageOf } from "./base/messageOf.js";
import "./orchestrator/mcp/quietConsole.js";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { knownSecrets } from "./backends/providers.js";
import { keepAliveTimeoutMs } from "./base/keepAlive.js";
import { createLog, type Log } from "./base/log.js";
import { packageVersion } from "./base/paths.js";
import { createOrchestrator, type OrchestratorModule } from "./orchestrator/createOrchestrator.js";
import {
  ConfigError,
  type OrchestratorConfig,
  readOrchestratorConfig,
} from "./orchestrator/orchestratorConfig.js";

const help = `Usage: copilot-os [serve | health] [--version] [--help]

Serves the agents of a repository (.github/agents/) as MCP tools.

  serve    speak MCP on stdin and stdout, or over HTTP with MCP_TRANSPORT=http (default)
  health   tell whether the settings are valid and Copilot is there: exit code 0 or 1

Settings are environment variables: REPO_ROOT, LOG_LEVEL, AGENT_TIMEOUT, MCP_TRANSPORT, CACHE_SIZE, CACHE_TTL,
MAX_AGENTS, MAX_PROMPT_CHARS, MAX_CONCURRENT_AGENTS, DEFAULT_AGENT, COPILOT_MODEL, COPILOT_PROVIDER_BASE_URL,
COPILOT_PROVIDER_TYPE, COPILOT_PROVIDER_API_KEY, STRICT_PROMPTS, ALLOW_AGENT_MCP_SERVERS, AGENT_PERMISSIONS,
MCP_HTTP_HOST, MCP_HTTP_PORT, MCP_HTTP_PATH, MCP_ALLOWED_HOSTS, MCP_ALLOWED_ORIGINS, MCP_HTTP_TOKEN.
API.md says what each of them takes.
`;

const usageExit = 2;
/** A clean end takes less; a stuck one is forced. */
const stopTimeoutMs = 4500;

async function serveHttp(module: OrchestratorModule, config: OrchestratorConfig, log: Log): Promise<void> {
  const { host, port, path } = config.http;
  const app = express();
  app.disable("x-powered-by");
  app.use(path, module.httpRouter(config.http).router);
  app.use((_req, res) => void res.status(404).json({ error: "NotFound", message: `MCP is at ${path}` }));
  // A request without Host gets our answer, not Node's.
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: keepAliveTimeoutMs }, app);
  // As in the portal, the guard sees every header.
  server.maxHeadersCount = 0;
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
  const { port: open } = server.address() as AddressInfo;
  log.info({ url: `http://${host}:${open}${path}` }, "MCP over HTTP is ready");
}

async function serve(config: OrchestratorConfig, log: Log): Promise<void> {
  const module = createOrchestrator({ config, log });
  let stopping = false;
  const end = (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, "stopping");
    setTimeout(() => process.exit(0), stopTimeoutMs).unref();
    void module.close().finally(() => process.exit(0));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end(signal));
  process.on("uncaughtException", error => log.error({ err: error }, "unexpected failure"));
  process.on("unhandledRejection", error => log.error({ err: error }, "unhandled rejection"));
  if (config.transport === "http") return serveHttp(module, config, log);
  // The transport does not notice by itself that its client is gone.
  for (const event of ["end", "close"]) process.stdin.once(event, () => end("stdin ended"));
  process.stdout.on("error", () => end("stdout is closed"));
  await module.serveStdio();
}

async function health(config: OrchestratorConfig, log: Log): Promise<void> {
  const module = createOrchestrator({ config, log });
  const available = await module.invoker.isAvailable();
  await module.close();
  process.stderr.write(available ? "ok\n" : "The Copilot runtime is not available\n");
  process.exit(available ? 0 : 1);
}

function readConfig(failExit: number): OrchestratorConfig {
  try {
    const config = readOrchestratorConfig(process.env);
    if (!config.exposeJobs) return config;
    throw new ConfigError([
      "MCP_EXPOSE_JOBS: jobs run in the portal; connect to its /mcp, which takes this setting",
    ]);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(failExit);
  }
}

async function main(args: readonly string[]): Promise<void> {
  const [command = "serve", ...rest] = args;
  if (command === "--version") return void process.stdout.write(`${packageVersion}\n`);
  if (command === "--help") return void process.stdout.write(help);
  if (rest.length > 0 || !["serve", "health"].includes(command)) {
    process.stderr.write(`Unknown argument: ${args.join(" ")}; --help lists what there is\n`);
    process.exit(usageExit);
  }
  const config = readConfig(command === "health" ? 1 : usageExit);
  const log = createLog(config.logLevel, [...knownSecrets([], process.env), config.http.token ?? ""]);
  await (command === "health" ? health(config, log) : serve(config, log));
}

main(process.argv.slice(2)).catch(error => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
});
