// Forked: sessions on the bare SDK, in a process of their own as the portal is one, so that its processor time counts.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { CopilotSession } from "@github/copilot-sdk";
import { defer, type Scope, tempFolder } from "../../test/support/cleanup.js";
import type { ScriptedModel } from "../../test/support/model/scriptedModel.js";
import { runTurn, startBareSession, startRuntime } from "../../test/support/portal/runtime.js";
import { inScope } from "./scope.js";
import { timed } from "./turns.js";

/** What one turn of all sessions at once took. */
export interface Taken {
  wallMs: number;
  cpuMs: number;
}

type Provider = Pick<ScriptedModel, "baseUrl" | "apiKey">;

interface Order {
  prompt: string;
}

async function answered(child: ChildProcess): Promise<unknown> {
  const [message] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => {
      throw new Error(`The bare client ended with ${code}`);
    }),
  ]);
  return message;
}

/** Starts this many sessions; each call of the result sends the prompt to all of them and waits until all are idle. */
export async function startBareClient(
  scope: Scope,
  { baseUrl, apiKey }: Provider,
  sessions: number,
): Promise<(prompt: string) => Promise<Taken>> {
  const child = fork(fileURLToPath(import.meta.url), [baseUrl, apiKey, String(sessions)]);
  defer(scope, async () => {
    const gone = once(child, "exit");
    child.disconnect();
    await gone;
  });
  await answered(child);
  return async prompt => {
    child.send({ prompt } satisfies Order);
    return (await answered(child)) as Taken;
  };
}

async function serve(provider: Provider, count: number): Promise<void> {
  await inScope(async scope => {
    const client = await startRuntime(scope);
    const workingDirectory = await tempFolder(scope);
    const sessions: CopilotSession[] = [];
    for (let i = 0; i < count; i++)
      sessions.push(await startBareSession(client, provider, { workingDirectory }));
    process.on("message", async ({ prompt }: Order) => {
      const before = process.cpuUsage();
      const wallMs = await timed(() => Promise.all(sessions.map(session => runTurn(session, prompt))));
      const { user, system } = process.cpuUsage(before);
      process.send?.({ wallMs, cpuMs: (user + system) / 1000 } satisfies Taken);
    });
    process.send?.("ready");
    await once(process, "disconnect");
  });
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  const [baseUrl = "", apiKey = "", count = "1"] = process.argv.slice(2);
  await serve({ baseUrl, apiKey }, Number(count));
  process.exit();
}
