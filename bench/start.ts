import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { defer } from "../test/support/cleanup.js";
import { startScriptedModel } from "../test/support/model/scriptedModel.js";
import { launchBrowser, openPage } from "../test/support/pages/browser.js";
import { startPortal } from "../test/support/portal/portal.js";
import { portalWithModel } from "../test/support/portal/restSession.js";
import { cpuMs, residentMiB } from "./support/process.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { timed } from "./support/turns.js";

const rounds = 5;
/** By then the garbage of what was done before is collected. */
const settleMs = 15_000;
const idleMs = 30_000;

const emptyNode = () => timed(() => once(spawn(process.execPath, ["-e", "0"]), "exit"));

const portOpen = () => inScope(scope => timed(() => startPortal(scope)));

/** The time from the start of the process until a session has started, on an existing data folder. */
async function firstSession(): Promise<number> {
  return inScope(async scope => {
    const model = await startScriptedModel(scope, {});
    const portal = await startPortal(scope, { model });
    const start = () => portal.api(`copilot/session/start/${model.modelId}`, { body: process.cwd() });
    await start();
    await portal.stop();
    return timed(async () => {
      await portal.restart();
      await start();
    });
  });
}

async function firstSessionEver(): Promise<number> {
  return inScope(scope =>
    timed(async () => {
      const { startSession } = await portalWithModel(scope);
      await startSession();
    }),
  );
}

async function idleMemory(): Promise<Row[]> {
  return inScope(async scope => {
    const { portal, startSession } = await portalWithModel(scope);
    const sessions = 150;
    const start = async () => {
      for (let i = 0; i < sessions; i++) await startSession();
      return residentMiB(portal.pid);
    };
    // The first round also pays for growth that happens only once.
    const before = await start();
    const after = await start();
    return [
      absoluteRow("memory per idle session", ((after - before) * 1024) / sessions, "KiB", { atMost: 200 }),
    ];
  });
}

/** The share of a core that the server takes while nothing happens. */
async function idleProcessor(): Promise<Row[]> {
  return inScope(async scope => {
    const { portal, startSession } = await portalWithModel(scope);
    const rowOf = async (state: string) => {
      await pause(settleMs);
      const before = await cpuMs(portal.pid);
      await pause(idleMs);
      const percent = ((await cpuMs(portal.pid)) - before) / (idleMs / 100);
      return absoluteRow(`idle processor time, ${state}`, percent, "%", { atMost: 0.3 });
    };
    await portal.api("copilot/job/running");
    const rows = [await rowOf("no work")];
    for (let i = 0; i < 20; i++) await startSession();
    rows.push(await rowOf("20 open sessions"));
    const browser = await launchBrowser();
    defer(scope, () => browser.close());
    await openPage(scope, browser, portal.url);
    rows.push(await rowOf("and an open page"));
    return rows;
  });
}

export async function startRows(): Promise<Row[]> {
  return [
    ...(await compare({
      rounds,
      unit: "ms",
      reference: { name: "node -e 0", take: emptyNode },
      subjects: {
        "start until the port is open": { take: portOpen, goal: { atMost: 6 } },
        "start until the first session, existing store": { take: firstSession, goal: { atMost: 12 } },
        "start until the first session, first start ever": {
          take: firstSessionEver,
          goal: { of: "value", atMost: 3000 },
        },
      },
    })),
    ...(await idleMemory()),
    ...(await idleProcessor()),
  ];
}
