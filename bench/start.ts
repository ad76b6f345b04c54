import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { defer, tempFolder } from "../test/support/cleanup.js";
import { startPortal } from "../test/support/portal.js";
import { portalWithModel } from "../test/support/restSession.js";
import { startScriptedModel } from "../test/support/scriptedModel.js";
import { residentMiB } from "./support/process.js";
import { absoluteRow, compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds, timed } from "./support/turns.js";

const rounds = 5;
/** By then the garbage of the start is collected. */
const settleMs = 15_000;

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

/** Before any request. */
async function idleServer(start: (scope: TestContext) => Promise<number>): Promise<number> {
  return inScope(async scope => {
    const pid = await start(scope);
    await delay(settleMs);
    return residentMiB(pid);
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
    ...(await compare({
      rounds: fewestRounds,
      unit: "MiB",
      reference: { name: "idle memory of opencode serve", take: () => idleServer(startOpencode) },
      subjects: {
        "idle memory of the server": {
          take: () => idleServer(async scope => (await startPortal(scope)).pid),
          goal: { atMost: 0.6 },
        },
      },
    })),
  ];
}
