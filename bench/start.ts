import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { defer, tempFolder } from "../test/support/cleanup.js";
import { startPortal } from "../test/support/portal.js";
import { portalWithModel } from "../test/support/restSession.js";
import { startScriptedModel } from "../test/support/scriptedModel.js";
import { absoluteRow, median, type Row, ratioRow } from "./support/row.js";
import { inScope } from "./support/scope.js";

const repetitions = 5;
/** By then the garbage of the start is collected. */
const settleMs = 15_000;

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

/** The time from the start of the process until a session has started, on a new and on an existing data folder. */
async function firstSession() {
  return inScope(async scope => {
    const model = await startScriptedModel(scope, {});
    const portal = await startPortal(scope, { model });
    const body = process.cwd();
    const start = () => portal.api(`copilot/session/start/${model.modelId}`, { body });
    await start();
    await portal.stop();
    const begun = performance.now();
    await portal.restart();
    await start();
    return performance.now() - begun;
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
    // The first round also pays for growth that happens only once.
    const before = await start();
    const after = await start();
    return [
      absoluteRow("memory per idle session", ((after - before) * 1024) / sessions, "KiB", { atMost: 200 }),
    ];
  });
}

/** Both before any request. */
async function idleServer(): Promise<Row> {
  return inScope(async scope => {
    const portal = await startPortal(scope);
    const opencode = await startOpencode(scope);
    await delay(settleMs);
    const measured = {
      value: await residentMiB(portal.pid),
      reference: await residentMiB(opencode),
      unit: "MiB",
    };
    return ratioRow("idle memory of the server against opencode serve", measured, { atMost: 0.8 });
  });
}

async function startOpencode(scope: TestContext): Promise<number> {
  const home = await tempFolder(scope, "opencode");
  const program = join(process.env.TEST_AGENTS ?? "", "node_modules", "opencode", "bin", "opencode");
  const child = spawn(program, ["serve", "--port", "0"], {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_DATA_HOME: home,
      XDG_CONFIG_HOME: home,
      XDG_CACHE_HOME: home,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  defer(scope, async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  for await (const line of createInterface(child.stdout)) if (/listening/.test(line)) break;
  return child.pid ?? 0;
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
    await idleServer(),
  ];
}
