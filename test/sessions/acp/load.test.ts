import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import { groupScope, tempFolderNow } from "../../support/cleanup.js";
import { callbacksOf, messagesOf, sessionById } from "../../support/portal/restSession.js";

const memories = tempFolderNow(groupScope(), "portal-memories");
const resumable = join(memories, "resumable");
const acpAgents = {
  fake: fakeAgent({}, {}, join(memories, "fake")),
  terse: fakeAgent({ loadAnswersNull: true }, {}, join(memories, "terse")),
  resumable: fakeAgent({ capabilities: { sessionCapabilities: { resume: {}, delete: {} } } }, {}, resumable),
  forgetful: fakeAgent({ capabilities: {} }),
};
const bench = sharedAgent({ acpAgents });
const { start, post, configure, configFile, workingDirectory: cwd } = bench;

describe("A conversation of an ACP agent", () => {
  test("a conversation is loaded with its history, once at a time, and continues", async () => {
    const session = await start();
    await session.query("first");
    await session.untilIdle();
    const list = `acp/agent/fake/sessions?cwd=${encodeURIComponent(cwd)}`;
    const { sessions } = (await bench.portal.api<{ sessions: { sessionId: string; title: string }[] }>(list))
      .body;
    const agentSessionId = sessions[0]?.sessionId;
    const load = (more: object = {}) =>
      post("copilot/session/load/acp%3Afake", { agentSessionId, cwd, ...more });
    assert.equal((await load()).error, "AgentSessionInUse");
    await session.call("stop");
    assert.equal((await load({ agentSessionId: "nobody" })).error, "AgentSessionNotFound");
    assert.equal((await load({ cwd: "relative" })).error, "WorkingDirectoryNotAbsolutePath");

    const loaded = sessionById(bench.portal, String((await load()).sessionId));
    await loaded.query("second");
    const responses = await loaded.untilIdle();
    const names = callbacksOf(responses);
    const [from, to] = [names.indexOf("onReplay"), names.lastIndexOf("onReplay")];
    assert.deepEqual(
      names.slice(from, to + 1).filter(name => name !== "onMessage"),
      [
        "onReplay",
        "onUserMessage",
        "onStartToolExecution",
        "onStartMessage",
        "onEndMessage",
        "onEndToolExecution",
        "onReplay",
      ],
    );
    assert.ok(!names.slice(0, to).includes("onAgentStart"), "the history has no turns");
    assert.deepEqual(messagesOf(responses), ["You said: first", "You said: second"]);

    await loaded.call("stop");
    const hidden = sessionById(bench.portal, String((await load({ replay: false })).sessionId));
    await hidden.query("third");
    assert.deepEqual(messagesOf(await hidden.untilIdle()), ["You said: third"]);
    await hidden.call("stop");
    await hidden.call("reopen", { method: "POST" });
    await hidden.query("fourth");
    const again = await hidden.untilIdle(2);
    assert.deepEqual(messagesOf(again), ["You said: third", "You said: fourth"]);
    assert.ok(!callbacksOf(again).includes("onNotice"), "a reopened session is remembered");
  });

  test("a conversation is reloaded before the next turn when the agent broke one off", async () => {
    const session = await start();
    await session.query(steps({ message: "half a" }, { stop: "cancelled" }));
    await session.query("and the other half?");
    assert.deepEqual(messagesOf(await session.untilIdle(2)), ["half a", "You said: and the other half?"]);
    const { body } = await bench.portal.api<{ messages: { message: { method?: string } }[] }>(
      `acp/session/${session.id}/traffic`,
    );
    const methods = body.messages.map(({ message }) => message.method);
    assert.deepEqual(
      methods.filter(method => /^session\/(prompt|load|close)$/.test(method ?? "")),
      // The agent still has the session open and says so.
      ["session/prompt", "session/load", "session/close", "session/load", "session/prompt"],
    );
  });

  test("a conversation continues after a restart of the bench.portal, whatever the agent answers to a load, and also if it can only be resumed", async () => {
    const sessions = [await start("acp:terse"), await start("acp:resumable")];
    for (const session of sessions) {
      await session.query("before");
      await session.untilIdle();
    }
    await bench.portal.restart();
    for (const session of sessions) {
      await session.query("after");
      const responses = await session.untilIdle(2);
      assert.deepEqual(messagesOf(responses), ["You said: before", "You said: after"]);
      assert.ok(!callbacksOf(responses).includes("onNotice"));
    }
    assert.equal((await readdir(resumable)).length, 1);
    await sessions[1]?.call("delete", { method: "POST" });
    assert.deepEqual(
      await readdir(resumable),
      [],
      "the agent's own conversation is deleted with the session",
    );
  });

  test("a tool that starts after the turn ends with the session", async () => {
    const session = await start();
    await session.query(steps({ later: "late", toolCallId: "t" }));
    await session.waitFor("onStartToolExecution");
    await session.call("stop");
    const end = await session.waitFor("onEndToolExecution");
    assert.deepEqual([end.interrupted, (end.error as { code: string }).code], [true, "cancelled"]);
  });

  test("conversations cannot be loaded or listed if the agent does not declare that it can", async () => {
    const body = { agentSessionId: "x", cwd };
    assert.equal((await post("copilot/session/load/acp%3Aforgetful", body)).error, "NotSupported");
    assert.equal((await bench.portal.api("acp/agent/forgetful/sessions")).body.error, "NotSupported");
    assert.equal((await post("copilot/session/load/acp%3Anobody", body)).error, "ModelIdNotFound");
  });
});

describe("Recorded traffic of a session", () => {
  test("recorded traffic contains no secrets and can be replayed as a test", async () => {
    const session = await start();
    await session.query(steps({ thought: "hm" }, { message: "recorded" }));
    await session.untilIdle();
    const path = `acp/session/${session.id}/traffic`;
    const { messages } = (
      await bench.portal.api<{ messages: { direction: string; message: { method?: string } }[] }>(path)
    ).body;
    assert.deepEqual(
      messages.filter(({ direction }) => direction === "sent").map(({ message }) => message.method),
      ["initialize", "session/new", "session/prompt"],
    );
    const recording = messages.map(message => `${JSON.stringify(message)}\n`).join("");
    assert.match(recording, /\/api\/acp\/mcp\/\[redacted\]/);
    assert.ok(!/\/api\/acp\/mcp\/[\w-]{20}/.test(recording), "the address of the job tools is a secret");
    const file = `${configFile}.traffic`;
    await writeFile(file, recording);
    await configure({ ...acpAgents, again: fakeAgent({ playback: file }) });
    await post("acp/reload");
    const replayed = await start("acp:again");
    await replayed.query("anything");
    assert.deepEqual(messagesOf(await replayed.untilIdle()), ["recorded"]);
  });
});
