// node liveServer.js DATADIR RESPONSES: serves two closed live logs until it is killed, "long" with this many responses
// and "short" with a few. Prints its address when they are ready. Each answer has the clocks of this process.
import { performance } from "node:perf_hooks";
import type { TestContext } from "node:test";
import { append, notice, startLive } from "./live.js";

const [dataDir = "", responses = "0"] = process.argv.slice(2);

function clocks(): Record<string, string> {
  const { user, system } = process.cpuUsage();
  return { "x-wall-ms": String(performance.now()), "x-cpu-ms": String((user + system) / 1000) };
}

const neverEnds = { after: () => {} } as unknown as TestContext;
const { logs, url } = await startLive(neverEnds, { dataDir, headers: clocks });
for (const [id, count] of [
  ["long", Number(responses)],
  ["short", 5],
] as const) {
  if (await logs.open("session", id)) continue;
  const log = await logs.create("session", id);
  await append(log, ...Array.from({ length: count }, (_, i) => notice(i)));
  await log.close();
}
process.stdout.write(`${url}\n`);
