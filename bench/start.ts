import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { startPortal } from "../test/support/portal.js";
import { portalWithModel } from "../test/support/restSession.js";
import { startScriptedModel } from "../test/support/scriptedModel.js";
import { absoluteRow, median, type Row, ratioRow } from "./row.js";
import { inScope } from "./scope.js";

const repetitions = 5;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function repeat(work: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < repetitions; i++) times.push(await work());
  return median(times);
}

const emptyNode = () => timed(() => once(spawn(process.execPath, ["-e", "0"]), "exit"));

/** From the first instruction until a session has been started, on a new folder and on one that exists. */
async function firstSession() {
  return inScope(async scope => {
    const model = await startScriptedModel(scope, {});
    const portal = await startPortal(scope, { model });
    const body = process.cwd();
    const start = () => portal.api(`copilot/session/start/${model.modelId}`, { body });
    const untilSession = async () => {
      const begun = performance.now();
      await portal.restart();
      await start();
      return performance.now() - begun;
    };
    await start();
    return untilSession();
  });
}

async function firstSessionEver(): Promise<number> {
  const begun = performance.now();
  return inScope(async scope => {
    const { startSession } = await portalWithModel(scope);
    await startSession();
    return performance.now() - begun;
  });
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function idleMemory(): Promise<Row[]> {
  return inScope(async scope => {
    const { portal, startSession } = await portalWithModel(scope);
    const sessions = 150;
    const start = async () => {
      for (let i = 0; i < sessions; i++) await startSession();
      return residentMiB(portal.pid);
    };
    // The first round also pays for what grows only once.
    const before = await start();
    const after = await start();
    return [
      absoluteRow("memory per idle session", ((after - before) * 1024) / sessions, "KiB", { atMost: 200 }),
    ];
  });
}

export async function startRows(): Promise<Row[]> {
  const open = await repeat(() =>
    inScope(async scope => {
      const begun = performance.now();
      await startPortal(scope);
      return performance.now() - begun;
    }),
  );
  return [
    ratioRow(
      "start until the port is open",
      { value: open, reference: await repeat(emptyNode), unit: "ms" },
      { atMost: 10 },
    ),
    absoluteRow("start until the first session, first start ever", await repeat(firstSessionEver), "ms", {
      atMost: 3000,
    }),
    absoluteRow("start until the first session, existing store", await repeat(firstSession), "ms", {
      atMost: 1500,
    }),
    ...(await idleMemory()),
  ];
}
