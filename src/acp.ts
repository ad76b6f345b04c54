#!/usr/bin/env node
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { createLog } from "./base/log.js";
import { StartError } from "./base/startError.js";
import { withTimeout } from "./base/withTimeout.js";
import { PortalAgent } from "./editors/agent.js";
import { type AgentOptions, parseAgentOptions } from "./editors/agentOptions.js";
import { boundedInput } from "./editors/boundedInput.js";
import { Portal } from "./editors/portal.js";
import { checkNesting, mayUseAgents } from "./sessions/acp/nesting.js";

/** Together less than the five seconds after which an editor kills its agents. */
const closeTimeoutMs = 2000;
const exitTimeoutMs = 4500;

async function serve(options: AgentOptions): Promise<void> {
  // From here on stdout carries the protocol.
  await import("./orchestrator/mcp/quietConsole.js");
  const { server, token, model, permissions, logLevel } = options;
  checkNesting(process.env);
  const log = createLog(logLevel, token === undefined ? [] : [token]);
  const portal = new Portal({ server, token, env: process.env, log, logLevel });
  const withAgents = mayUseAgents(process.env);
  const portalAgent = new PortalAgent({ portal, log, model, permissions, withAgents });
  // Starts early, so that a portal is ready for the editor's first session; errors are reported there.
  portal.ready().catch(error => log.warn({ error: String(error) }, "no portal yet"));

  const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
  const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
  const connection = portalAgent.connect(ndJsonStream(output, input.pipeThrough(boundedInput())));
  let stopping = false;
  const end = async (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, "stopping");
    setTimeout(() => process.exit(0), exitTimeoutMs).unref();
    await withTimeout(portalAgent.closeAll(), closeTimeoutMs, "sessions stay open").catch(error =>
      log.warn({ error: String(error) }, "stopping"),
    );
    await portal.stop();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void end(signal));
  process.on("uncaughtException", error => log.error({ err: error }, "unexpected failure"));
  process.on("unhandledRejection", error => log.error({ err: error }, "unhandled rejection"));
  process.stdout.on("error", () => void end("stdout is closed"));
  await connection.closed;
  await end("the editor is gone");
}

/** For the editor's "sign in", which runs this program again in a terminal. */
async function login(): Promise<void> {
  const child = spawn("copilot", ["login"], { stdio: "inherit", shell: process.platform === "win32" });
  try {
    const [code] = await once(child, "close");
    process.exitCode = code ?? 1;
  } catch {
    throw new StartError(
      "The Copilot CLI is not installed. Run `npx @github/copilot login` or `gh auth login`, or set GH_TOKEN.",
    );
  }
}

async function main(): Promise<void> {
  const options = parseAgentOptions(process.argv.slice(2), process.env);
  await (options.login ? login() : serve(options));
}

main().catch(error => {
  process.stderr.write(`${error instanceof StartError ? error.message : (error?.stack ?? error)}\n`);
  process.exit(1);
});
