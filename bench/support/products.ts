import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { opencodeHome } from "../../test/support/acp/opencode.js";
import { opencodeCommand } from "../../test/support/acp/testAgents.js";
import { defer, tempFolder } from "../../test/support/cleanup.js";
import { sseEvents } from "../../test/support/live/sse.js";
import type { ScriptedModel } from "../../test/support/model/scriptedModel.js";
import { startPortal } from "../../test/support/portal/portal.js";
import { sessionById } from "../../test/support/portal/restSession.js";
import { processesWith } from "../../test/support/processes.js";
import { type Talk, throughPortal } from "./talk.js";

/** What a product still shows of a session. */
export interface Kept {
  requests: string[];
  answers: string[];
  /** Whether no answer is shown as if it were still being written. */
  ended: boolean;
}

/** A server for agents; both that are compared can do this. It is running when it is given out. */
export interface Product {
  /** Of the server itself. */
  readonly pid: number;
  /** All processes, including those of its agents. */
  processes(): Promise<number[]>;
  startSession(): Promise<string>;
  talk(sessionId: string): Promise<Talk>;
  kept(sessionId: string): Promise<Kept>;
  /** Ends the server with this signal. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Starts it again on the same data. */
  start(): Promise<void>;
}

export type StartProduct = (
  scope: TestContext,
  model: Pick<ScriptedModel, "baseUrl" | "apiKey" | "modelId">,
) => Promise<Product>;

export const startPortalProduct: StartProduct = async (scope, model) => {
  const workingDirectory = await tempFolder(scope, "bench-work");
  const portal = await startPortal(scope, { model });
  return {
    get pid() {
      return portal.pid;
    },
    processes: () => portal.processes(),
    async startSession() {
      const path = `copilot/session/start/${model.modelId}`;
      const { body } = await portal.api<{ sessionId?: string }>(path, { body: workingDirectory });
      if (!body.sessionId) throw new Error(`The portal started no session: ${JSON.stringify(body)}`);
      return body.sessionId;
    },
    talk: async sessionId => throughPortal(sessionById(portal, sessionId)),
    async kept(sessionId) {
      const session = sessionById(portal, sessionId);
      const { responses } = await session.call<{ responses: Record<string, unknown>[] }>("live/kept");
      const all = (callback: string, name: string) =>
        responses.filter(response => response.callback === callback).map(response => String(response[name]));
      return {
        requests: all("onUserRequest", "prompt"),
        answers: all("onEndMessage", "completeContent"),
        ended: all("onStartMessage", "messageId").length === all("onEndMessage", "messageId").length,
      };
    },
    async end(signal) {
      await portal.kill(signal);
    },
    start: () => portal.restart(),
  };
};

interface OpencodeEvent {
  type: string;
  properties: { sessionID?: string; field?: string; delta?: string };
}

interface OpencodeMessage {
  info: { role: "user" | "assistant"; time: { completed?: number }; error?: unknown };
  parts: { type: string; text?: string }[];
}

export const startOpencode: StartProduct = async (scope, model) => {
  const workingDirectory = await tempFolder(scope, "bench-work");
  const env = {
    PATH: process.env.PATH,
    ...(await opencodeHome(scope)),
    COPILOT_PROVIDER_BASE_URL: model.baseUrl,
    COPILOT_PROVIDER_API_KEY: model.apiKey,
  };
  let running = await launch();
  defer(scope, () => end("SIGKILL"));

  async function launch() {
    const stdio: ["ignore", "pipe", "ignore"] = ["ignore", "pipe", "ignore"];
    const child = spawn(opencodeCommand, ["serve", "--port", "0"], { cwd: workingDirectory, env, stdio });
    const exited = once(child, "exit");
    for await (const line of createInterface(child.stdout)) {
      const url = /listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) return { child, exited, url, pid: child.pid ?? 0 };
    }
    throw new Error("opencode serve ended at its start");
  }

  async function end(signal: "SIGTERM" | "SIGKILL") {
    running.child.kill(signal);
    await running.exited;
  }

  const listeners = new Map<string, (event: OpencodeEvent | "closed") => void>();
  let listening: Promise<void> | undefined;

  /** One stream carries the events of all sessions. */
  async function listen(): Promise<void> {
    const events = sseEvents<OpencodeEvent>(address("event"));
    // The first event says that the stream is open.
    await events.next();
    const deliver = async () => {
      for await (const { data } of events) listeners.get(data.properties.sessionID ?? "")?.(data);
    };
    deliver()
      .catch(() => undefined)
      .finally(() => {
        for (const listener of listeners.values()) listener("closed");
      });
  }

  const address = (path: string) =>
    `${running.url}/${path}?directory=${encodeURIComponent(workingDirectory)}`;

  async function call(path: string, body?: object): Promise<unknown> {
    const response = await fetch(address(path), {
      ...(body && {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`opencode answered ${response.status} to ${path}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  return {
    get pid() {
      return running.pid;
    },
    processes: () => processesWith("HOME", env.HOME),
    async startSession() {
      // With a title of its own it does not ask the model for one.
      return ((await call("session", { title: "bench" })) as { id: string }).id;
    },
    async talk(sessionId) {
      listening ??= listen();
      await listening;
      return {
        turn: (prompt, onDelta) =>
          new Promise((resolve, reject) => {
            listeners.set(sessionId, event => {
              if (event === "closed") return reject(new Error("The event stream ended within a turn"));
              const { type, properties } = event;
              if (type === "session.error")
                reject(new Error(`The turn failed: ${JSON.stringify(properties)}`));
              if (type === "message.part.delta" && properties.field === "text")
                onDelta(properties.delta ?? "");
              if (type === "session.idle") resolve();
            });
            const parts = [{ type: "text", text: prompt }];
            call(`session/${sessionId}/prompt_async`, { parts }).catch(reject);
          }),
      };
    },
    async kept(sessionId) {
      const messages = (await call(`session/${sessionId}/message`)) as OpencodeMessage[];
      const by = (role: string) =>
        messages
          .filter(({ info }) => info.role === role)
          .map(({ parts }) => parts.map(({ type, text }) => (type === "text" ? text : "")).join(""));
      const open = messages.filter(
        ({ info }) =>
          info.role === "assistant" && info.time.completed === undefined && info.error === undefined,
      );
      return { requests: by("user"), answers: by("assistant"), ended: open.length === 0 };
    },
    end,
    async start() {
      running = await launch();
      listening = undefined;
      listeners.clear();
    },
  };
};
