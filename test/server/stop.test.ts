import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import { runStages, Shutdown, type Stage } from "../../src/server/shutdown.js";
import { isWithin } from "../support/pace.js";
import { type Portal, startPortal } from "../support/portal/portal.js";
import { seen } from "../support/seen.js";

const log = pino({ level: "silent" });

/** Waits until everything that a session needs is running. */
async function untilReady(portal: Portal): Promise<Portal> {
  await portal.api("copilot/models");
  await seen(async () => (await portal.api("health")).body.status === "ok");
  return portal;
}

function assertWithinLimit(startedAt: number): void {
  const tookMs = Date.now() - startedAt;
  assert.ok(isWithin(tookMs, 5000, "wall"), `${tookMs} ms`);
}

/** Makes the agent runtime ignore everything but a kill. */
async function freezeAgents(portal: Portal): Promise<void> {
  const agents = (await portal.processes()).filter(pid => pid !== portal.pid);
  assert.ok(agents.length > 0);
  for (const pid of agents) process.kill(pid, "SIGSTOP");
}

// `jobs/survive` stops a portal at work by api/stop, SIGINT and SIGTERM: it ends with exit code 0 and leaves no process.
describe("Stopping the portal", () => {
  test("the portal also stops while its store is still opening, and after SIGHUP leaves no process behind", async t => {
    const portal = await startPortal(t, { store: "embedded" });
    const { code } = await portal.kill("SIGTERM");
    assert.equal(code, 0);
    await portal.restart();
    await untilReady(portal);
    const startedAt = Date.now();
    const hungUp = await portal.kill("SIGHUP");
    assert.deepEqual([hungUp.code, hungUp.signal], [0, null]);
    assertWithinLimit(startedAt);
    assert.deepEqual(await portal.processes(), []);
  });

  test("api/stop answers {}, and the portal does not wait for an agent process that hangs, and ends that too", async t => {
    const portal = await untilReady(await startPortal(t, { store: "embedded" }));
    await freezeAgents(portal);
    const startedAt = Date.now();
    assert.deepEqual(await portal.api("stop"), { status: 200, body: {} });
    const { code, signal } = await portal.exited;
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
    assertWithinLimit(startedAt);
    assert.deepEqual(await portal.processes(), []);
  });

  test("a second signal ends the portal at once", async t => {
    const portal = await untilReady(await startPortal(t, { store: "embedded" }));
    await freezeAgents(portal);
    process.kill(portal.pid, "SIGTERM");
    // An impatient user: the first of these comes too soon after SIGTERM to count as a second signal.
    const impatience = setInterval(() => process.kill(portal.pid, "SIGINT"), 50);
    const { code } = await portal.exited;
    clearInterval(impatience);
    assert.equal(code, 1);
  });
});

describe("The stages of stopping", () => {
  const order = (names: string[]): Stage[] =>
    names.map(name => ({ name, timeoutMs: 20, stop: () => new Promise<void>(setImmediate) }));

  test("the stages run one after the other, and one that fails or hangs does not block the next", async () => {
    const done: string[] = [];
    const stages: Stage[] = [
      { name: "fails", timeoutMs: 1000, stop: () => Promise.reject(new Error("no")) },
      {
        name: "throws",
        timeoutMs: 1000,
        stop: () => {
          throw new Error("no");
        },
      },
      { name: "hangs", timeoutMs: 5, stop: () => new Promise(() => {}) },
      { name: "works", timeoutMs: 1000, stop: () => done.push("works") },
      { name: "is last", timeoutMs: 1000, stop: () => done.push("is last") },
    ];
    await runStages(stages, log);
    assert.deepEqual(done, ["works", "is last"]);
  });

  test("the stages run once, however often the portal is told to stop", async () => {
    const exits: number[] = [];
    let runs = 0;
    const stages = () => {
      runs++;
      return order(["a"]);
    };
    const shutdown = new Shutdown({ stages, exit: code => exits.push(code), log, now: () => 0 });
    assert.equal(shutdown.stopping, false);
    const first = shutdown.stop();
    assert.equal(shutdown.stopping, true);
    await Promise.all([first, shutdown.stop(1), shutdown.signal()]);
    assert.equal(runs, 1);
    assert.deepEqual(exits, [0]);
  });

  test("a second signal does not wait for the stages, unless npm passed the first one on", () => {
    const exits: number[] = [];
    let time = 0;
    const hangs: Stage = { name: "hangs", timeoutMs: 5, stop: () => new Promise(() => {}) };
    const shutdown = new Shutdown({
      stages: () => [hangs],
      exit: code => exits.push(code),
      log,
      now: () => time,
    });
    void shutdown.stop();
    time = 500;
    void shutdown.signal();
    time = 600;
    void shutdown.signal();
    assert.deepEqual(exits, []);
    time = 1000;
    void shutdown.signal();
    assert.deepEqual(exits, [1]);
  });
});
