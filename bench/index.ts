// npm run bench [-- NAME… [MINUTES]]: measures what the specification names, each figure beside its reference in the
// same run. The soak runs only when it is named, for an hour or the minutes given.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../src/base/paths.js";
import type { Row } from "./support/row.js";

const args = process.argv.slice(2);
const minutes = args.find(arg => /^\d+(\.\d+)?$/.test(arg));
const names = args.filter(arg => arg !== minutes);

const benches: Record<string, () => Promise<Row[]>> = {
  start: async () => (await import("./start.js")).startRows(),
  openSessions: async () => (await import("./openSessions.js")).openSessionRows(),
  retention: async () => (await import("./retention.js")).retentionRows(),
  deltaDelay: async () => (await import("./support/deltaDelay.js")).deltaDelayRows(),
  live: async () => (await import("./live.js")).liveRows(),
  orchestrator: async () => (await import("./orchestrator.js")).orchestratorRows(),
  sessions: async () => (await import("./sessions.js")).sessionRows(),
  pages: async () => (await import("./pagesFrames.js")).frameRows(),
  connections: async () => (await import("./connections.js")).connectionRows(),
  jobs: async () => (await import("./jobs.js")).jobRows(),
  acp: async () => (await import("./acp.js")).acpRows(),
  kills: async () => (await import("./jobs.js")).killRows(),
  soak: async () => (await import("./soak.js")).soakRows(minutes === undefined ? undefined : Number(minutes)),
};
const onlyByName = ["soak"];

function table(rows: readonly Row[]): string {
  const cells = [
    ["figure", "measured", "reference", "ratio", "goal", ""],
    ...rows.map(row => [
      row.figure,
      row.value,
      row.reference,
      String(row.ratio ?? "–"),
      row.goal,
      row.ok ? "met" : "MISSED",
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0))) ?? [];
  return cells.map(row => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}

const unknown = names.filter(name => !(name in benches));
if (unknown.length > 0) {
  process.stderr.write(`No bench ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}\n`);
  process.exit(1);
}

const rows: Row[] = [];
for (const [name, measure] of Object.entries(benches)) {
  if (names.length > 0 ? !names.includes(name) : onlyByName.includes(name)) continue;
  process.stderr.write(`Measuring ${name} …\n`);
  rows.push(...(await measure()));
}
const folder = join(packageRoot, "bench", "results");
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, "latest.json"),
  `${JSON.stringify({ takenAt: new Date().toISOString(), rows }, null, 2)}\n`,
);
process.stdout.write(`${table(rows)}\n`);
