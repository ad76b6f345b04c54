import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ownerMarker } from "../../src/backends/orphans.js";
import { RuntimePool, type RuntimePoolOptions } from "../../src/backends/runtime.js";
import { createLog } from "../../src/base/log.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { lifeline } from "../support/lifeline.js";
import {
  barrier,
  byPrompt,
  fault,
  runShell,
  type Script,
  startScriptedModel,
} from "../support/model/scriptedModel.js";
import { conversation, sessionOn } from "../support/portal/session.js";

async function poolBench(
  t: TestContext,
  script: Script,
  { env = {}, ...options }: Partial<RuntimePoolOptions> = {},
) {
  const folder = await tempFolder(t);
  const model = await startScriptedModel(t, script);
  const pool = new RuntimePool({
    env: { ...process.env, COPILOT_HOME: join(folder, "copilot"), ...env },
    marker: await ownerMarker(folder),
    log: createLog("silent"),
    ...options,
  });
  defer(t, () => pool.stop(2000));
  const start = async (sessionOptions = {}) => {
    const runtime = await pool.use();
    const started = await sessionOn(t, runtime.client, model, folder, sessionOptions);
    runtime.attach(started.session);
    return { runtime, ...started };
  };
  return { pool, model, folder, start };
}

/** Resolves when the process has really stopped, which takes a moment on a busy machine. */
async function freeze(child: ChildProcess | undefined): Promise<void> {
  child?.kill("SIGSTOP");
  const state = async () => (await readFile(`/proc/${child?.pid}/stat`, "utf8")).split(") ")[1]?.[0];
  while ((await state()) !== "T") await setImmediate();
}

const runtimeDied = { name: "SessionCrashedError", kind: "runtime-died" };

describe("the runtime", { concurrency: 3 }, () => {
  test("the runtime starts on first use, and all sessions share it", async t => {
    const { pool, start } = await poolBench(t, byPrompt({}));
    const [first, second] = await Promise.all([start(), start()]);
    assert.equal(first.runtime, second.runtime);
    await Promise.all([first.session.sendRequest("a"), second.session.sendRequest("b")]);
    assert.equal((await pool.use()).child?.pid, first.runtime.child?.pid);
  });

  test("when the runtime is killed, the running request fails at once, and the conversation continues in a new one", async t => {
    const stuck = barrier();
    const { model, start } = await poolBench(
      t,
      byPrompt({ first: [{ text: "one" }], second: [{ text: "half of" }, stuck.step] }),
    );
    const { runtime, session, record } = await start();
    await session.sendRequest("first");
    const failing = session.sendRequest("second");
    await record.waitFor(({ name, args }) => name === "onMessage" && args[1] === "half of");
    const outcome = assert.rejects(failing, runtimeDied);
    runtime.child?.kill("SIGKILL");
    await outcome;
    record.check(2);
    assert.deepEqual(
      record.messages.map(({ content, interrupted }) => [content, interrupted]),
      [
        ["one", false],
        ["half of", true],
      ],
    );
    assert.equal(session.state, "crashed");
    await assert.rejects(session.sendRequest("more"), runtimeDied);

    const again = await start({ sessionId: session.id, resume: true });
    assert.notEqual(again.runtime.child?.pid, runtime.child?.pid);
    await again.session.sendRequest("fourth");
    again.record.check(1);
    // The interrupted request is present if the runtime had time to write it.
    const seen = conversation(model).filter(line => line !== "user: second");
    assert.deepEqual(seen, ["user: first", "assistant: one", "user: fourth"]);
  });

  test("after the runtime is killed, an unanswered request can be sent again without asking twice", async t => {
    let asked = 0;
    const second = () => (++asked === 1 ? [fault.hang] : [{ text: "two" }]);
    const { model, start } = await poolBench(t, byPrompt({ second }));
    const { runtime, session } = await start();
    await session.sendRequest("first");
    const failing = assert.rejects(session.sendRequest("second"), runtimeDied);
    await model.waitForRequest(({ userText }) => userText === "second");
    runtime.child?.kill("SIGKILL");
    await failing;
    const again = await start({ sessionId: session.id, resume: true });
    const { rawSection: raw } = again.session;
    // The runtime may not have had time to write the request.
    const request = (await raw.getEvents()).findLast(
      ({ type, data }) => type === "user.message" && data.content === "second",
    );
    if (request) await raw.rpc.history.truncate({ eventId: request.id });
    await again.session.sendRequest("second");
    again.record.check(1);
    const expected = ["user: first", "assistant: You said: first", "user: second"];
    assert.deepEqual(conversation(model), expected);
  });

  test("a runtime that hangs while a session is busy is killed, and the request fails", async t => {
    const stuck = barrier();
    const { start } = await poolBench(t, () => [stuck.step], { pingIntervalMs: 100, pingTimeoutMs: 1500 });
    const { runtime, session, record } = await start();
    const failing = session.sendRequest("go");
    await stuck.reached;
    const outcome = assert.rejects(failing, { ...runtimeDied, message: /does not answer/ });
    const exited = once(runtime.child ?? assert.fail(), "exit");
    await freeze(runtime.child);
    await outcome;
    await exited;
    record.check(1);
  });

  test("a runtime that hangs while it is idle is replaced at the next use", async t => {
    const { pool, start } = await poolBench(t, byPrompt({}), { pingTimeoutMs: 1500 });
    const { runtime, session } = await start();
    await freeze(runtime.child);
    const next = await pool.use();
    assert.notEqual(next.child?.pid, runtime.child?.pid);
    assert.equal(runtime.child?.signalCode, "SIGKILL");
    assert.equal(session.state, "crashed");
  });

  test("a runtime that has run many sessions is replaced by a new one, and no turn is disturbed", async t => {
    const open = barrier();
    const { pool, model, start } = await poolBench(
      t,
      byPrompt({ slow: [{ text: "be" }, open.step, { text: "gun" }] }),
      { maxSessions: 2, drainGraceMs: 0 },
    );
    const idle = await start();
    await idle.session.sendRequest("hello");
    const busy = await start();
    const turn = busy.session.sendRequest("slow");
    await open.reached;
    const old = busy.runtime.child ?? assert.fail();
    const exited = once(old, "exit");

    const fresh = await pool.use();
    assert.notEqual(fresh.child?.pid, old.pid);
    await idle.session.ended;
    assert.equal(idle.session.state, "detached");
    assert.equal(busy.session.state, "busy");
    open.release();
    await turn;
    assert.equal(busy.record.messages[0]?.content, "begun");
    await busy.session.ended;
    assert.equal(busy.session.state, "detached");
    await exited;
    assert.equal(old.exitCode, 0);

    const again = await start({ sessionId: idle.session.id, resume: true });
    assert.equal(again.runtime, fresh);
    await again.session.sendRequest("and on");
    assert.deepEqual(conversation(model), ["user: hello", "assistant: You said: hello", "user: and on"]);
  });

  test("a runtime that uses too much memory is replaced by a new one", async t => {
    const { pool, start } = await poolBench(t, byPrompt({}), { maxRssBytes: 1, drainGraceMs: 0 });
    const first = await pool.use();
    assert.equal(await pool.use(), first, "a fresh runtime has nothing to free");
    const { session, runtime } = await start();
    assert.equal(runtime, first);
    assert.notEqual(await pool.use(), first);
    await session.ended;
    assert.equal(session.state, "detached");
  });

  test("the runtime stops gracefully, along with commands that an agent left in the background", async t => {
    const line = await lifeline(t);
    const background = {
      toolCalls: [{ name: "bash", arguments: { command: line.command, description: "x", mode: "async" } }],
    };
    const { pool, start } = await poolBench(t, byPrompt({ go: [[background], [{ text: "it runs" }]] }));
    const { runtime, session, record } = await start();
    const request = assert.rejects(session.sendRequest("go"), runtimeDied);
    await line.started;
    await record.waitFor(({ name }) => name === "onEndMessage");
    // Longer than a busy machine takes.
    await pool.stop(60_000);
    await request;
    await line.ended;
    assert.equal(runtime.child?.exitCode, 0);
    record.check(1);
    await assert.rejects(pool.use(), { code: "PortalStopping" });
  });

  test("a stuck runtime is killed when the time to stop is up, along with the command that an agent was running", async t => {
    const line = await lifeline(t);
    const { pool, start } = await poolBench(t, byPrompt({ go: [runShell(line.command)] }));
    const { runtime, session, record } = await start();
    const request = assert.rejects(session.sendRequest("go"), runtimeDied);
    await line.started;
    await freeze(runtime.child);
    await pool.stop(200);
    assert.equal(runtime.child?.signalCode, "SIGKILL");
    await line.ended;
    await request;
    record.check(1);
  });

  test("the commands of agents end when their runtime dies", async t => {
    const line = await lifeline(t);
    const { start } = await poolBench(t, byPrompt({ go: [runShell(line.command)] }));
    const { runtime, session, record } = await start();
    const request = assert.rejects(session.sendRequest("go"), runtimeDied);
    await line.started;
    runtime.child?.kill("SIGKILL");
    await request;
    await line.ended;
    record.check(1);
    assert.match(record.tools[0]?.error?.message ?? "", /ended unexpectedly \(SIGKILL\)/);
  });

  test("a runtime that cannot start is a named error, and the next use tries again", async t => {
    const env = { COPILOT_CLI_PATH: "/nonexistent/copilot" };
    const { pool } = await poolBench(t, byPrompt({}), { env });
    await assert.rejects(pool.use(), { code: "RuntimeUnavailable", status: 503 });
    await assert.rejects(pool.use(), { code: "RuntimeUnavailable", status: 503 });
  });

  test("the runtime does not pass the portal's keys to its commands", async t => {
    const secret = "a-key-that-nobody-may-see";
    const env = { COPILOT_PROVIDER_API_KEY: secret, COPILOT_PROVIDER_BEARER_TOKEN: secret };
    const count = runShell("env | grep -c '^COPILOT_PROVIDER_' || true");
    const { start } = await poolBench(t, byPrompt({ go: [[count], [{ text: "ok" }]] }), { env });
    const { session, record } = await start();
    await session.sendRequest("go");
    assert.match(record.tools[0]?.result?.content ?? "", /^0\n/);
  });
});
