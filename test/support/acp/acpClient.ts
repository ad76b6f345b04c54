import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import type { TestContext } from "node:test";
import {
  type ClientCapabilities,
  type ClientContext,
  client,
  type NewSessionResponse,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { packageRoot } from "../../../src/base/paths.js";
import { defer, tempFolder } from "../cleanup.js";
import { watchProcess } from "../watchedProcess.js";

export const acpProgram = join(packageRoot, "dist", "src", "acp.js");

export interface AcpOptions {
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  capabilities?: ClientCapabilities;
  /** The user at the editor; without one a question fails the test. */
  onPermission?(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> | RequestPermissionResponse;
}

export interface AcpClient {
  readonly agent: ClientContext;
  readonly child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Promise<number | null>;
  /** Every update so far, of all sessions. */
  readonly notifications: readonly SessionNotification[];
  newSession(cwd: string): Promise<NewSessionResponse>;
  prompt(sessionId: string, text: string): Promise<PromptResponse>;
  cancel(sessionId: string): Promise<void>;
  updates(sessionId: string): SessionUpdate[];
  /** The first update, past or future, that `matches`. */
  waitFor(matches: (update: SessionUpdate, sessionId: string) => boolean): Promise<SessionUpdate>;
}

/** Leaves out the developer's own settings of models, sign-in and portals. */
export function acpEnvironment(home: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env;
  return {
    PATH,
    ...(TMPDIR && { TMPDIR }),
    HOME: home,
    XDG_STATE_HOME: join(home, "state"),
    COPILOT_HOME: join(home, "copilot"),
    GH_CONFIG_DIR: join(home, "gh"),
    ...env,
  };
}

/** The built program, and every byte that it writes. */
export async function spawnAcp(t: TestContext, { args = [], env }: Pick<AcpOptions, "args" | "env">) {
  const home = await tempFolder(t, "acp-home");
  const child = spawn(process.execPath, [acpProgram, ...args], {
    env: acpEnvironment(home, env),
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { output, exited } = watchProcess(child);
  defer(t, async () => {
    child.stdin.end();
    const force = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await exited;
    clearTimeout(force);
  });
  return { child, output, exited, home };
}

/** An editor, made with the official SDK, that has started the program and shaken hands with it. */
export async function startAcp(t: TestContext, options: AcpOptions = {}): Promise<AcpClient> {
  const { child, output, exited } = await spawnAcp(t, options);
  const notifications: SessionNotification[] = [];
  const waiting = new Set<() => void>();
  const app = client({ name: "editor" })
    .onNotification("session/update", ({ params }) => {
      notifications.push(params);
      for (const look of waiting) look();
    })
    .onRequest("session/request_permission", ({ params, signal }) => {
      if (options.onPermission) return options.onPermission(params, signal);
      throw new Error(`Nobody expected to be asked: ${JSON.stringify(params)}`);
    });
  // A separate stream, so that the test still sees every byte.
  const bytes = Readable.from(copyOf(child.stdout));
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(bytes) as ReadableStream<Uint8Array>,
    ),
  );
  const { agent } = connection;
  const clientCapabilities = options.capabilities ?? {};
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities });
  return {
    agent,
    child,
    exited,
    notifications,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    newSession: cwd => agent.request("session/new", { cwd, mcpServers: [] }),
    prompt: (sessionId, text) =>
      agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    cancel: sessionId => agent.notify("session/cancel", { sessionId }),
    updates: sessionId =>
      notifications.filter(notification => notification.sessionId === sessionId).map(({ update }) => update),
    waitFor: matches =>
      new Promise(resolve => {
        const look = () => {
          const found = notifications.find(({ update, sessionId }) => matches(update, sessionId));
          if (!found) return;
          waiting.delete(look);
          resolve(found.update);
        };
        waiting.add(look);
        look();
      }),
  };
}

async function* copyOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const piece of stream) yield Buffer.from(piece);
}

/** The joined text of the chunks of this kind. */
export function textOf(updates: readonly SessionUpdate[], kind: SessionUpdate["sessionUpdate"]): string {
  return updates
    .map(update =>
      update.sessionUpdate === kind && "content" in update && update.content && "text" in update.content
        ? update.content.text
        : "",
    )
    .join("");
}

export function toolUpdates(updates: readonly SessionUpdate[]) {
  return updates.flatMap(update =>
    update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update" ? [update] : [],
  );
}

/** The message of a protocol error. */
export async function rpcErrorOf(
  promise: Promise<unknown>,
): Promise<{ code: number; message: string; data?: unknown }> {
  try {
    await promise;
  } catch (error) {
    return error as { code: number; message: string; data?: unknown };
  }
  throw new Error("It did not fail");
}
