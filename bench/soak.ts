import { setMaxListeners } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startScriptedModel } from "../src/backends/scripted/server.js";
import { packageRoot } from "../src/base/paths.js";
import { defer, tempFolder } from "../test/support/cleanup.js";
import { entryOf } from "../test/support/jobs/jobs.js";
import { scriptedApiKey, scriptedModelId } from "../test/support/model/scriptedModel.js";
import { startPortal } from "../test/support/portal/portal.js";
import { round } from "./support/report.js";
import { absoluteRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { type SoakCounts, SoakLoad, soakEntry, soakScript } from "./support/soakLoad.js";
import type { Sample } from "./support/soakProbe.js";
import { median } from "./support/turns.js";

const defaultMinutes = 60;
const [sessions, jobs, readers] = [20, 3, 10];
const samples = 200;
const kills = 20;
const surprisesShown = 20;
/** A runtime needs time to be useful before the next kill. */
const shortestLifeMs = 30_000;

type Measure = Exclude<keyof Sample, "atMs">;

/**
 * A figure is flat when, after the first tenth, the median of the last quarter is at most a twentieth above that of
 * the first quarter, plus the slack given here, because small figures jump.
 */
const measures: Record<Measure, { figure: string; unit: string; slack: number }> = {
  usedMiB: { figure: "memory in use after a collection", unit: "MiB", slack: 4 },
  residentMiB: { figure: "resident memory", unit: "MiB", slack: 16 },
  handles: { figure: "handles", unit: "", slack: 10 },
  descriptors: { figure: "descriptors", unit: "", slack: 10 },
  loopDelayMs: { figure: "loop delay, p99", unit: "ms", slack: 20 },
};
const mostGrowth = 1.05;

/** The values after the warm-up, in four parts. */
function quarters(all: readonly Sample[], measure: Measure): { first: number; last: number } {
  const warm = all.slice(Math.ceil(all.length / 10)).map(sample => sample[measure]);
  const quarter = Math.ceil(warm.length / 4);
  return { first: median(warm.slice(0, quarter)), last: median(warm.slice(-quarter)) };
}

function flatRow(all: readonly Sample[], measure: Measure): Row {
  const { figure, unit, slack } = measures[measure];
  const { first, last } = quarters(all, measure);
  const limit = first * mostGrowth + slack;
  const name = `soak: ${figure} in the last quarter, after ${round(first)} in the first`;
  return absoluteRow(name, last, unit, { atMost: round(limit) });
}

/** Ten lines from the beginning to the end. */
function course(all: readonly Sample[]): string {
  const names = Object.keys(measures) as Measure[];
  const step = Math.max(1, Math.floor(all.length / 10));
  const lines = all
    .filter((_, i) => i % step === step - 1)
    .map(({ atMs, ...sample }) =>
      [`${round(atMs / 60_000)} min`, ...names.map(name => String(round(sample[name])))]
        .map(cell => cell.padEnd(14))
        .join(""),
    );
  return [["", ...names].map(cell => cell.padEnd(14)).join(""), ...lines].join("\n");
}

async function soak(scope: TestContext, minutes: number): Promise<{ all: Sample[]; counts: SoakCounts }> {
  const lengthMs = minutes * 60_000;
  const model = await startScriptedModel({
    script: soakScript(),
    apiKey: scriptedApiKey,
    models: [scriptedModelId],
  });
  defer(scope, () => model.close());
  const folder = await tempFolder(scope, "portal-soak");
  const entryFile = join(folder, "entry.json");
  await writeFile(entryFile, JSON.stringify(entryOf(soakEntry)));
  const sampleFile = join(folder, "samples.jsonl");
  await writeFile(sampleFile, "");
  const portal = await startPortal(scope, {
    model,
    args: ["--entry", entryFile, "--log-level", "error"],
    env: {
      NODE_OPTIONS: `--import=${new URL("./support/soakProbe.js", import.meta.url)}`,
      SOAK_FILE: sampleFile,
      SOAK_INTERVAL_MS: String(lengthMs / samples),
    },
  });
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const load = new SoakLoad(portal, scriptedModelId, folder, over.signal);
  const work = [
    ...Array.from({ length: sessions }, () => load.sessions()),
    ...Array.from({ length: jobs }, () => load.jobs()),
    ...Array.from({ length: readers }, () => load.readers()),
    load.kills(Math.max(shortestLifeMs, lengthMs / kills)),
  ];
  const died = portal.exited.then(({ code, signal, stderr }) => {
    if (!over.signal.aborted) load.counts.surprises.push(`The portal ended (${signal ?? code}): ${stderr}`);
  });
  await Promise.race([pause(lengthMs, undefined, { ref: false }), died]);
  over.abort();
  await Promise.all(work);
  const text = await readFile(sampleFile, "utf8");
  const all = text
    .split("\n")
    .filter(line => line !== "")
    .map(line => JSON.parse(line) as Sample);
  return { all, counts: load.counts };
}

/** Twenty sessions, three jobs, readers that come and go, and kills of the runtime, for this many minutes. */
export async function soakRows(minutes = defaultMinutes): Promise<Row[]> {
  const { all, counts } = await inScope(scope => soak(scope, minutes));
  const { surprises, ...sums } = counts;
  const folder = join(packageRoot, "bench", "results");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "soak.json"), `${JSON.stringify({ minutes, counts, samples: all }, null, 2)}\n`);
  process.stderr.write(`${course(all)}\n${JSON.stringify(sums)}\n`);
  for (const surprise of [...new Set(surprises)].slice(0, surprisesShown))
    process.stderr.write(`${surprise}\n`);
  const { turns, kills: killed } = sums;
  return [
    ...(Object.keys(measures) as Measure[]).map(measure => flatRow(all, measure)),
    absoluteRow(
      `soak of ${minutes} min: surprises in ${turns} turns and ${sums.jobs} jobs, ${killed} kills of the runtime`,
      surprises.length,
      "",
      { atMost: 0 },
    ),
  ];
}
