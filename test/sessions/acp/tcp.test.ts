import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fakeAgent, fakeAgentProgram, portalWithAgent, steps } from "../../support/acp/acp.js";
import { defer, type Scope, tempFolder } from "../../support/cleanup.js";
import { messagesOf } from "../../support/portal/restSession.js";
import { processesWith } from "../../support/processes.js";
import { seen } from "../../support/seen.js";

const tcp = (settings: object) => ({ transport: "tcp", ...settings });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** An agent that someone else has started. */
function foreignAgent(t: Scope, port: number): ChildProcess {
  const child = spawn(process.execPath, [fakeAgentProgram, "--port", String(port)], { stdio: "ignore" });
  defer(t, () => child.kill("SIGKILL"));
  return child;
}

test("An ACP agent over TCP", async t => {
  const [port, busy, silent, own] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const memories = await tempFolder(t, "portal-memories");
  const memoryOf = (agent: string) => join(memories, agent);
  const listens = { args: [fakeAgentProgram, "--port", "{port}"] };
  const { portal, start, tryStart } = await portalWithAgent(t, {
    acpAgents: {
      started: fakeAgent({}, tcp({ ...listens, policy: "ask" }), memoryOf("started")),
      fixed: fakeAgent({}, tcp({ ...listens, port: own }), memoryOf("fixed")),
      foreign: tcp({ port, startupTimeoutSec: 20 }),
      busy: fakeAgent({}, tcp({ ...listens, port: busy })),
      silent: tcp({ port: silent, startupTimeoutSec: 0.5 }),
      listening: tcp({ port: busy }),
    },
  });
  const running = (agent: string) => processesWith("FAKE_AGENT_MEMORY", memoryOf(agent));

  await t.test(
    "an agent whose port is taken or silent is unavailable, and the error names the address",
    async t => {
      foreignAgent(t, busy);
      // Someone else's agent is ready as soon as it answers.
      await seen(async () => !(await tryStart("acp:listening")).error);
      assert.deepEqual(await tryStart("acp:busy"), {
        error: "AgentNotAvailable",
        message: `busy cannot use 127.0.0.1:${busy}: another program has it.`,
      });
      const { error, message } = await tryStart("acp:silent");
      assert.equal(error, "AgentNotAvailable");
      assert.match(String(message), new RegExp(`127\\.0\\.0\\.1:${silent}`));
    },
  );

  await t.test(
    "an agent of a killed portal keeps running, and the next portal reports its address",
    async () => {
      await start("acp:fixed");
      const before = await running("fixed");
      assert.equal(before.length, 1);
      await portal.kill("SIGKILL");
      await portal.restart();
      const { error, message } = await tryStart("acp:fixed");
      assert.equal(error, "AgentNotAvailable");
      assert.match(String(message), new RegExp(`127\\.0\\.0\\.1:${own}: another program has it`));
      assert.deepEqual(await running("fixed"), before, "nothing is killed");
    },
  );

  await t.test(
    "an agent that the portal starts listens on a free port, answers and can be cancelled",
    async () => {
      const session = await start("acp:started");
      const options = [{ optionId: "yes", kind: "allow_once", name: "Yes" }];
      const toolCall = { toolCallId: "t", title: "ls", kind: "execute" };
      await session.query(
        steps({ message: "hello" }, { ask: "session/request_permission", params: { toolCall, options } }),
      );
      const { requestId } = await session.waitFor("onPermissionRequest");
      await session.call("permission", { body: JSON.stringify({ requestId, optionId: "yes" }) });
      const responses = await session.untilIdle();
      assert.equal(messagesOf(responses)[1], '{"outcome":{"outcome":"selected","optionId":"yes"}}');
      await session.query(steps({ hang: true }));
      await session.call("cancel");
      await session.untilIdle(2);
      assert.equal((await running("started")).length, 1);
    },
  );

  let second: ChildProcess | undefined;
  await t.test("an agent that someone else started is awaited, and reconnected after a loss", async t2 => {
    const starting = start("acp:foreign");
    const first = foreignAgent(t2, port);
    const session = await starting;
    await session.query("one");
    await session.untilIdle();
    first.kill("SIGKILL");
    const lost = await session.waitFor("onIdle").then(async () => {
      for await (const { data } of session.events()) if (data.sessionError) return data.sessionError;
      return undefined;
    });
    assert.match(String(lost), /^foreign closed the connection\./);
    second = foreignAgent(t, port);
    await session.query("two");
    assert.equal(messagesOf(await session.untilIdle(2)).at(-1), "You said: two");
  });

  await t.test("an agent ends with the portal only if that portal started it", async () => {
    await portal.stop();
    assert.deepEqual(await running("started"), []);
    assert.ok(second);
    assert.equal(second.exitCode ?? second.signalCode, null, "it is not ours to end");
  });
});
