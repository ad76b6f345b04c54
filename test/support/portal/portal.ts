import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { portalProgram } from "../../../src/base/paths.js";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import type { ScriptedModel } from "../model/scriptedModel.js";
import { processesWith } from "../processes.js";
import { databaseOf, knownDatabaseOf } from "../store/suiteDatabase.js";

export interface PortalOptions {
  args?: readonly string[];
  /** Instead of the portal of this build. */
  program?: string | undefined;
  /** A command on the store instead of a portal. */
  command?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** A new folder when absent. One that the test has prepared has an embedded store. */
  dataDir?: string;
  /** For what only an embedded store does; otherwise the portal is on the server of the run, if there is one. */
  store?: "embedded";
  /** The portal's only provider. */
  model?: Pick<ScriptedModel, "baseUrl" | "apiKey">;
  /** Runs in its own process group, as in a terminal: `pressCtrlC` reaches all of it. */
  ownGroup?: boolean;
}

export interface PortalExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Portal {
  readonly url: string;
  readonly stopUrl: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly copilotHome: string;
  /** The output so far of the current portal process. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when the current portal process has written this to stderr; never if it ends before. */
  said(text: string): Promise<void>;
  /** Resolves when the current portal process has ended. */
  readonly exited: Promise<PortalExit>;
  /** Calls `/api/PATH`; with a body it is a POST. */
  api<T = Record<string, unknown>>(path: string, init?: RequestInit): Promise<{ status: number; body: T }>;
  kill(signal?: NodeJS.Signals): Promise<PortalExit>;
  /** For a portal with its own process group. */
  pressCtrlC(): Promise<PortalExit>;
  /** Stops it gracefully through `api/stop`. */
  stop(): Promise<PortalExit>;
  /** Starts it again on the same data folder, after ending it if it still runs. */
  restart(changes?: Pick<PortalOptions, "args" | "env">): Promise<void>;
  /** The running processes of the portal, including all descendants. */
  processes(): Promise<number[]>;
}

interface Running {
  child: ChildProcessByStdio<null, Readable, Readable>;
  url: string;
  stopUrl: string;
  output: { stdout: string; stderr: string };
  exited: Promise<PortalExit>;
}

/** Only a portal that hangs takes this long, even on a busy machine. */
const startTimeoutMs = 90_000;

/** Starts the built portal as a user does; it and all its child processes end with the test. */
export async function startPortal(t: Scope, options: PortalOptions = {}): Promise<Portal> {
  const folders = await prepareFolders(t, options.dataDir);
  const databaseUrl = await databaseFor(t, options, folders.dataDir);
  const start = (changed: PortalOptions) => launch(changed, { ...folders, databaseUrl });
  let running = await start(options);
  defer(t, () => end(running));
  return {
    ...folders,
    get url() {
      return running.url;
    },
    get stopUrl() {
      return running.stopUrl;
    },
    get pid() {
      return running.child.pid ?? 0;
    },
    get stdout() {
      return running.output.stdout;
    },
    get stderr() {
      return running.output.stderr;
    },
    async said(text) {
      const { child, output } = running;
      while (!output.stderr.includes(text)) await once(child.stderr, "data");
    },
    get exited() {
      return running.exited;
    },
    async api<T>(path: string, init: RequestInit = {}) {
      const method = init.body === undefined ? "GET" : "POST";
      const response = await fetch(`${running.url}/api/${path}`, { method, ...init });
      const text = await response.text();
      if (!response.headers.get("content-type")?.startsWith("application/json")) {
        throw new Error(`/api/${path} answered ${response.status} without JSON: ${text}`);
      }
      return { status: response.status, body: JSON.parse(text) as T };
    },
    kill(signal = "SIGKILL") {
      running.child.kill(signal);
      return running.exited;
    },
    pressCtrlC() {
      process.kill(-(running.child.pid ?? 0), "SIGINT");
      return running.exited;
    },
    async stop() {
      await fetch(running.stopUrl);
      return running.exited;
    },
    async restart(changes = {}) {
      await end(running);
      running = await start({ ...options, ...changes });
    },
    processes: () => processesWith("COPILOT_HOME", folders.copilotHome),
  };
}

/** For a start that fails, or prints something and ends. */
export async function runPortal(t: Scope, options: PortalOptions = {}): Promise<PortalExit> {
  const folders = await prepareFolders(t, options.dataDir);
  const { child, exited } = spawnPortal(options, folders);
  defer(t, () => {
    child.kill("SIGKILL");
    return exited;
  });
  return exited;
}

async function prepareFolders(t: Scope, dataDir: string | undefined) {
  const copilotHome = await tempFolder(t, "portal-copilot");
  // Registered after the folder and therefore run before it is removed.
  defer(t, () => endLeftovers(copilotHome));
  return { copilotHome, dataDir: dataDir ?? (await tempFolder(t, "portal-data")) };
}

function databaseFor(t: Scope, { store, env, dataDir }: PortalOptions, folder: string) {
  if (store === "embedded" || env?.PORTAL_DATABASE_URL !== undefined) return undefined;
  return dataDir === undefined ? databaseOf(t, folder) : knownDatabaseOf(folder);
}

interface Places {
  copilotHome: string;
  dataDir: string;
  databaseUrl?: string | undefined;
}

function spawnPortal(options: PortalOptions, { dataDir, copilotHome, databaseUrl }: Places) {
  const serving = ["--port", "0", "--data-dir", dataDir, ...(options.args ?? [])];
  const args = [options.program ?? portalProgram, ...(options.command ?? serving)];
  const child = spawn(process.execPath, args, {
    env: environment(options, copilotHome, databaseUrl),
    stdio: ["ignore", "pipe", "pipe"],
    detached: options.ownGroup === true,
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", text => {
    output.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", text => {
    output.stderr += text;
  });
  const exited: Promise<PortalExit> = once(child, "close").then(([code, signal]) => ({
    code,
    signal,
    ...output,
  }));
  return { child, output, exited };
}

/** Leaves out the developer's own settings of models and sign-in. */
function environment(
  options: PortalOptions,
  copilotHome: string,
  databaseUrl: string | undefined,
): NodeJS.ProcessEnv {
  const foreign = /^(COPILOT_|PORTAL_|GH_|GITHUB_|NODE_TEST_CONTEXT$|TEST_DATABASE_URL$)/;
  const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(inherited),
    COPILOT_HOME: copilotHome,
    GH_CONFIG_DIR: join(copilotHome, "gh"),
    ...(databaseUrl !== undefined && { PORTAL_DATABASE_URL: databaseUrl }),
    ...(options.model && {
      COPILOT_PROVIDER_BASE_URL: options.model.baseUrl,
      COPILOT_PROVIDER_API_KEY: options.model.apiKey,
      COPILOT_PROVIDER_TYPE: "openai",
    }),
    ...options.env,
  };
}

async function launch(options: PortalOptions, folders: Places): Promise<Running> {
  const { child, output, exited } = spawnPortal(options, folders);
  const timeout = setTimeout(() => child.kill("SIGKILL"), startTimeoutMs);
  await new Promise<void>(resolve => {
    child.stdout.on("data", () => {
      if (output.stdout.split("\n").length > 2) resolve();
    });
    exited.then(() => resolve());
  });
  clearTimeout(timeout);
  const [url, stopUrl, rest] = output.stdout.split("\n");
  if (url === undefined || stopUrl === undefined || rest === undefined) {
    const { code, signal } = await exited;
    throw new Error(`The portal did not start (exit ${code ?? signal}).\n${output.stdout}\n${output.stderr}`);
  }
  return { child, url, stopUrl, output, exited };
}

async function end({ child, exited }: Running): Promise<void> {
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await exited;
  clearTimeout(force);
}

/** An agent's command outlives a killed portal; the next portal would end it, but there is none. */
async function endLeftovers(copilotHome: string): Promise<void> {
  for (const pid of await processesWith("COPILOT_HOME", copilotHome)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
}
