// npm run bench [-- NAME… [MINUTES]]: measures each figure in turns with its reference, prints one table and writes
// bench/results/latest.json. The soak runs only when it is named, for an hour or the minutes given.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../src/base/paths.js";
import { report, table, watchMachine } from "./support/report.js";
import type { Row } from "./support/row.js";

const args = process.argv.slice(2);
const minutes = args.find(arg => /^\d+(\.\d+)?$/.test(arg));
const names = args.filter(arg => arg !== minutes);

const benches: Record<string, () => Promise<Row[]>> = {
  start: async () => (await import("./start.js")).startRows(),
  openSessions: async () => (await import("./openSessions.js")).openSessionRows(),
  retention: async () => (await import("./retention.js")).retentionRows(),
  long: async () => (await import("./long.js")).longRows(),
  deltaDelay: async () => (await import("./support/deltaDelay.js")).deltaDelayRows(),
  live: async () => (await import("./live.js")).liveRows(),
  orchestrator: async () => (await import("./orchestrator.js")).orchestratorRows(),
  sessions: async () => (await import("./sessions.js")).sessionRows(),
  pages: async () => (await import("./pagesFrames.js")).frameRows(),
  site: async () => (await import("./site.js")).siteRows(),
  connections: async () => (await import("./connections.js")).connectionRows(),
  jobs: async () => (await import("./jobs.js")).jobRows(),
  nodes: async () => (await import("./nodes.js")).nodeRows(),
  nodesSafety: async () => (await import("./nodes.js")).safetyRows(),
  acp: async () => (await import("./acp.js")).acpRows(),
  opencode: async () => (await import("./opencode.js")).opencodeRows(),
  search: async () => (await import("./search.js")).searchRows(),
  exportedPage: async () => (await import("./exportedPage.js")).exportedPageRows(),
  changes: async () => (await import("./changes.js")).changeRows(),
  kills: async () => (await import("./jobs.js")).killRows(),
  soak: async () => (await import("./soak.js")).soakRows(minutes === undefined ? undefined : Number(minutes)),
};
// The round of events is also the last part of `nodes`.
const onlyByName = ["soak", "nodesSafety"];

const unknown = names.filter(name => !(name in benches));
if (unknown.length > 0) {
  process.stderr.write(`No bench ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}\n`);
  process.exit(1);
}

const machine = watchMachine();
const chosen = Object.keys(benches).filter(name =>
  names.length > 0 ? names.includes(name) : !onlyByName.includes(name),
);
const folder = join(packageRoot, "bench", "results");
mkdirSync(folder, { recursive: true });
const rows: Row[] = [];
for (const [place, name] of chosen.entries()) {
  process.stderr.write(`Measuring ${name} …\n`);
  rows.push(...((await benches[name]?.()) ?? []));
  // After each, so that a bench that fails does not take the others with it.
  writeFileSync(join(folder, "latest.json"), report(rows, chosen.slice(0, place + 1), machine()));
}
process.stdout.write(`${table(rows)}\n`);
