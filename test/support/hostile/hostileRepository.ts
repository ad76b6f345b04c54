import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { tempFolder } from "../cleanup.js";
import type { AnyResponse } from "../live/sse.js";
import { callTool, type Script } from "../model/scriptedModel.js";
import type { Portal } from "../portal/portal.js";
import { sessionById } from "../portal/restSession.js";

/** A folder with foreign content, and another folder in which everything that ran leaves a file. */
export interface HostileRepository {
  root: string;
  /** The session's working directory: the root or a folder below it. */
  folder: string;
  /** The names of everything that ran so far. */
  ran(): Promise<string[]>;
  /** A command that leaves a file of this name. */
  trace(name: string): string;
  write(path: string, content: string): Promise<void>;
  link(path: string, target: string): Promise<void>;
  git(...args: string[]): void;
}

/** Something in a repository that an agent would run. */
export interface HostileFile {
  what: string;
  why: string;
  /** Where the session works, below the root. */
  below?: string;
  /** Fills the repository; anything that runs leaves the file `ran`. */
  fill(repo: HostileRepository): Promise<void>;
  /** The file that the notice names, relative to the session's folder. */
  file: string;
}

export async function hostileRepository(t: TestContext, below = ""): Promise<HostileRepository> {
  const base = await tempFolder(t, "hostile");
  const root = join(base, "repo");
  const traces = join(base, "ran");
  const folder = join(root, below);
  await mkdir(folder, { recursive: true });
  await mkdir(traces);
  await writeFile(join(folder, "file.ts"), "export const a = 1;\n");
  const at = async (path: string) => {
    const place = join(root, path);
    await mkdir(dirname(place), { recursive: true });
    return place;
  };
  return {
    root,
    folder,
    ran: async () => (await readdir(traces)).sort(),
    trace: name => `touch '${join(traces, name)}'`,
    write: async (path, content) => writeFile(await at(path), content),
    link: async (path, target) => symlink(target, await at(path)),
    git: (...args) => void execFileSync("git", ["-C", root, ...args], { stdio: "ignore" }),
  };
}

export const hook = (event: string, command: string): string =>
  JSON.stringify({ version: 1, hooks: { [event]: [{ type: "command", bash: command }] } });

/** The format of Claude Code, which the Copilot runtime reads too. */
export const claudeHook = (event: string, command: string): string =>
  JSON.stringify({ hooks: { [event]: [{ hooks: [{ type: "command", command }] }] } });

export const server = (key: string, command: string): string =>
  JSON.stringify({
    [key]: {
      evil: {
        type: "local",
        command: "sh",
        args: ["-c", command],
        tools: ["*"],
        fileExtensions: { ".ts": "typescript" },
      },
    },
  });

/** A model that uses, directly and through a sub-agent, every tool that needs no permission. */
export const curiousModel: Script = request => {
  const lookUp = callTool("lsp", { operation: "documentSymbol", file: "file.ts" });
  if (request.round > 0) return [{ text: "done" }];
  if (request.userText.includes("as a sub-agent")) return [lookUp];
  const delegate = callTool("task", {
    name: "helper",
    prompt: "Look as a sub-agent",
    agent_type: "general-purpose",
    description: "Looks",
  });
  return [lookUp, delegate];
};

export interface StartupFile {
  file: string;
  sha256: string;
  runs: { when: string; command: string }[];
  decision: string;
}

export async function startupOf(portal: Portal, folder: string): Promise<StartupFile[]> {
  const path = `copilot/folder?path=${encodeURIComponent(folder)}`;
  return (await portal.api<{ startup: StartupFile[] }>(path)).body.startup;
}

/** Adds a rule for each file of the folder that a rule can name. */
export async function allow(
  portal: Portal,
  folder: string,
  effect: "allow" | "reject" = "allow",
): Promise<void> {
  for (const { file, sha256 } of await startupOf(portal, folder)) {
    if (sha256 === "") continue;
    const body = JSON.stringify({ folder, rule: `${effect} startup '${file}' ${sha256}` });
    const { status } = await portal.api("copilot/permission/rules/add", { body });
    assert.equal(status, 200, file);
  }
}

export async function startIn(portal: Portal, folder: string, policy: string) {
  const path = `copilot/session/start/plain-model?permissions=${policy}`;
  const { body } = await portal.api<{ sessionId?: string }>(path, { body: folder });
  assert.ok(body.sessionId, JSON.stringify(body));
  return sessionById(portal, body.sessionId);
}

/** One request in a new session, from its first event to its last. */
export async function turnIn(portal: Portal, folder: string, policy: string): Promise<AnyResponse[]> {
  const session = await startIn(portal, folder, policy);
  await session.query("Look around");
  return session.untilIdle();
}

export const notices = (responses: readonly AnyResponse[]) =>
  responses.filter(({ callback, title }) => callback === "onNotice" && /want to run/.test(String(title)));

/** Changes the file without changing its meaning. */
export async function rewrite(repo: HostileRepository, file: string): Promise<void> {
  const path = join(repo.folder, file);
  await writeFile(path, `${await readFile(path, "utf8")}\n`);
}

/** Checks that nothing ran. */
export async function forget(repo: HostileRepository): Promise<void> {
  for (const name of await repo.ran()) await rm(join(repo.root, "..", "ran", name));
}
