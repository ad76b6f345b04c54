import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startLive } from "../../test/support/live/live.js";
import { sseEvents } from "../../test/support/live/sse.js";
import { absoluteRow, type Row } from "./row.js";
import { inScope } from "./scope.js";
import { percentile, repeat } from "./turns.js";

const busySessions = 50;
/** The pace of a quick model. */
const deltaEveryMs = 20;
const deltas = 250;
const rounds = 3;

/** The same clock in every process of the machine. */
const now = () => performance.timeOrigin + performance.now();

/**
 * The time from the session's callback, which appends the delta, to its bytes at the client of an event stream.
 * The client is a separate process; the server writes to the real store meanwhile.
 */
async function p99DelayMs(): Promise<number> {
  return inScope(async scope => {
    const { logs, url } = await startLive(scope);
    const ids = Array.from({ length: busySessions }, (_, i) => `busy-${i}`);
    const sessions = await Promise.all(ids.map(id => logs.create("session", id)));
    for (const log of sessions) await log.append({ callback: "onStartMessage", messageId: "m" });
    const client = fork(
      fileURLToPath(import.meta.url),
      ids.map(id => `${url}/session/${id}/events`),
    );
    await once(client, "message");
    await Promise.all(
      sessions.map(async (log, i) => {
        for (let n = 0; n < deltas; n++) {
          await new Promise(done =>
            setTimeout(done, n === 0 ? (i * deltaEveryMs) / busySessions : deltaEveryMs),
          );
          void log.append({ callback: "onMessage", messageId: "m", delta: `${now().toFixed(2)} ` });
        }
        await log.close();
      }),
    );
    const [delays] = (await once(client, "message")) as [number[]];
    return percentile(delays, 0.99);
  });
}

export async function deltaDelayRows(): Promise<Row[]> {
  const figure = `delay of a delta from the session to an event stream, p99 with ${busySessions} busy sessions`;
  return [absoluteRow(figure, await repeat(rounds, p99DelayMs), "ms", { atMost: 10 })];
}

/** Reads all streams and measures the delay of each delta; several that arrive together count as the oldest. */
async function runClient(urls: readonly string[]): Promise<void> {
  const delays: number[] = [];
  let open = 0;
  await Promise.all(
    urls.map(async url => {
      for await (const { data } of sseEvents(url)) {
        if (data.callback === "onStartMessage" && ++open === urls.length) process.send?.("open");
        if (data.callback === "onMessage") delays.push(now() - Number(String(data.delta).split(" ", 1)));
      }
    }),
  );
  process.send?.(delays);
  process.disconnect();
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url))
  await runClient(process.argv.slice(2));
