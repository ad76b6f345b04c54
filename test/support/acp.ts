import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { packageRoot } from "../../src/base/paths.js";
import { type Scope, tempFolder } from "./cleanup.js";
import type { FakeBehaviour, Step } from "./fakeAgentSteps.js";
import { type Portal, type PortalOptions, startPortal } from "./portal.js";
import { type RestSession, sessionById } from "./restSession.js";

export const fakeAgentProgram = join(packageRoot, "dist", "test", "support", "fakeAgent.js");

export interface PortalWithAgent {
  portal: Portal;
  workingDirectory: string;
  configFile: string;
  /** Where the fake agent keeps its conversations, if it remembers them. */
  memory: string;
  /** `POST copilot/session/start/…`; returns the answer, even a refusal. */
  tryStart(modelId?: string, query?: string): Promise<Record<string, unknown>>;
  start(modelId?: string, query?: string): Promise<RestSession>;
  /** A POST with a JSON body. */
  post<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>;
  /** Changes the file; the portal reads it again on request. */
  configure(acpAgents: unknown): Promise<void>;
}

export interface AgentOptions {
  behaviour?: FakeBehaviour;
  /** More settings of the agent `fake`. */
  settings?: Record<string, unknown>;
  /** Replaces the single agent. */
  acpAgents?: Record<string, unknown>;
  /** Whether conversations survive the agent's process. */
  remembers?: boolean;
  portal?: PortalOptions;
}

/** The settings of a fake agent. */
export function fakeAgent(
  behaviour: FakeBehaviour = {},
  settings: Record<string, unknown> = {},
  memory?: string,
) {
  const { env, ...rest } = settings;
  return {
    command: process.execPath,
    args: [fakeAgentProgram],
    env: {
      FAKE_AGENT: JSON.stringify(behaviour),
      ...(memory !== undefined && { FAKE_AGENT_MEMORY: memory }),
      ...(env as object | undefined),
    },
    ...rest,
  };
}

/** An agent that can never start a session, because its user is not signed in. */
export function signedOutAgent() {
  const refuse = { "session/new": { code: -32000, message: "Authentication required" } };
  return fakeAgent({ refuse }, { loginHint: "Log in." });
}

/** A portal that has the fake agent, and a folder to work in. */
export async function portalWithAgent(t: Scope, options: AgentOptions = {}): Promise<PortalWithAgent> {
  const folder = await tempFolder(t, "portal-acp");
  const memory = join(folder, "memory");
  const workingDirectory = await tempFolder(t, "portal-work");
  const configFile = join(folder, "portal.config.json");
  const configure = (acpAgents: unknown) => writeFile(configFile, JSON.stringify({ acpAgents }));
  const { behaviour, settings, remembers, acpAgents } = options;
  await configure(acpAgents ?? { fake: fakeAgent(behaviour, settings, remembers ? memory : undefined) });
  const portal = await startPortal(t, {
    ...options.portal,
    args: ["--test", "--config", configFile, ...(options.portal?.args ?? [])],
  });
  async function tryStart(modelId = "acp:fake", query = "") {
    const path = `copilot/session/start/${encodeURIComponent(modelId)}${query}`;
    return (await portal.api(path, { body: workingDirectory })).body;
  }
  return {
    portal,
    workingDirectory,
    configFile,
    memory,
    tryStart,
    async start(modelId, query) {
      const body = await tryStart(modelId, query);
      assert.equal(typeof body.sessionId, "string", `no session: ${JSON.stringify(body)}`);
      return sessionById(portal, String(body.sessionId));
    },
    async post<T>(path: string, body?: unknown) {
      return (await portal.api<T>(path, { body: body === undefined ? "" : JSON.stringify(body) })).body;
    },
    configure,
  };
}

/** One portal for all tests of a file, which leave it running. */
export const sharedAgent = (options: AgentOptions = {}) => portalWithAgent({ after }, options);

/** A prompt that the fake agent carries out. */
export const steps = (...list: Step[]): string => JSON.stringify(list);
