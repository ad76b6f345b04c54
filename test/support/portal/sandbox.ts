import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Scope, tempFolder } from "../cleanup.js";
import { type AnyResponse, collectUntil, sseEvents } from "../live/sse.js";
import { runShell, type Script, type ScriptedModel, startScriptedModel } from "../model/scriptedModel.js";
import { type Portal, type PortalOptions, startPortal } from "./portal.js";

export const portalToken = "token-of-the-sandbox-tests";
/** A command that prints this has read a hidden file. */
export const canary = "canary-that-no-sandbox-shows";

export interface SandboxedPortal {
  portal: Portal;
  model: ScriptedModel;
  /** The user's home folder, with files that must stay hidden. */
  home: string;
  /** A git repository in it. */
  folder: string;
  call<T = AnyResponse>(path: string, body?: string): Promise<T>;
  start(query?: string, folder?: string, modelId?: string): Promise<string>;
  /** The agent of the session runs a command; resolves with its output. */
  shell(sessionId: string, command: string, unseenTurns?: number): Promise<string>;
  /** All responses of the session's next turn. */
  ask(sessionId: string, prompt: string, unseenTurns?: number): Promise<AnyResponse[]>;
}

/** The model runs the prompt as a command, unchanged. */
const obedient: Script = ({ userText, round }) =>
  round === 0 ? [runShell(userText)] : [{ text: "The command has ended." }];

/** A portal with `--sandbox`, and with a token unless `args` are given. */
export async function sandboxedPortal(t: Scope, options: PortalOptions = {}): Promise<SandboxedPortal> {
  const home = await tempFolder(t, "sandbox-home");
  const folder = join(home, "projects", "mine");
  await plant(home);
  await repository(folder);
  const model = await startScriptedModel(t, obedient);
  const portal = await startPortal(t, {
    model,
    args: options.args ?? ["--sandbox", "--auth"],
    ...(options.dataDir !== undefined && { dataDir: options.dataDir }),
    env: { HOME: home, PORTAL_TOKEN: portalToken, ...options.env },
  });
  /** The number of commands that a session has run. */
  const asked = new Map<string, number>();
  const headers = { authorization: `Bearer ${portalToken}` };
  const address = () => `${new URL(portal.url).origin}/api`;
  const call = async <T = AnyResponse>(path: string, body?: string) => {
    const init = body === undefined ? { headers } : { headers, method: "POST", body };
    return (await (await fetch(`${address()}/${path}`, init)).json()) as T;
  };
  const ask = async (sessionId: string, prompt: string, unseenTurns = 0) => {
    const path = `copilot/session/${sessionId}`;
    await call(`${path}/query`, prompt);
    const turns = (asked.get(sessionId) ?? 0) + unseenTurns + 1;
    asked.set(sessionId, turns);
    let ended = 0;
    const events = sseEvents(`${address()}/${path}/events`, { headers });
    const all = await collectUntil(events, ({ data }) => data.callback === "onIdle" && ++ended === turns);
    const responses = all.map(({ data }) => data);
    return responses.slice(responses.findLastIndex(({ callback }) => callback === "onUserRequest") + 1);
  };
  return {
    portal,
    model,
    home,
    folder,
    call,
    async start(query = "", where = folder, modelId = model.modelId) {
      const started = await call(`copilot/session/start/${modelId}${query}`, where);
      assert.equal(typeof started.sessionId, "string", JSON.stringify(started));
      return String(started.sessionId);
    },
    ask,
    async shell(sessionId, command, unseenTurns) {
      const turn = await ask(sessionId, command, unseenTurns);
      const ends = turn.filter(({ callback }) => callback === "onEndToolExecution");
      assert.ok(ends.length > 0, JSON.stringify(turn));
      return ends.map(({ result, error }) => textOf(result ?? error)).join("\n");
    },
  };
}

function textOf(result: unknown): string {
  const { content } = Object(result) as { content?: unknown };
  return String(content ?? result);
}

/** The user's files outside the working directory. */
async function plant(home: string): Promise<void> {
  for (const file of [".ssh/id_canary", ".aws/credentials", "projects/other/notes.txt", ".bash_history"]) {
    await mkdir(join(home, file, ".."), { recursive: true });
    await writeFile(join(home, file), canary);
  }
  await writeFile(
    join(home, ".gitconfig"),
    `[user]\n\tname = Ada\n\temail = ada@example.com\n[x]\n\ty = ${canary}\n`,
  );
}

export async function repository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "readme.md"), "Hello\n");
  git(folder, "init", "-q");
  git(folder, "add", ".");
  git(folder, "-c", "user.name=Test", "-c", "user.email=t@example.com", "commit", "-qm", "first");
}

export function git(folder: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8" });
}
