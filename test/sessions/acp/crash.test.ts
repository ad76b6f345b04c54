import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RestartBackoff } from "../../../src/sessions/acp/restartBackoff.js";
import { fakeAgent, portalWithAgent, steps } from "../../support/acp.js";
import { processesWith } from "../../support/processes.js";
import { callbacksOf, messagesOf } from "../../support/restSession.js";
import type { AnyResponse } from "../../support/sse.js";

const errorsOf = (responses: readonly AnyResponse[]) =>
  responses.map(({ sessionError }) => sessionError).filter(error => error !== undefined);
const noticesOf = (responses: readonly AnyResponse[]) =>
  responses.filter(({ callback }) => callback === "onNotice").map(({ title }) => title);
const tool = { update: { sessionUpdate: "tool_call", toolCallId: "t", title: "Slow" } };
const forgotten = "The agent restarted and does not remember this conversation.";

interface Agent {
  id: string;
  state: string;
  sessions: number;
  lastError?: string;
  stderr: string[];
}

describe("An ACP agent that dies", () => {
  test("a death during three turns ends each of them once, and the next request continues", async t => {
    const { portal, start, memory } = await portalWithAgent(t, { remembers: true });
    const sessions = [await start(), await start(), await start()];
    const [first, ...others] = sessions;
    assert.ok(first);
    for (const session of others) await session.query(steps(tool, { message: "working" }, { hang: true }));
    for (const session of others) await session.waitFor("onStartMessage");
    await first.query("remember me");
    await first.untilIdle();
    await first.query(steps(tool, { stderr: "out of memory" }, { stderr: "goodbye" }, { until: "never" }));
    await first.waitFor("onStartToolExecution");
    const [pid] = await agentProcesses(memory);
    assert.ok(pid);
    process.kill(pid, "SIGKILL");
    for (const session of sessions) {
      const responses = await session.untilIdle(session === first ? 2 : 1);
      const error = "fake was ended by SIGKILL.\nout of memory\ngoodbye";
      assert.deepEqual(errorsOf(responses), [error]);
      const end = responses.find(({ callback }) => callback === "onEndToolExecution");
      assert.equal(Object(end?.error).code, "agent_exited");
      const names = callbacksOf(responses);
      assert.deepEqual(names.slice(-3), ["onAgentEnd", "sessionError", "onIdle"]);
      assert.ok(names.indexOf("onEndToolExecution") < names.lastIndexOf("onAgentEnd"));
      for (const kind of ["Message", "ToolExecution"])
        assert.equal(
          names.filter(name => name === `onStart${kind}`).length,
          names.filter(name => name === `onEnd${kind}`).length,
        );
    }
    await first.query("and now");
    const after = await first.untilIdle(3);
    assert.equal(messagesOf(after).at(-1), "You said: and now");
    assert.deepEqual(noticesOf(after), [], "it was loaded again, and its history stays hidden");
    const { body } = await portal.api<{ agents: Agent[] }>("acp/agents");
    assert.equal(body.agents[0]?.state, "ready");
  });

  test("an exit between turns disturbs no session, and lost memory is reported at the next request", async t => {
    const { start } = await portalWithAgent(t);
    const session = await start();
    const other = await start();
    await session.query("hello");
    await session.untilIdle();
    await other.query(steps({ message: "bye" }, { exit: 0 }));
    assert.match(String(errorsOf(await other.untilIdle())[0]), /^fake exited with code 0\./);
    await session.query("still there?");
    const responses = await session.untilIdle(2);
    assert.deepEqual(errorsOf(responses), [], "the idle session was not disturbed");
    assert.deepEqual(noticesOf(responses), [forgotten]);
    assert.equal(messagesOf(responses).at(-1), "You said: still there?");
  });

  test("a session that the agent forgot is loaded once, and the request is sent again", async t => {
    const { start } = await portalWithAgent(t, { remembers: true });
    const session = await start();
    await session.query(steps({ message: "soon lost" }, { forgetSession: true }));
    await session.query("where were we?");
    const responses = await session.untilIdle(2);
    assert.deepEqual(messagesOf(responses), ["soon lost", "You said: where were we?"]);
    assert.deepEqual([errorsOf(responses), noticesOf(responses)], [[], []]);
    assert.equal(callbacksOf(responses).filter(name => name === "onAgentStart").length, 2);
  });

  test("an agent that keeps dying is given up until someone restarts it", async t => {
    const { portal, tryStart, post, configure } = await portalWithAgent(t, {
      behaviour: { exitAtOnce: 1, stderr: "no configuration" },
    });
    for (let attempt = 0; attempt < 5; attempt++) {
      const { error, message } = await tryStart();
      assert.equal(error, "AgentNotAvailable");
      assert.equal(message, "fake exited with code 1.\nno configuration");
    }
    const agents = async () => (await portal.api<{ agents: Agent[] }>("acp/agents")).body.agents;
    assert.equal((await agents())[0]?.state, "failed");
    assert.deepEqual((await agents())[0]?.stderr, ["no configuration"]);
    assert.match(String((await tryStart()).message), /failed too often/);
    await configure({ fake: fakeAgent() });
    assert.deepEqual(await post("acp/reload"), { agents: 1, problems: [] });
    assert.deepEqual(await post("acp/agent/fake/restart"), {});
    assert.equal((await post("acp/agent/fake/test")).ok, true);
    assert.equal((await agents())[0]?.state, "ready");
  });

  test("the wait before each restart grows", () => {
    const backoff = new RestartBackoff();
    const waits = [backoff.waitMs];
    for (let failure = 0; failure < 6; failure++) {
      backoff.failed(failure * 1000);
      waits.push(backoff.waitMs);
    }
    assert.deepEqual(waits, [0, 0, 1000, 2000, 5000, 10_000, 10_000]);
    assert.deepEqual([backoff.isGivenUp(6000), backoff.isGivenUp(200_000)], [true, false]);
    backoff.reset();
    assert.deepEqual([backoff.isGivenUp(6000), backoff.waitMs], [false, 0]);
  });
});

describe("An ACP agent that is slow to come back", () => {
  test("cancel and stop do not wait for a slow agent", async t => {
    const { start, configure, post } = await portalWithAgent(t);
    const [first, second] = [await start(), await start()];
    await configure({ fake: fakeAgent({ refuse: { initialize: "hang" } }) });
    await post("acp/reload");
    await post("acp/agent/fake/restart");
    for (const session of [first, second]) await session.query("are you there?");
    while (!(await first.call("cancel")).canceled) await new Promise(setImmediate);
    assert.deepEqual(callbacksOf(await first.untilIdle()), ["onUserRequest", "onIdle"]);
    assert.deepEqual(await second.call("stop"), { result: "Closed" });
  });
});

describe("ACP agents and the end of the portal", () => {
  test("no process survives the portal, not even an agent that ignores signals", async t => {
    const { portal, start, memory } = await portalWithAgent(t, {
      remembers: true,
      behaviour: { staysAlive: true, ignoreCancel: true },
    });
    const session = await start();
    await session.query(steps({ hang: true }));
    await session.waitFor("onAgentStart");
    assert.equal((await agentProcesses(memory)).length, 1);
    const begun = performance.now();
    assert.equal((await portal.stop()).code, 0);
    assert.ok(performance.now() - begun < 8000, "the portal stops in time");
    assert.deepEqual(await agentProcesses(memory), []);
  });

  test("agents that are still starting can be cancelled and ended", async t => {
    const { portal, tryStart, start } = await portalWithAgent(t, {
      acpAgents: {
        fake: fakeAgent({}, {}, "x"),
        slow: fakeAgent({ refuse: { initialize: "hang" }, staysAlive: true }),
      },
    });
    assert.ok(await start());
    const starting = tryStart("acp:slow").catch(() => undefined);
    const slow = async () =>
      (await portal.api<{ agents: Agent[] }>("acp/agents")).body.agents.find(({ id }) => id === "slow")
        ?.state;
    while ((await slow()) !== "starting") await new Promise(setImmediate);
    assert.equal((await portal.stop()).code, 0);
    await starting;
    assert.deepEqual(await portal.processes(), [], "they carry the portal's own environment");
  });

  test("agents of a killed portal are ended by the next one, and the conversation continues", async t => {
    const { portal, start, memory } = await portalWithAgent(t, {
      remembers: true,
      behaviour: { staysAlive: true },
    });
    const session = await start();
    await session.query("before");
    await session.untilIdle();
    const [before] = await agentProcesses(memory);
    await portal.kill("SIGKILL");
    await portal.restart();
    await session.query("after");
    const responses = await session.untilIdle(2);
    assert.deepEqual(messagesOf(responses), ["You said: before", "You said: after"]);
    assert.deepEqual(noticesOf(responses), []);
    const now = await agentProcesses(memory);
    assert.equal(now.length, 1);
    assert.notEqual(now[0], before);
  });

  test("an idle agent shuts down after its idle time", async t => {
    const { portal, start, memory, post } = await portalWithAgent(t, {
      remembers: true,
      settings: { idleShutdownSec: 0.1 },
    });
    const session = await start();
    assert.equal((await agentProcesses(memory)).length, 1);
    await session.call("stop");
    const state = async () => (await portal.api<{ agents: Agent[] }>("acp/agents")).body.agents[0]?.state;
    while ((await state()) !== "stopped") await new Promise(setImmediate);
    assert.deepEqual(await agentProcesses(memory), []);
    assert.equal((await post("acp/agent/fake/test")).ok, true);
  });
});

/** The fake agents of one test, by their memory. */
const agentProcesses = (memory: string) => processesWith("FAKE_AGENT_MEMORY", memory);
