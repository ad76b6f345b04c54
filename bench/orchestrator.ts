import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import express from "express";
import { evaluate } from "../src/orchestrator/prompt/evaluator.js";
import { defer } from "../test/support/cleanup.js";
import { callTool, connectClient, startModule } from "../test/support/orchestrator/orchestrator.js";
import { agentText } from "../test/support/orchestrator/orchestratorRepo.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { median, repeat, timed } from "./support/turns.js";

const names = ["localhost", "127.0.0.1"];
const sentence =
  "Review the login flow in src/auth/session.ts for security, fix something and write unit tests. ";
const textOf = (chars: number) => sentence.repeat(Math.ceil(chars / sentence.length)).slice(0, chars);

/** The promise applies to the worst of these. */
const prompts: Record<string, string> = {
  sentences: textOf(32_000),
  "one letter": "a".repeat(32_000),
  "short words": "fix it ".repeat(4571),
};

async function evaluateRows(t: TestContext): Promise<Row[]> {
  const { module } = await startModule(t);
  const client = await connectClient(t, module);
  const worst: number[] = [];
  for (const prompt of Object.values(prompts))
    worst.push(median(await repeat(5, () => timed(() => callTool(client, "evaluate_prompt", { prompt })))));
  const cost = (chars: number) => () => timed(async () => evaluate(textOf(chars)));
  return [
    absoluteRow("evaluate_prompt, 32,000 characters, the worst of three", Math.max(...worst), "ms", {
      atMost: 300,
    }),
    ...(await compare({
      rounds: 20,
      warmUp: true,
      unit: "ms",
      reference: { name: "evaluating a prompt of 8,000 characters", take: cost(8_000) },
      subjects: { "evaluating one four times as long": { take: cost(32_000), goal: { atMost: 5 } } },
    })),
  ];
}

async function listRow(t: TestContext): Promise<Row> {
  const file = (i: number): [string, string] => [
    `agent-${i}.md`,
    agentText(`name: agent-${i}\ndescription: Agent number ${i}\nkeywords: [skill-${i}, review]`),
  ];
  const { module } = await startModule(t, {
    files: Object.fromEntries(Array.from({ length: 500 }, (_, i) => file(i))),
  });
  const client = await connectClient(t, module);
  await callTool(client, "list_agents");
  const times = await repeat(3, async () => {
    // More than a second later the folder is read again, so that the read is measured too.
    await new Promise(resolve => setTimeout(resolve, 1100));
    return timed(() => callTool(client, "list_agents"));
  });
  return absoluteRow("list_agents with 500 files, the folder looked at again", times, "ms", { atMost: 50 });
}

async function connect(url: URL) {
  const client = new Client({ name: "bench", version: "1" });
  const transport = new StreamableHTTPClientTransport(url);
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  return { client, transport };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Two rounds: the growth in the second is what calls leave behind. */
async function manyCallsRows(t: TestContext): Promise<Row[]> {
  const { module } = await startModule(t, { env: { CACHE_SIZE: "10" } });
  const app = express();
  app.use("/mcp", module.httpRouter({ allowedHosts: names, allowedOrigins: names, token: undefined }).router);
  const server = createServer(app);
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  defer(t, () => server.close().closeAllConnections());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  let errors = 0;
  const round = async (number: number) => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => connect(url)));
    await Promise.all(
      clients.map(async ({ client }, c) => {
        for (let i = 0; i < 5; i++) {
          const prompt = `Round ${number} client ${c} call ${i}`;
          const answers = await Promise.all([
            callTool(client, "run_agent", { agentName: "test-generator", prompt }),
            callTool(client, "list_agents"),
            callTool(client, "evaluate_prompt", { prompt }),
            callTool(client, "run_with_orchestrator", { prompt, agentChain: ["code-reviewer"] }),
          ]);
          errors += answers.filter(({ status }) => status !== "success").length;
        }
      }),
    );
    await Promise.all(
      clients.map(async ({ client, transport }) => {
        await transport.terminateSession();
        await client.close();
      }),
    );
    collectGarbage();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const tookMs = await timed(() => round(1));
  const before = await round(2);
  for (let i = 3; i < 6; i++) await round(i);
  const after = await round(6);
  return [
    absoluteRow("200 mixed calls from 10 sessions over HTTP: errors", errors, "", { atMost: 0 }),
    absoluteRow("200 mixed calls from 10 sessions over HTTP", tookMs / 1000, "s", { atMost: 30 }),
    absoluteRow("heap after 1,200 calls, times that after 400", after / before, "×", { atMost: 1.5 }),
  ];
}

/** The orchestrator's promises with an invoker that answers at once: everything except the agents. */
export function orchestratorRows(): Promise<Row[]> {
  return inScope(async t => [...(await evaluateRows(t)), await listRow(t), ...(await manyCallsRows(t))]);
}
