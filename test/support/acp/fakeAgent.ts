import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { playBack } from "./fakeAgentPlayback.js";
import type { FakeBehaviour, Step } from "./fakeAgentSteps.js";
import { hostileLines, Strays } from "./fakeAgentStorm.js";

/** An ACP agent that does what a prompt says: a JSON list of steps is performed, any other prompt is echoed. */

type Json = Record<string, unknown>;
/** The parameters of all methods together. */
interface Params {
  sessionId: string;
  cwd: string;
  mcpServers: { type?: string; url: string }[];
  prompt: { text?: string; data?: string; mimeType?: string }[];
  configId: string;
  value: unknown;
  type?: string;
  modeId: string;
}
interface Message {
  id?: unknown;
  method?: string;
  params?: Params;
  result?: Json;
  error?: Json;
}
const behaviour = JSON.parse(process.env.FAKE_AGENT ?? "{}") as FakeBehaviour;
const memory = process.env.FAKE_AGENT_MEMORY;
let write = (text: string | Buffer): void => void process.stdout.write(text);

const send = (message: Json) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId: string, content: Json) =>
  send({ method: "session/update", params: { sessionId, update: content } });
const chunk = (kind: "message" | "thought", text: string, more: Json = {}) => ({
  sessionUpdate: `agent_${kind}_chunk`,
  content: { type: "text", text },
  ...more,
});

interface Session {
  cwd: string;
  prompts: string[];
  mcpServers: Params["mcpServers"];
  cancelled: boolean;
  onCancel: (() => void)[];
}
const sessions = new Map<string, Session>();
const waiting = new Map<unknown, (answer: Json) => void>();
const strays = new Strays();
let lastSession = 0;
let lastRequest = 0;

/** Introduces steps inside other text. */
const marker = "Do this: ";

class Failure extends Error {
  readonly error: Json;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.error = { code, message, ...(data !== undefined && { data }) };
  }
}

const fileOf = (id: string) => join(memory ?? "", `${id}.json`);
function remember(id: string, session: Session): void {
  if (memory === undefined) return;
  mkdirSync(memory, { recursive: true });
  writeFileSync(fileOf(id), JSON.stringify({ cwd: session.cwd, prompts: session.prompts }));
}

function ask(sessionId: string, method: string, params: Json, id: unknown): Promise<Json> {
  const known = id === undefined ? lastRequest++ : id;
  return new Promise(resolve => {
    waiting.set(known, resolve);
    send({ id: known, method, params: { sessionId, ...params } });
  });
}

/** Calls a job tool of the portal as an MCP client does. */
async function callJobTool(session: Session, name: string, argument: string): Promise<void> {
  const url = session.mcpServers.find(server => server.type === "http")?.url ?? "";
  const post = (method: string, params: Json) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  await post("tools/list", {});
  if (name !== "") await post("tools/call", { name, arguments: { argument } });
}

async function useTerminal(
  id: string,
  { terminal, show, calls }: Extract<Step, { terminal: unknown }>,
): Promise<void> {
  const { terminalId } = await ask(id, "terminal/create", terminal, undefined);
  const content = [{ type: "terminal", terminalId }];
  if (show) update(id, { sessionUpdate: "tool_call", toolCallId: show, content });
  for (const method of calls) {
    const answer = await ask(id, method, { terminalId }, undefined);
    if (!show) update(id, chunk("message", JSON.stringify(answer), { messageId: randomUUID() }));
  }
}

/** A step that returns something ends the turn with it. */
async function perform(id: string, session: Session, step: Step): Promise<Json | undefined> {
  if ("message" in step)
    update(id, chunk("message", step.message, step.messageId ? { messageId: step.messageId } : {}));
  if ("thought" in step) update(id, chunk("thought", step.thought));
  if ("update" in step) update(id, step.update);
  if ("storm" in step || "fuzz" in step || "before" in step)
    for (const line of hostileLines(step, id, strays)) write(line);
  if ("strays" in step)
    update(id, chunk("message", JSON.stringify(strays.report()), { messageId: randomUUID() }));
  if ("raw" in step) write(step.raw);
  if ("bytes" in step)
    for (const part of step.bytes) {
      write(Buffer.from(part, "base64"));
      await delay(20);
    }
  if ("flood" in step) for (let i = 0; i < step.flood; i++) write("x".repeat(1024 * 1024));
  if ("arguments" in step) update(id, chunk("message", process.argv.slice(2).join(" ")));
  if ("environment" in step) update(id, chunk("message", String(process.env[step.environment])));
  if ("stderr" in step) process.stderr.write(`${step.stderr}\n`);
  if ("ask" in step) {
    const answering = ask(id, step.ask, step.params ?? {}, step.id);
    if (step.withdraw) send({ method: "$/cancel_request", params: { requestId: step.id } });
    if (!step.forget)
      update(id, chunk("message", JSON.stringify(await answering), { messageId: randomUUID() }));
  }
  if ("terminal" in step) await useTerminal(id, step);
  if ("mcp" in step) update(id, chunk("message", JSON.stringify(session.mcpServers)));
  if ("job" in step) await callJobTool(session, step.job, step.argument ?? "");
  if ("until" in step) await fileIn(session.cwd, step.until);
  if ("cancelled" in step && !session.cancelled)
    await new Promise<void>(resolve => session.onCancel.push(resolve));
  if ("hang" in step) await new Promise(() => {});
  if ("later" in step)
    setTimeout(
      () =>
        update(
          id,
          step.toolCallId
            ? { sessionUpdate: "tool_call", toolCallId: step.toolCallId, title: step.later }
            : chunk("message", step.later),
        ),
      50,
    );
  if ("forgetSession" in step) sessions.delete(id);
  if ("onceThenFile" in step && !existsSync(join(session.cwd, step.onceThenFile))) {
    writeFileSync(join(session.cwd, step.onceThenFile), "");
    process.exit(9);
  }
  if ("exit" in step) process.exit(step.exit);
  if ("kill" in step) process.kill(process.pid, "SIGKILL");
  if ("error" in step) throw new Failure(step.error.code, step.error.message, step.error.data);
  return "stop" in step ? { stopReason: step.stop } : undefined;
}

async function prompt({ sessionId, prompt: blocks }: Params): Promise<Json> {
  const session = sessions.get(sessionId);
  if (!session) throw new Failure(-32602, "Invalid params", { sessionId, message: "Session not found" });
  const text = blocks
    .map(
      ({ text, data = "", mimeType }) => text ?? `<${mimeType}, ${Buffer.from(data, "base64").length} bytes>`,
    )
    .join("");
  session.prompts.push(text);
  session.cancelled = false;
  session.onCancel = [];
  remember(sessionId, session);
  const marked = text.lastIndexOf(marker);
  const script = marked >= 0 ? text.slice(marked + marker.length) : text.slice(text.indexOf("["));
  const steps: Step[] = text.endsWith("]") ? JSON.parse(script) : [];
  if (steps.length === 0) update(sessionId, chunk("message", `You said: ${text}`));
  const run = async (): Promise<Json> => {
    for (const step of steps) {
      const end = await perform(sessionId, session, step);
      if (end) return end;
    }
    return { stopReason: session.cancelled ? "cancelled" : "end_turn" };
  };
  const cancelled = new Promise<Json>(resolve => {
    if (!behaviour.ignoreCancel) session.onCancel.push(() => resolve({ stopReason: "cancelled" }));
  });
  return Promise.race([run(), cancelled]);
}

function opened(session: Session, id: string): Json {
  sessions.set(id, session);
  for (const content of behaviour.earlyUpdates ?? []) update(id, content);
  const { modes, configOptions, models } = behaviour;
  return { ...(modes && { modes }), ...(configOptions && { configOptions }), ...(models && { models }) };
}

function load({ sessionId, cwd, mcpServers }: Params, replay: boolean): Json | null {
  if (sessions.has(sessionId)) throw new Failure(-32602, `Session ${sessionId} is already loaded`);
  if (!existsSync(fileOf(sessionId)))
    throw new Failure(-32002, `Resource not found: session ${sessionId}`, { sessionId });
  const { prompts } = JSON.parse(readFileSync(fileOf(sessionId), "utf8")) as { prompts: string[] };
  for (const text of replay ? prompts : []) {
    update(sessionId, { sessionUpdate: "user_message_chunk", content: { type: "text", text } });
    update(sessionId, {
      sessionUpdate: "tool_call",
      toolCallId: `t${text.length}`,
      title: "old tool",
      status: "pending",
    });
    update(sessionId, chunk("message", `You said: ${text}`));
  }
  const result = opened({ cwd, prompts, mcpServers, cancelled: false, onCancel: [] }, sessionId);
  return behaviour.loadAnswersNull ? null : result;
}

async function fileIn(folder: string, name: string): Promise<void> {
  while (!existsSync(join(folder, name))) await delay(10);
}

function setOption({ configId, value, type }: Params): Json {
  const option = behaviour.configOptions?.find(({ id }) => id === configId);
  if (!option) throw new Failure(-32602, "Unknown config option");
  if (option.type === "boolean" && type !== "boolean") throw new Failure(-32602, "type must be boolean");
  if (behaviour.ignoresOptions) return {};
  option.currentValue = value;
  return { configOptions: behaviour.configOptions };
}

async function answer(method: string, params: Params): Promise<Json | null> {
  const refusal = behaviour.refuse?.[method];
  if (refusal === "hang") return new Promise(() => {});
  if (refusal) throw new Failure(refusal.code, refusal.message, refusal.data);
  switch (method) {
    case "initialize":
      return {
        protocolVersion: behaviour.protocolVersion ?? 1,
        agentInfo: { name: behaviour.name ?? "Fake", version: "1.2.3" },
        agentCapabilities: behaviour.capabilities ?? {
          loadSession: memory !== undefined,
          mcpCapabilities: { http: true },
          sessionCapabilities: { close: {}, list: {} },
        },
        authMethods: behaviour.authMethods ?? [],
      };
    case "session/new": {
      const id = `fake-${process.pid}-${++lastSession}`;
      const { cwd, mcpServers } = params;
      if (behaviour.startsWhen) await fileIn(cwd, behaviour.startsWhen);
      const result = opened({ cwd, prompts: [], mcpServers, cancelled: false, onCancel: [] }, id);
      return { sessionId: id, ...result };
    }
    case "session/load":
    case "session/resume":
      return load(params, method === "session/load");
    case "session/prompt":
      return prompt(params);
    case "session/list":
      return { sessions: [...sessions].map(([sessionId, { cwd }]) => ({ sessionId, cwd, title: "t" })) };
    case "session/close":
      if (!sessions.delete(params.sessionId)) throw new Failure(-32002, "Session not found");
      return {};
    case "session/delete":
      rmSync(fileOf(params.sessionId), { force: true });
      return {};
    case "session/set_config_option":
      return setOption(params);
    case "session/set_mode":
      update(params.sessionId, { sessionUpdate: "current_mode_update", currentModeId: params.modeId });
      return {};
    case "authenticate":
      return {};
    default:
      throw new Failure(-32601, `"Method not found": ${method}`, { method });
  }
}

async function receive(line: string): Promise<void> {
  const message = JSON.parse(line) as Message;
  if (message.method === undefined) {
    const known = waiting.get(message.id);
    if (known) known(message.result ?? { error: message.error });
    else strays.take(message);
    return;
  }
  if (message.id === undefined) {
    const session = sessions.get(message.params?.sessionId ?? "");
    if (message.method !== "session/cancel" || !session) return;
    session.cancelled = true;
    for (const resolve of session.onCancel) resolve();
    return;
  }
  try {
    send({ id: message.id, result: await answer(message.method, message.params as Params) });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    send({ id: message.id, error: error.error });
  }
}

function serve(input: NodeJS.ReadableStream): void {
  const { playback } = behaviour;
  const lines = createInterface({ input });
  if (playback) playBack(readFileSync(playback, "utf8"), lines, send);
  else lines.on("line", line => void receive(line));
}

if (behaviour.stderr) process.stderr.write(`${behaviour.stderr}\n`);
if (behaviour.exitAtOnce !== undefined) process.exit(behaviour.exitAtOnce);
if (behaviour.banner) write(behaviour.banner);
const port = process.argv.indexOf("--port");
if (port > 0) {
  const server = createServer(socket => {
    write = text => void socket.write(text);
    socket.on("error", () => {});
    serve(socket);
  });
  server.on("error", () => process.exit(1));
  server.listen(Number(process.argv[port + 1]), "127.0.0.1");
} else {
  serve(process.stdin);
  process.stdin.on("end", () => {
    if (!behaviour.staysAlive) process.exit(0);
  });
  if (behaviour.staysAlive) {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
  }
}
