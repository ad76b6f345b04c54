import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before } from "node:test";
import { packageRoot } from "../../../src/base/paths.js";
import { groupScope, type Scope, tempFolder, tempFolderNow } from "../cleanup.js";
import { type Portal, type PortalOptions, startPortal } from "../portal/portal.js";
import { deleteSessions, type RestSession, sessionById } from "../portal/restSession.js";
import { shared } from "../sharing.js";
import type { FakeBehaviour, Step } from "./fakeAgentSteps.js";

export const fakeAgentProgram = join(packageRoot, "dist", "test", "support", "acp", "fakeAgent.js");

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

interface Folders {
  folder: string;
  workingDirectory: string;
}

const memoryIn = (folder: string) => join(folder, "memory");
const configFileIn = (folder: string) => join(folder, "portal.config.json");
const configureIn = (folder: string) => (acpAgents: unknown) =>
  writeFile(configFileIn(folder), JSON.stringify({ acpAgents }));

function agentsOf({ behaviour, settings, remembers, acpAgents }: AgentOptions, memory: string) {
  return acpAgents ?? { fake: fakeAgent(behaviour, settings, remembers ? memory : undefined) };
}

function startWith(t: Scope, folder: string, options: PortalOptions = {}): Promise<Portal> {
  const args = ["--test", "--config", configFileIn(folder), ...(options.args ?? [])];
  return startPortal(t, { ...options, args });
}

/** `started` is the portal, and `starting` when it has not started yet. */
function agentPortal(
  { started, starting }: { started(): Portal; starting(): Promise<Portal> },
  { folder, workingDirectory }: Folders,
): PortalWithAgent {
  async function tryStart(modelId = "acp:fake", query = "") {
    const path = `copilot/session/start/${encodeURIComponent(modelId)}${query}`;
    return (await (await starting()).api(path, { body: workingDirectory })).body;
  }
  return {
    get portal() {
      return started();
    },
    workingDirectory,
    configFile: configFileIn(folder),
    memory: memoryIn(folder),
    tryStart,
    async start(modelId, query) {
      const body = await tryStart(modelId, query);
      assert.equal(typeof body.sessionId, "string", `no session: ${JSON.stringify(body)}`);
      return sessionById(started(), String(body.sessionId));
    },
    async post<T>(path: string, body?: unknown) {
      const init = { body: body === undefined ? "" : JSON.stringify(body) };
      return (await (await starting()).api<T>(path, init)).body;
    },
    configure: configureIn(folder),
  };
}

/** A portal that has the fake agent, and a folder to work in. */
export async function portalWithAgent(t: Scope, options: AgentOptions = {}): Promise<PortalWithAgent> {
  const folder = await tempFolder(t, "portal-acp");
  await configureIn(folder)(agentsOf(options, memoryIn(folder)));
  const portal = await startWith(t, folder, options.portal);
  const workingDirectory = await tempFolder(t, "portal-work");
  return agentPortal({ started: () => portal, starting: async () => portal }, { folder, workingDirectory });
}

/** Ends what an earlier file left running: a process keeps its settings until it stops. */
async function renew(portal: Portal, agentIds: readonly string[]): Promise<void> {
  await deleteSessions(portal);
  await portal.api("acp/reload", { body: "" });
  for (const id of agentIds) await portal.api(`acp/agent/${encodeURIComponent(id)}/restart`, { body: "" });
}

/**
 * One portal for all files of the process that ask for the same options, and start no other. Each file has its own
 * agents, because one runs after the other. Call it at the top of the file; `portal` is there in its tests.
 */
export function sharedAgent(options: AgentOptions = {}): PortalWithAgent {
  const one = shared(`agents ${JSON.stringify(options.portal)}`, scope => {
    const folder = tempFolderNow(scope, "portal-acp");
    let portal: Promise<Portal> | undefined;
    return {
      folder,
      async use(acpAgents: object): Promise<Portal> {
        await configureIn(folder)(acpAgents);
        portal ??= startWith(scope, folder, options.portal);
        await renew(await portal, Object.keys(acpAgents));
        return portal;
      },
    };
  });
  const workingDirectory = tempFolderNow(groupScope(), "portal-work");
  let started: Portal;
  let starting: Promise<Portal>;
  before(async () => {
    starting = one.use(agentsOf(options, memoryIn(one.folder)));
    started = await starting;
  });
  // Other hooks of the file may run before this one has ended.
  return agentPortal(
    { started: () => started, starting: () => starting },
    { folder: one.folder, workingDirectory },
  );
}

/** A prompt that the fake agent carries out. */
export const steps = (...list: Step[]): string => JSON.stringify(list);
