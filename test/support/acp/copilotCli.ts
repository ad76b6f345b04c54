import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Scope, tempFolder } from "../cleanup.js";
import {
  type Script,
  type ScriptedModel,
  type ScriptedModelForTest,
  startScriptedModel,
} from "../model/scriptedModel.js";
import { type Portal, startPortal } from "../portal/portal.js";
import { sessionById } from "../portal/restSession.js";
import { type Conversation, converse } from "./conversation.js";
import { copilotCache, copilotCommand } from "./testAgents.js";

/** An agent in `portal.config.json`. */
export type AgentSettings = Record<string, unknown> & { env?: Record<string, string> };

export interface AgentPortal {
  portal: Portal;
  model: ScriptedModel;
  workingDirectory: string;
  startSession(agent: string): Promise<Conversation>;
}

export interface AgentPortalOptions {
  agents: Record<string, AgentSettings>;
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** Under a name that Copilot does not know, the model has the tools `create` and `edit`. */
const modelId = "plain-model";

/** An agent does not inherit the key of the portal's provider: one that shares it must say so. */
export const sharedKey = { COPILOT_PROVIDER_API_KEY: `\${env:COPILOT_PROVIDER_API_KEY}` };

/** The variables for every way to run the CLI; the provider is the portal's. */
const copilotEnv = {
  ...sharedKey,
  COPILOT_CACHE_HOME: copilotCache,
  COPILOT_OFFLINE: "true",
  COPILOT_MODEL: modelId,
};

export const copilot: AgentSettings = {
  title: "Copilot (ACP)",
  command: copilotCommand,
  args: ["--acp", "--stdio"],
  env: copilotEnv,
  policy: "ask",
};

export const copilotOverTcp: AgentSettings = {
  ...copilot,
  title: "Copilot over TCP",
  transport: "tcp",
  args: ["--acp", "--port", "{port}"],
  port: 0,
};

/** Kind and name of each answer that it offers for a command. */
export const copilotCardOptions = [
  ["allow_once", "Allow once"],
  ["allow_always", "Always allow"],
  ["reject_once", "Deny"],
];

/** A portal whose only provider is scripted, with these ACP agents. */
export async function portalWithAgents(
  t: TestContext,
  script: ScriptedModelForTest | Script,
  options: AgentPortalOptions,
): Promise<AgentPortal> {
  return workingWith(
    t,
    await startWithAgents(t, typeof script === "function" ? { script } : script, options),
  );
}

export async function startWithAgents(
  t: Scope,
  options: ScriptedModelForTest,
  { agents, args = [], env }: AgentPortalOptions,
) {
  const model = await startScriptedModel(t, { models: [modelId], ...options });
  const config = join(await tempFolder(t, "portal-agent-config"), "portal.config.json");
  await writeFile(config, JSON.stringify({ acpAgents: await atHome(t, agents) }));
  const portal = await startPortal(t, { model, args: ["--config", config, ...args], ...(env && { env }) });
  return { portal, model };
}

/** The portal with a folder for the sessions of a test. */
export async function workingWith(
  t: TestContext,
  { portal, model }: Pick<AgentPortal, "portal" | "model">,
): Promise<AgentPortal> {
  const workingDirectory = await tempFolder(t, "portal-work");
  return {
    portal,
    model,
    workingDirectory,
    async startSession(agent) {
      const path = `copilot/session/start/${encodeURIComponent(`acp:${agent}`)}`;
      const { body } = await portal.api<{ sessionId?: string }>(path, { body: workingDirectory });
      assert.ok(body.sessionId, `no session: ${JSON.stringify(body)}`);
      return converse(t, sessionById(portal, body.sessionId));
    },
  };
}

/** Agents leave files in their home and temporary folders, so they get their own. */
export async function atHome(
  t: Scope,
  agents: Record<string, AgentSettings>,
): Promise<Record<string, AgentSettings>> {
  const home = await tempFolder(t, "portal-agent-home");
  const env = { HOME: home, TMPDIR: home };
  return Object.fromEntries(
    Object.entries(agents).map(([id, agent]) => [id, { ...agent, env: { ...env, ...agent.env } }]),
  );
}

/** The running processes of the portal's ACP agents. */
export async function agentProcesses(portal: Portal): Promise<number[]> {
  const pids = await portal.processes();
  const commands = await Promise.all(
    pids.map(pid => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return pids.filter((_, i) => /\0(--)?acp\0/.test(commands[i] ?? ""));
}
