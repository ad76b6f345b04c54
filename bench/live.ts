import { execFile } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import express from "express";
import type { LiveResponse } from "../src/live/liveResponse.js";
import type { LiveLog } from "../src/sharedApi.js";
import { defer } from "../test/support/cleanup.js";
import { type Live, startLive } from "../test/support/live/live.js";
import { usedBytes } from "../test/support/memory.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";

const run = promisify(execFile);
const client = fileURLToPath(new URL("./support/liveClient.js", import.meta.url));
const million = 1_000_000;
const rounds = 5;

const response = (i: number): LiveResponse => ({
  callback: "onNotice",
  severity: "info",
  title: `response number ${i} of many, as long as a usual one`,
});

async function fill(log: LiveLog, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const stored = log.append(response(i));
    if (i % 5_000 === 0) await stored;
  }
  await log.saved();
}

async function timeOf(url: string, answers: number): Promise<number> {
  const { stdout } = await run(process.execPath, [client, url, String(answers)]);
  const { ms, bytes } = JSON.parse(stdout) as { ms: number; bytes: number };
  if (bytes < million * 50) throw new Error(`${url} answered only ${bytes} bytes`);
  return ms;
}

/** The same answers from Express alone. */
async function startBare(scope: TestContext, sizes: readonly number[]): Promise<string> {
  const all = Array.from({ length: million }, (_, i) => response(i));
  const answers = sizes.map((size, i) => {
    const from = sizes.slice(0, i).reduce((sum, before) => sum + before, 0);
    return { responses: all.slice(from, from + size) };
  });
  let next = 0;
  const app = express();
  app.get("/responses", (_req, res) => {
    res.json(answers[next++ % answers.length]);
  });
  const server = app.listen(0, "127.0.0.1");
  defer(scope, () => server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/responses`;
}

async function reading(scope: TestContext, live: Live): Promise<Row[]> {
  const log = await live.logs.create("session", "million");
  await fill(log, million);
  const sizes: number[] = [];
  while (sizes.reduce((sum, size) => sum + size, 0) < million) {
    const { responses } = await live.call("session/million/live/counting");
    sizes.push(responses?.length ?? 0);
  }
  const bare = await startBare(scope, sizes);
  const perSecond = (ms: number) => (million / ms) * 1_000;
  let readers = 0;
  const ours = () => `${live.url}/session/million/live/token-${readers++}`;
  return compare({
    rounds,
    unit: "/s",
    reference: {
      name: "1 million responses from bare Express",
      take: async () => perSecond(await timeOf(bare, sizes.length)),
    },
    subjects: {
      "responses to one live/{token} reader, 1 million buffered": {
        take: async () => perSecond(await timeOf(ours(), sizes.length)),
        goal: { atLeast: 0.8 },
      },
    },
  });
}

async function memory(live: Live): Promise<Row[]> {
  const kib = 1024;
  const [history, idle] = [20, 1_000];
  const before = await usedBytes();
  const logs: LiveLog[] = [];
  for (let i = 0; i < history; i++) {
    const log = await live.logs.create("session", `history-${i}`);
    await fill(log, 10_000);
    logs.push(log);
  }
  const perHistory = ((await usedBytes()) - before) / history / kib;
  for (let i = 0; i < idle; i++) {
    const log = await live.logs.create("task", `idle-${i}`);
    await log.append(response(i));
    logs.push(log);
  }
  live.logs.rest();
  live.logs.rest();
  const perIdle = ((await usedBytes()) - before) / logs.length / kib;
  return [
    absoluteRow("memory per 10,000 responses of a live log", perHistory, "KiB", { atMost: 1_024 }),
    absoluteRow("memory per idle live log", perIdle, "KiB", { atMost: 20 }),
  ];
}

/** Appends and stores a million responses; 10 µs each allow 5,000 a second on a twentieth of a core. */
async function appending(live: Live): Promise<Row> {
  const log = await live.logs.create("session", "appending");
  await log.append({ callback: "onStartMessage", messageId: "m" });
  const count = 200_000;
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    const stored = log.append({ callback: "onMessage", messageId: "m", delta: "some words " });
    if (i % 1_000 === 0) await stored;
  }
  await log.saved();
  const { user, system } = process.cpuUsage(before);
  return absoluteRow("processor time per delta appended and stored", (user + system) / count, "µs", {
    atMost: 10,
  });
}

export async function liveRows(): Promise<Row[]> {
  return inScope(async scope => {
    const live = await startLive(scope);
    const rows = [...(await memory(live)), await appending(live)];
    return [...(await reading(scope, live)), ...rows];
  });
}
