import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { fakeAgent, fakeAgentProgram, portalWithAgent, steps } from "../../support/acp.js";
import { defer, type Scope } from "../../support/cleanup.js";
import { processesWith } from "../../support/processes.js";
import { messagesOf } from "../../support/restSession.js";

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

describe("An ACP agent over TCP", () => {
  test("an agent that the portal starts listens on a free port, answers, can be cancelled and ends with the portal", async t => {
    const { portal, start, memory } = await portalWithAgent(t, {
      remembers: true,
      settings: tcp({ args: [fakeAgentProgram, "--port", "{port}"], policy: "ask" }),
    });
    const session = await start();
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
    assert.equal((await processesWith("FAKE_AGENT_MEMORY", memory)).length, 1);
    await portal.stop();
    assert.deepEqual(await processesWith("FAKE_AGENT_MEMORY", memory), []);
  });

  test("an agent that someone else started is awaited, reconnected after a loss, and never ended", async t => {
    const port = await freePort();
    const { portal, start } = await portalWithAgent(t, {
      acpAgents: { fake: tcp({ port, startupTimeoutSec: 20 }) },
    });
    const starting = start();
    const first = foreignAgent(t, port);
    const session = await starting;
    await session.query("one");
    await session.untilIdle();
    first.kill("SIGKILL");
    const lost = await session.waitFor("onIdle").then(async () => {
      for await (const { data } of session.events()) if (data.sessionError) return data.sessionError;
      return undefined;
    });
    assert.match(String(lost), /^fake closed the connection\./);
    const second = foreignAgent(t, port);
    await session.query("two");
    assert.equal(messagesOf(await session.untilIdle(2)).at(-1), "You said: two");
    await portal.stop();
    assert.equal(second.exitCode ?? second.signalCode, null, "it is not ours to end");
  });

  test("an agent of a killed portal keeps running, and the next portal reports its address", async t => {
    const port = await freePort();
    const { portal, start, tryStart, memory } = await portalWithAgent(t, {
      remembers: true,
      settings: tcp({ port, args: [fakeAgentProgram, "--port", "{port}"] }),
    });
    await start();
    const before = await processesWith("FAKE_AGENT_MEMORY", memory);
    await portal.kill("SIGKILL");
    await portal.restart();
    const { error, message } = await tryStart();
    assert.equal(error, "AgentNotAvailable");
    assert.match(String(message), new RegExp(`127\\.0\\.0\\.1:${port}: another program has it`));
    assert.deepEqual(await processesWith("FAKE_AGENT_MEMORY", memory), before, "nothing is killed");
  });

  test("an agent whose port is taken or silent is unavailable, and the error names the address", async t => {
    const busy = await freePort();
    const silent = await freePort();
    foreignAgent(t, busy);
    const { tryStart } = await portalWithAgent(t, {
      acpAgents: {
        busy: fakeAgent({}, tcp({ port: busy, args: [fakeAgentProgram, "--port", "{port}"] })),
        silent: tcp({ port: silent, startupTimeoutSec: 0.5 }),
        listening: tcp({ port: busy }),
      },
    });
    // Someone else's agent is ready as soon as it answers.
    while ((await tryStart("acp:listening")).error) await new Promise(setImmediate);
    assert.deepEqual(await tryStart("acp:busy"), {
      error: "AgentNotAvailable",
      message: `busy cannot use 127.0.0.1:${busy}: another program has it.`,
    });
    const { error, message } = await tryStart("acp:silent");
    assert.equal(error, "AgentNotAvailable");
    assert.match(String(message), new RegExp(`127\\.0\\.0\\.1:${silent}`));
  });
});
