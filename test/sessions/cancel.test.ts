import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StartSessionOptions } from "../../src/copilotSession.js";
import { lifeline } from "../support/lifeline.js";
import { barrier, byPrompt, callTool, runShell } from "../support/model/scriptedModel.js";
import { conversation, type SessionBench, sessionBench, sharedRuntime } from "../support/portal/session.js";
import { sessionsHere } from "../support/portal/sessionsHere.js";

const benchOf = sharedRuntime();
const isDelta = (text: string) => (call: { name: string; args: unknown[] }) => call.args[1] === text;
const delegate = (mode: string) =>
  callTool("task", {
    name: "helper",
    prompt: "inner work",
    agent_type: "general-purpose",
    description: "x",
    mode,
  });
const background = (command: string) => callTool("bash", { command, description: "x", mode: "async" });

type Bench = Awaited<ReturnType<typeof benchOf>>;

/** Cancels the turn `go` as soon as this text has come. */
async function cancelAfter(bench: Bench, text: string, start = (some: Bench) => some.start()) {
  const { session, record } = await start(bench);
  const request = session.sendRequest("go");
  await record.waitFor(isDelta(text));
  await session.cancel();
  await request;
  return { session, record };
}

describe("cancelling a turn", { concurrency: 4 }, () => {
  test("cancelling mid-text keeps the text so far, closes the provider's stream and leaves the session usable", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, byPrompt({ go: [{ text: "half of" }, stuck.step] }));
    const { session, record } = await cancelAfter(bench, "half of");
    record.check(1);
    assert.deepEqual(
      record.messages.map(({ content, interrupted }) => [content, interrupted]),
      [["half of", true]],
    );
    assert.equal(await bench.model.requests[0]?.end, "hungUp");
    await session.sendRequest("hello");
    record.check(2);
    assert.equal(record.messages.at(-1)?.content, "You said: hello");
  });

  test("cancelling mid-reasoning keeps the reasoning so far", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, byPrompt({ go: [{ reasoning: "hmm" }, stuck.step] }));
    const { record } = await cancelAfter(bench, "hmm");
    record.check(1);
    assert.deepEqual([record.reasoning[0]?.content, record.reasoning[0]?.interrupted], ["hmm", true]);
  });

  test("cancelling while a tool runs ends its command", async t => {
    const line = await lifeline(t);
    const bench = await benchOf(t, byPrompt({ go: [runShell(line.command)] }));
    const { record } = await cancelAfter(bench, "up\n");
    await line.ended;
    record.check(1);
    const [tool] = record.tools;
    assert.deepEqual(tool?.result, { content: "up\n" }, "with what had arrived");
    assert.deepEqual([tool?.error?.code, tool?.interrupted], ["interrupted", true]);
  });

  for (const mode of ["sync", "background"]) {
    test(`cancelling while a sub-agent (${mode}) runs ends the sub-agent and its command`, async t => {
      const line = await lifeline(t);
      const script = byPrompt({
        go: [[delegate(mode)], [{ text: "it works" }]],
        "inner work": [runShell(line.command)],
      });
      const bench = await benchOf(t, script);
      const { record } = await cancelAfter(bench, "up\n", startWarm);
      await line.ended;
      record.check(1);
      assert.equal(record.tools.find(({ name }) => name === "bash")?.interrupted, true);
    });

    // The runtime's own session may refuse every later request; the portal then opens another one.
    test(`a session continues after a sub-agent (${mode}) was cancelled in it`, async t => {
      const line = await lifeline(t);
      const script = byPrompt({
        go: [[delegate(mode)], [{ text: "it works" }]],
        "inner work": [runShell(line.command)],
      });
      const { start, model } = await sessionsHere(t, { script });
      const session = await start();
      await session.sendRequest("warm up");
      const request = session.sendRequest("go");
      await line.started;
      await session.cancel();
      await request;
      await line.ended;
      await session.sendRequest("hello");
      assert.equal(conversation(model).at(-1), "user: hello");
      assert.ok(conversation(model).includes("user: go"), "with its memory");
    });
  }

  test("cancelling when only a background command is left ends that command", async t => {
    const line = await lifeline(t);
    const bench = await benchOf(t, byPrompt({ go: [[background(line.command)], [{ text: "it runs" }]] }));
    const { session, record } = await bench.start();
    const request = session.sendRequest("go");
    await Promise.all([line.started, record.waitFor(({ name }) => name === "onEndMessage")]);
    await session.cancel();
    await request;
    await line.ended;
    record.check(1);
    assert.deepEqual([record.messages[0]?.content, record.messages[0]?.interrupted], ["it runs", false]);
    await session.sendRequest("hello");
    record.check(2);
  });

  test("cancelling before the runtime has picked up the request still ends the turn", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, byPrompt({ go: [{ text: "never ends" }, stuck.step] }));
    const { session, record } = await startWarm(bench);
    const request = session.sendRequest("go");
    await session.cancel();
    await request;
    record.check(1);
  });

  test("cancelling twice at once ends one turn, and the next request runs", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, byPrompt({ go: [stuck.step] }));
    const { session, record } = await bench.start();
    const request = session.sendRequest("go").then(() => session.sendRequest("next"));
    await stuck.reached;
    await Promise.all([session.cancel(), session.cancel()]);
    await request;
    record.check(2);
    assert.equal(record.messages[0]?.content, "You said: next");
    await session.cancel();
    record.check(2);
  });
});

/** A runtime's first turn is silent for a while, longer on a busy machine, so another session runs it. */
async function startWarm(bench: SessionBench, options: StartSessionOptions = {}) {
  const { session } = await bench.start();
  await session.sendRequest("warm up");
  return bench.start(options);
}

const startWatched = (bench: SessionBench) => startWarm(bench, { noProgressTimeoutMs: 2500 });

describe("a turn that does not end by itself", { concurrency: 4 }, () => {
  test("a turn that exceeds its request's time limit is stopped and fails", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, byPrompt({ go: [{ text: "half of" }, stuck.step] }));
    const { session, record } = await startWarm(bench);
    const failure = { kind: "timeout", message: "The request took longer than 0.5 s and was stopped." };
    await assert.rejects(session.sendRequest("go", 500), failure);
    record.check(1);
    await session.sendRequest("hello", 60_000);
    record.check(2);
  });

  test("a turn that shows no sign of life is stopped and fails", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, byPrompt({ go: [{ text: "half of" }, stuck.step] }));
    const { session, record } = await startWatched(bench);
    await assert.rejects(session.sendRequest("go"), { kind: "timeout", message: /no sign of life/ });
    record.check(1);
    assert.equal(await bench.model.requests[1]?.end, "hungUp");
  });

  test("a turn that leaves a quiet command in the background succeeds, and the command is ended", async t => {
    const line = await lifeline(t);
    const bench = await benchOf(t, byPrompt({ go: [[background(line.command)], [{ text: "it runs" }]] }));
    const { session, record } = await startWatched(bench);
    await session.sendRequest("go");
    await line.ended;
    record.check(1);
    assert.match(record.notices[0] ?? "", /left running in the background/);
  });
});

describe("stopping a session", { concurrency: 4 }, () => {
  test("stopping a session ends its command, fails the running request and reports the end", async t => {
    const line = await lifeline(t);
    const bench = await benchOf(t, byPrompt({ go: [runShell(line.command)] }));
    const { session, record } = await bench.start();
    const stopped = { name: "SessionCrashedError", kind: "stopped" };
    const outcome = assert.rejects(session.sendRequest("go"), stopped);
    await line.started;
    await session.stop();
    await outcome;
    await line.ended;
    record.check(1);
    assert.equal(session.state, "stopped");
    await session.stop();
    await session.cancel();
    await assert.rejects(session.sendRequest("more"), stopped);
    record.check(1);
  });

  test("a stuck runtime does not delay stopping a session", async t => {
    const bench = await sessionBench(t, byPrompt({}));
    const { session } = await bench.start();
    await session.sendRequest("hello");
    const child = (bench.client as unknown as { cliProcess: { kill(signal: string): void } }).cliProcess;
    child.kill("SIGSTOP");
    await session.stop();
    assert.equal(session.state, "stopped");
  });

  test("a busy session cannot be detached", async t => {
    const stuck = barrier();
    const bench = await benchOf(t, () => [stuck.step]);
    const { session, record } = await bench.start();
    const request = session.sendRequest("go");
    await stuck.reached;
    await assert.rejects(session.detach(), /busy cannot be detached/);
    await session.cancel();
    await request;
    record.check(1);
  });
});
