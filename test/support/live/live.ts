import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { before } from "node:test";
import express from "express";
import { pino } from "pino";
import { answerErrors } from "../../../src/api/errors.js";
import { createApiRouter } from "../../../src/api/router.js";
import { eventRoutes } from "../../../src/jobs/eventRoutes.js";
import { readChunk } from "../../../src/live/chunk.js";
import type { LiveResponse, LogKind } from "../../../src/live/liveResponse.js";
import type { LogRecord } from "../../../src/live/record.js";
import { type LiveLog, LiveLogs, type LiveSettings, liveRoutes } from "../../../src/sharedApi.js";
import { openStore, type Store } from "../../../src/store/store.js";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { shared } from "../sharing.js";
import { withoutTime } from "./sse.js";

export const silent = pino({ level: "silent" });

export type Answer = Record<string, unknown> & { error?: string; responses?: Answer[] };

export interface Live {
  readonly store: Store;
  readonly logs: LiveLogs;
  readonly dataDir: string;
  /** `http://…/api/copilot` */
  readonly url: string;
  readonly port: number;
  /** Calls `/api/copilot/PATH`. */
  call(path: string): Promise<Answer>;
  /** A call that the test can hang up; resolves when the server has received it. */
  dial(path: string): Promise<Dialled>;
  /** Stops it as the portal does. */
  stop(): Promise<void>;
}

export interface Dialled {
  readonly answer: Promise<Answer>;
  hangUp(): Promise<void>;
}

export interface LiveOptions extends LiveSettings {
  dataDir?: string;
  /** Puts something between the live logs and the store. */
  wrap?: (store: Store) => Store;
  /** Additional headers of every answer. */
  headers?: () => Record<string, string>;
}

/**
 * One server for all tests of the process that need only separate ids; calls wait until they are answered. Call it at
 * the top of the file; its parts are there in the tests.
 */
export function shareLive(): Live {
  const start = shared("live", scope => {
    let live: Promise<Live> | undefined;
    return () => {
      live ??= startLive(scope, { answerTimeoutMs: 60_000 });
      return live;
    };
  });
  const parts = {} as Live;
  before(async () => {
    Object.assign(parts, await start());
  });
  return parts;
}

/** The routes of the live logs on a real port and a real store. */
export async function startLive(t: Scope, options: LiveOptions = {}): Promise<Live> {
  const dataDir = options.dataDir ?? (await tempFolder(t, "portal-live"));
  const store = openStore({ dataDir, log: silent });
  const logs = new LiveLogs(options.wrap?.(store) ?? store, silent);
  const kinds: LogKind[] = ["session", "task", "job"];
  let calls = 0;
  const app = express();
  app.use((_req, res, next) => {
    calls++;
    res.set(options.headers?.());
    next();
  });
  app.use(
    "/api",
    createApiRouter(
      [
        ...kinds.flatMap(kind => liveRoutes(kind, logs, options)),
        ...eventRoutes(logs, { follow: async () => {} }),
      ],
      async () => "called",
    ),
    answerErrors(silent),
  );
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/api/copilot`;
  let stopped: Promise<void> | undefined;
  async function stop() {
    stopped ??= (async () => {
      await store.close();
      server.closeAllConnections();
      server.close();
    })();
    await stopped;
  }
  defer(t, stop);
  await store.ready;
  return {
    store,
    logs,
    dataDir,
    url,
    port,
    stop,
    call: async path => comparable((await (await fetch(`${url}/${path}`)).json()) as Answer),
    dial: async path => {
      const before = calls;
      const request = get(`${url}/${path}`, { agent: false });
      const answer = answerOf(request);
      answer.catch(() => {});
      while (calls === before) await new Promise(setImmediate);
      return {
        answer,
        hangUp: async () => {
          const gone = new Promise(resolve => request.once("close", resolve));
          request.destroy();
          await gone;
        },
      };
    },
  };
}

async function answerOf(request: ReturnType<typeof get>): Promise<Answer> {
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return comparable(JSON.parse(Buffer.concat(chunks).toString()) as Answer);
}

const comparable = (answer: Answer): Answer =>
  answer.responses ? { ...answer, responses: answer.responses.map(withoutTime) } : withoutTime(answer);

let ids = 0;
/** An id that no other test of the file uses. */
export const newId = () => `id-${++ids}`;

/** Appends the given parts of a message block. */
export const message = {
  start: (messageId: string): LiveResponse => ({ callback: "onStartMessage", messageId }),
  delta: (messageId: string, delta: string): LiveResponse => ({ callback: "onMessage", messageId, delta }),
  end: (messageId: string, completeContent: string): LiveResponse => ({
    callback: "onEndMessage",
    messageId,
    completeContent,
  }),
};

export const notice = (text: string | number): LiveResponse => ({
  callback: "onNotice",
  severity: "info",
  title: `${text}`,
});

/** Resolves when everything is in the store and therefore visible. */
export async function append(log: LiveLog, ...responses: LiveResponse[]): Promise<void> {
  await Promise.all(responses.map(response => log.append(response)));
}

/** Calls `live` until it answers with an error, which is the last item. */
export async function readToEnd(live: Live, path: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (;;) {
    const answer = await live.call(path);
    answers.push(...(answer.responses ?? [answer]));
    if (answer.error !== undefined) return answers;
  }
}

/** Every line of a log in the store, in the order of the chunks. */
export async function storedRecords(store: Store, id: string): Promise<LogRecord[]> {
  const rows = await store.query<{ lines: string }>(
    "select lines from log_chunks join logs on logs.id = log_id where key = $1 order by last_n",
    [id],
  );
  const records: LogRecord[] = [];
  for (const { lines } of rows) {
    readChunk(lines, 0, records, line => {
      throw new Error(`Damaged: ${line}`);
    });
  }
  return records;
}

/** Holds the store's only connection until the returned function is called. */
export async function holdStore(store: Store): Promise<() => Promise<void>> {
  let letGo = () => {};
  const released = new Promise<void>(resolve => {
    letGo = resolve;
  });
  let isHeld = () => {};
  const held = new Promise<void>(resolve => {
    isHeld = resolve;
  });
  const transaction = store.transaction(async () => {
    isHeld();
    await released;
  });
  await held;
  return async () => {
    letGo();
    await transaction;
  };
}
