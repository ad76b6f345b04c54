import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { pino } from "pino";
import type { Agent } from "../../../src/orchestrator/agents/agentFile.js";
import { createOrchestrator, type OrchestratorModule } from "../../../src/orchestrator/createOrchestrator.js";
import { readOrchestratorConfig } from "../../../src/orchestrator/orchestratorConfig.js";
import { abortError, OrchestratorError } from "../../../src/orchestrator/orchestratorError.js";
import type { Clock, Invocation, InvokeOptions, Invoker } from "../../../src/orchestrator/run/agentRunner.js";
import { defer, type Scope } from "../cleanup.js";
import { agentRepo, referenceFiles } from "./orchestratorRepo.js";

/** Replaces the Copilot runtime in tests of the layers above it. */
export class FakeInvoker implements Invoker {
  readonly calls: { agent: string; prompt: string }[] = [];
  /** The largest number of agents that ran at once. */
  mostAtOnce = 0;
  available = true;
  signedIn = true;
  reply: (agent: Agent, prompt: string, options: InvokeOptions) => Promise<Invocation> | Invocation =
    agent => ({
      text: `${agent.name} says hello`,
    });
  #running = 0;

  async invokeAgent(agent: Agent, prompt: string, options: InvokeOptions): Promise<Invocation> {
    this.calls.push({ agent: agent.name, prompt });
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    try {
      return await this.reply(agent, prompt, options);
    } finally {
      this.#running--;
    }
  }

  async isAvailable(): Promise<boolean> {
    return this.available;
  }

  async checkAuth(): Promise<void> {
    if (!this.signedIn) throw OrchestratorError.notAvailable("Nobody is signed in.", "Run `copilot login`.");
  }
}

/** An agent that never ends by itself. */
export function untilAborted({ signal }: InvokeOptions): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(abortError()), { once: true }),
  );
}

/** A clock that only the test moves, except for the time of day. */
export class TestClock implements Clock {
  #ms = 0;
  now = () => new Date();
  monotonicMs = () => this.#ms;
  advance(ms: number): void {
    this.#ms += ms;
  }
}

export interface ModuleOptions {
  files?: Record<string, string>;
  repoRoot?: string;
  env?: Record<string, string>;
  clock?: Clock;
  moreTools?: Parameters<typeof createOrchestrator>[0]["moreTools"];
}

export async function startModule(t: TestContext, options: ModuleOptions = {}) {
  const repoRoot = options.repoRoot ?? (await agentRepo(t, options.files ?? referenceFiles()));
  const invoker = new FakeInvoker();
  const { clock, moreTools } = options;
  const module = createOrchestrator({
    config: readOrchestratorConfig({ REPO_ROOT: repoRoot, ...options.env }),
    log: pino({ level: "silent" }),
    invoker,
    ...(clock && { clock }),
    ...(moreTools && { moreTools }),
  });
  defer(t, () => module.close());
  return { module, invoker, repoRoot };
}

/** A standard client, which checks every answer against the advertised schema. */
export async function connectClient(t: Scope, module: OrchestratorModule): Promise<Client> {
  const [mine, theirs] = InMemoryTransport.createLinkedPair();
  await module.createMcpServer().connect(theirs);
  const client = newClient();
  await client.connect(mine);
  // Without the list a client has no schema to check against.
  await client.listTools();
  defer(t, () => client.close());
  return client;
}

export function newClient(): Client {
  return new Client({ name: "tests", version: "1.0.0" });
}

/** A client at the portal's own address. */
export async function connectPortal(t: Scope, portal: { readonly url: string }): Promise<Client> {
  const client = newClient();
  const transport = new StreamableHTTPClientTransport(new URL(`${portal.url}/mcp`));
  defer(t, () => client.close());
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  await client.listTools();
  return client;
}

export async function assertFourTools(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const names = ["run_with_orchestrator", "list_agents", "run_agent", "evaluate_prompt"];
  assert.deepEqual(
    tools.map(tool => tool.name),
    names,
  );
  for (const tool of tools) {
    assert.ok(tool.description && tool.outputSchema, tool.name);
    assert.equal(tool.inputSchema.additionalProperties, false);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a tool gives back is looked at piece by piece
export type Envelope = Record<string, any>;

/** A client's own limit of a minute says nothing about the server on a machine that does much else. */
const patienceMs = 600_000;

export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  options: Parameters<Client["callTool"]>[2] = {},
): Promise<Envelope> {
  const result = await client.callTool({ name, arguments: args }, undefined, {
    timeout: patienceMs,
    ...options,
  });
  const content = result.content as { type: string; text: string }[];
  const envelope = result.structuredContent as Envelope;
  if (content.length !== 1 || content[0]?.text !== JSON.stringify(envelope))
    throw new Error("text and structure differ");
  if ((result.isError === true) !== (envelope.status === "error"))
    throw new Error("isError and status differ");
  return envelope;
}
