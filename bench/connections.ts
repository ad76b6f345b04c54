import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { defer } from "../test/support/cleanup.js";
import { type Portal, startPortal } from "../test/support/portal/portal.js";
import { residentMiB } from "./support/process.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { percentile } from "./support/turns.js";

const idleConnections = 2000;
const readers = 2000;
const sessions = 20;
/** Enough requests that the 99th percentile is more than one unlucky one. */
const requests = 1000;
const rounds = 5;
/** The number of connections opened at once: more would only wait in the system's queue. */
const batch = 100;

async function inBatches<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count)
    made.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(batch, count - made.length) }, (_, i) => make(made.length + i)),
      )),
    );
  return made;
}

/** A connection on which one request was answered, and which then stays open. */
async function idle(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`GET /api/test HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
  await once(socket, "data");
  return socket;
}

/** A reader that follows a session's log and waits for the next response. */
async function reader(url: string, sessionId: string): Promise<IncomingMessage> {
  const [response] = (await once(
    get(`${url}/api/copilot/session/${sessionId}/events`, { agent: false }),
    "response",
  )) as [IncomingMessage];
  response.on("error", () => undefined).resume();
  return response;
}

/** The delay within which 99 of 100 small requests are answered, one after another. */
async function delayMs(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const delays: number[] = [];
  for (let i = 0; i < requests; i++) {
    const begunMs = performance.now();
    const [response] = (await once(get(`${url}/api/test`, { agent }), "response")) as [IncomingMessage];
    await once(response.resume(), "end");
    delays.push(performance.now() - begunMs);
  }
  agent.destroy();
  return percentile(delays, 0.99);
}

async function startSessions(portal: Portal): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < sessions; i++) {
    const { body } = await portal.api<{ sessionId: string }>("copilot/session/start/demo", {
      body: portal.dataDir,
    });
    ids.push(body.sessionId);
  }
  return ids;
}

/** A portal with sessions, whose code is warm. */
async function startWarm(scope: TestContext) {
  const portal = await startPortal(scope);
  const ids = await startSessions(portal);
  await delayMs(portal.url);
  return { portal, ids };
}

export async function connectionRows(): Promise<Row[]> {
  return inScope(async scope => {
    const quiet = await startWarm(scope);
    const crowded = await startWarm(scope);
    const { url } = crowded.portal;
    const sockets = await inBatches(idleConnections, () => idle(Number(new URL(url).port)));
    const streams = await inBatches(readers, i => reader(url, crowded.ids[i % sessions] ?? ""));
    defer(scope, () => {
      for (const connection of [...sockets, ...streams]) connection.destroy();
    });
    const crowd = "with 2,000 idle connections and 2,000 waiting readers";
    const delays = await compare({
      rounds,
      unit: "ms",
      reference: { name: "p99 delay of a small request, alone", take: () => delayMs(quiet.portal.url) },
      subjects: {
        [`p99 delay of a small request, ${crowd}`]: { take: () => delayMs(url), goal: { atMost: 2 } },
      },
    });
    const memory = await compare({
      rounds,
      unit: "MiB",
      reference: { name: "memory of the server, alone", take: () => residentMiB(quiet.portal.pid) },
      subjects: {
        [`memory of the server, ${crowd}`]: {
          take: () => residentMiB(crowded.portal.pid),
          goal: { atMost: 2 },
        },
      },
    });
    const lost = [...sockets, ...streams].filter(({ destroyed }) => destroyed).length;
    return [
      ...delays,
      ...memory,
      absoluteRow("connections of these that were lost meanwhile", lost, "", { atMost: 0 }),
    ];
  });
}
