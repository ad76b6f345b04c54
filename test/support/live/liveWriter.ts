// node liveWriter.js DATADIR SEED: writes live logs as fast as it can until it is killed, and says on stdout what
// readers have seen ("seen LOG N JSON") and what has been acknowledged as stored ("stored LOG JSON").
import { writeSync } from "node:fs";
import { pino } from "pino";
import type { LiveResponse } from "../../../src/live/liveResponse.js";
import { type LiveLog, LiveLogs } from "../../../src/sharedApi.js";
import { openStore } from "../../../src/store/store.js";
import { randomFrom, randomLog } from "../kills/randomLog.js";

const [dataDir = "", seed = "1"] = process.argv.slice(2);
const silent = pino({ level: "silent" });
const store = openStore({ dataDir, log: silent });
const logs = new LiveLogs(store, silent);
const say = (...words: unknown[]) => writeSync(1, `${words.join(" ")}\n`);

async function open(id: string): Promise<LiveLog> {
  return (await logs.openOwned("session", id)) ?? (await logs.create("session", id));
}

/** Sees every response with its number as soon as a reader can. */
function watch(log: LiveLog): void {
  let at = log.visibleN;
  let isReading = false;
  const read = async () => {
    if (isReading) return;
    isReading = true;
    while (at < log.visibleN) {
      for (const { n, json } of await log.page(at, log.visibleN)) {
        say("seen", log.id, n, json);
        at = n;
      }
    }
    isReading = false;
  };
  log.watch(() => void read());
}

async function write(id: string, random: () => number): Promise<void> {
  const log = await open(id);
  watch(log);
  for (let round = 0; ; round++) {
    // Block ids are new in every process, as in a real session.
    const rename = (text: string) => text.replaceAll(/"(m\d+)"/g, `"$1-${seed}-${round}"`);
    for (const response of JSON.parse(rename(JSON.stringify(randomLog(random, 200)))) as LiveResponse[]) {
      const stored = log.append(response);
      if ("callback" in response && response.callback !== "onMessage")
        void stored.then(() => say("stored", id, JSON.stringify(response)));
      if (random() < 0.2) await stored;
      else if (random() < 0.5) await new Promise(resolve => setTimeout(resolve, random() * 3));
    }
    await log.endOpenBlocks();
  }
}

await store.ready;
say("ready");
await Promise.all(["a", "b", "c"].map((id, i) => write(id, randomFrom(Number(seed) * 10 + i))));
