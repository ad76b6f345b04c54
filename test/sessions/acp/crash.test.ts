import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { RestartBackoff } from "../../../src/sessions/acp/restartBackoff.js";
import { fakeAgent, portalWithAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import { groupScope, tempFolderNow } from "../../support/cleanup.js";
import { type AnyResponse, collectUntil } from "../../support/live/sse.js";
import { callbacksOf, messagesOf } from "../../support/portal/restSession.js";
import { processesWith } from "../../support/processes.js";
import { seen } from "../../support/seen.js";

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

const memories = tempFolderNow(groupScope(), "portal-memories");
const memoryOf = (agent: string) => join(memories, agent);
/** Each test has an agent of its own. */
const acpAgents = {
  dying: fakeAgent({}, {}, memoryOf("dying")),
  forgetful: fakeAgent(),
  losing: fakeAgent({}, {}, memoryOf("losing")),
  broken: fakeAgent({ exitAtOnce: 1, stderr: "no configuration" }),
  late: fakeAgent(),
  idle: fakeAgent({}, { idleShutdownSec: 0.1 }, memoryOf("idle")),
};
const bench = sharedAgent({ acpAgents });
const { start, tryStart, post, configure } = bench;

async function agentOf(agentId: string): Promise<Agent | undefined> {
  const { body } = await bench.portal.api<{ agents: Agent[] }>("acp/agents");
  return body.agents.find(({ id }) => id === agentId);
}

describe("An ACP agent that dies", () => {
  test("a death during three turns ends each of them once, and the next request continues", async () => {
    const sessions = [await start("acp:dying"), await start("acp:dying"), await start("acp:dying")];
    const [first, ...others] = sessions;
    assert.ok(first);
    for (const session of others) await session.query(steps(tool, { message: "working" }, { hang: true }));
    for (const session of others) await session.waitFor("onStartMessage");
    await first.query("remember me");
    await first.untilIdle();
    await first.query(steps(tool, { stderr: "out of memory" }, { stderr: "goodbye" }, { until: "never" }));
    await first.waitFor("onStartToolExecution");
    const [pid] = await agentProcesses("dying");
    assert.ok(pid);
    process.kill(pid, "SIGKILL");
    for (const session of sessions) {
      const responses = await session.untilIdle(session === first ? 2 : 1);
      const error = "dying was ended by SIGKILL.\nout of memory\ngoodbye";
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
    assert.equal((await agentOf("dying"))?.state, "ready");
  });

  test("an exit between turns disturbs no session, and lost memory is reported at the next request", async () => {
    const session = await start("acp:forgetful");
    const other = await start("acp:forgetful");
    await session.query("hello");
    await session.untilIdle();
    await other.query(steps({ message: "bye" }, { exit: 0 }));
    assert.match(String(errorsOf(await other.untilIdle())[0]), /^forgetful exited with code 0\./);
    await session.query("still there?");
    const responses = await session.untilIdle(2);
    assert.deepEqual(errorsOf(responses), [], "the idle session was not disturbed");
    assert.deepEqual(noticesOf(responses), [forgotten]);
    assert.equal(messagesOf(responses).at(-1), "You said: still there?");
  });

  test("a session that the agent forgot is loaded once, and the request is sent again", async () => {
    const session = await start("acp:losing");
    await session.query(steps({ message: "soon lost" }, { forgetSession: true }));
    await session.query("where were we?");
    const responses = await session.untilIdle(2);
    assert.deepEqual(messagesOf(responses), ["soon lost", "You said: where were we?"]);
    assert.deepEqual([errorsOf(responses), noticesOf(responses)], [[], []]);
    assert.equal(callbacksOf(responses).filter(name => name === "onAgentStart").length, 2);
  });

  test("an agent that keeps dying is given up until someone restarts it", async () => {
    for (let attempt = 0; attempt < 5; attempt++) {
      const { error, message } = await tryStart("acp:broken");
      assert.equal(error, "AgentNotAvailable");
      assert.equal(message, "broken exited with code 1.\nno configuration");
    }
    const { state, stderr } = (await agentOf("broken")) ?? {};
    assert.deepEqual([state, stderr], ["failed", ["no configuration"]]);
    assert.match(String((await tryStart("acp:broken")).message), /failed too often/);
    await configure({ ...acpAgents, broken: fakeAgent() });
    assert.deepEqual(await post("acp/reload"), { agents: Object.keys(acpAgents).length, problems: [] });
    assert.deepEqual(await post("acp/agent/broken/restart"), {});
    assert.equal((await post("acp/agent/broken/test")).ok, true);
    assert.equal((await agentOf("broken"))?.state, "ready");
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
  test("cancel and stop do not wait for a slow agent", async () => {
    const [first, second] = [await start("acp:late"), await start("acp:late")];
    await configure({ ...acpAgents, late: fakeAgent({ refuse: { initialize: "hang" } }) });
    await post("acp/reload");
    await post("acp/agent/late/restart");
    for (const session of [first, second]) await session.query("are you there?");
    await seen(async () => Boolean((await first.call("cancel")).canceled));
    assert.deepEqual(callbacksOf(await first.untilIdle()), ["onUserRequest", "onIdle"]);
    assert.deepEqual(await second.call("stop"), { result: "Closed" });
  });
});

describe("An idle ACP agent", () => {
  test("an idle agent shuts down after its idle time", async () => {
    const session = await start("acp:idle");
    assert.equal((await agentProcesses("idle")).length, 1);
    await session.call("stop");
    await seen(async () => (await agentOf("idle"))?.state === "stopped");
    assert.deepEqual(await agentProcesses("idle"), []);
    assert.equal((await post("acp/agent/idle/test")).ok, true);
  });
});

test("ACP agents and the end of the portal", async t => {
  const { portal, start, tryStart } = await portalWithAgent(t, {
    acpAgents: {
      stubborn: fakeAgent({ staysAlive: true, ignoreCancel: true }, {}, memoryOf("stubborn")),
      slow: fakeAgent({ refuse: { initialize: "hang" }, staysAlive: true }),
    },
  });
  const session = await start("acp:stubborn");

  await t.test(
    "agents of a killed portal are ended by the next one, and the conversation continues",
    async () => {
      await session.query("before");
      await session.untilIdle();
      const [before] = await agentProcesses("stubborn");
      await portal.kill("SIGKILL");
      await portal.restart();
      await session.query("after");
      const responses = await session.untilIdle(2);
      assert.deepEqual(messagesOf(responses), ["You said: before", "You said: after"]);
      assert.deepEqual(noticesOf(responses), []);
      const now = await agentProcesses("stubborn");
      assert.equal(now.length, 1);
      assert.notEqual(now[0], before);
    },
  );

  await t.test(
    "no process survives the portal, neither an agent that ignores signals nor one that is still starting",
    async () => {
      await session.query(steps({ message: "busy" }, { hang: true }));
      await collectUntil(session.events(), ({ data }) => data.delta === "busy");
      const starting = tryStart("acp:slow").catch(() => undefined);
      const slow = async () =>
        (await portal.api<{ agents: Agent[] }>("acp/agents")).body.agents.find(({ id }) => id === "slow")
          ?.state;
      await seen(async () => (await slow()) === "starting");
      assert.equal((await agentProcesses("stubborn")).length, 1);
      assert.equal((await portal.stop()).code, 0);
      await starting;
      assert.deepEqual(await agentProcesses("stubborn"), []);
      assert.deepEqual(await portal.processes(), [], "they carry the portal's own environment");
    },
  );
});

/** The processes of an agent, by its memory. */
const agentProcesses = (agent: string) => processesWith("FAKE_AGENT_MEMORY", memoryOf(agent));
