import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { defer } from "../../test/support/cleanup.js";
import type { Talk } from "./talk.js";

interface Message {
  id?: number | string;
  method?: string;
  params?: { sessionId?: string; update?: Update; options?: { kind: string; optionId: string }[] };
  result?: Record<string, unknown>;
  error?: { message: string };
}

interface Update {
  sessionUpdate: string;
  content?: { text?: string };
}

/** An agent without the portal. */
export interface DirectAgent {
  newSession(cwd: string): Promise<Talk>;
}

/** The minimum of an ACP client: it reads lines, parses JSON and routes messages. It allows everything. */
export async function directAgent(
  scope: TestContext,
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<DirectAgent> {
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "ignore"] });
  defer(scope, async () => {
    child.stdin.end();
    await once(child, "exit");
  });
  const answers = new Map<number | string, (message: Message) => void>();
  const listeners = new Map<string, (update: Update) => void>();
  let lastId = 0;
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  function call(method: string, params: object): Promise<Record<string, unknown>> {
    const id = ++lastId;
    send({ id, method, params });
    return new Promise((resolve, reject) => {
      answers.set(id, ({ result, error }) => (result ? resolve(result) : reject(new Error(error?.message))));
    });
  }

  createInterface({ input: child.stdout }).on("line", line => {
    const { id, method, params, ...rest } = JSON.parse(line) as Message;
    if (method === "session/update" && params?.update) listeners.get(params.sessionId ?? "")?.(params.update);
    else if (method === "session/request_permission") {
      const optionId = params?.options?.find(({ kind }) => kind === "allow_once")?.optionId;
      send({ id, result: { outcome: { outcome: "selected", optionId } } });
    } else if (id !== undefined) answers.get(id)?.(rest);
  });
  await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return {
    async newSession(cwd) {
      const sessionId = String((await call("session/new", { cwd, mcpServers: [] })).sessionId);
      return {
        async turn(prompt, onDelta) {
          listeners.set(sessionId, ({ sessionUpdate, content }) => {
            if (sessionUpdate === "agent_message_chunk") onDelta(content?.text ?? "");
          });
          await call("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] });
        },
      };
    },
  };
}
