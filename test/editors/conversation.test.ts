import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { McpServer, SessionConfigOption } from "@agentclientprotocol/sdk";
import {
  type AcpClient,
  rpcErrorOf,
  spawnAcp,
  startAcp,
  textOf,
  toolUpdates,
} from "../support/acp/acpClient.js";
import type { AnyResponse } from "../support/live/sse.js";
import { barrier, byPrompt, fault, runShell, type Script } from "../support/model/scriptedModel.js";
import { portalWithModel, requestsIn, sessionById } from "../support/portal/restSession.js";

const models = ["gpt-5.1-mini", "plain-model"];
const gate = barrier();
const websiteGate = barrier();
const sameGate = barrier();
const script: Script = byPrompt({
  "the same words": [[sameGate.step, { text: "the answer " }]],
  "say hello": [
    [{ reasoning: "I should use the shell." }, runShell("echo hello from the shell")],
    [{ text: "The shell said hello." }],
  ],
  "fail please": [[fault.http(400, {}, "the scripted provider says no")]],
  "wait for the website": [[websiteGate.step, { text: "it was the website" }]],
  "wait for me": [[{ text: "Half of it" }, gate.step, { text: ", and the rest." }]],
});

const modelOf = (options: readonly SessionConfigOption[] | null | undefined) => {
  const option = options?.find(({ id }) => id === "model");
  assert.ok(option?.type === "select");
  return option;
};

/** stdout as an editor without the SDK sees it. */
const linesOf = (editor: Pick<AcpClient, "stdout">) =>
  editor.stdout
    .split("\n")
    .filter(Boolean)
    .map(line => JSON.parse(line) as AnyResponse);

test("An editor uses the models of a portal", async t => {
  const { portal, model, workingDirectory } = await portalWithModel(t, { script, models });
  const args = ["--server", portal.url];
  const editor = await startAcp(t, { args });

  await t.test("a prompt streams thoughts, tool calls and a message, then the turn ends", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    assert.deepEqual(await editor.prompt(sessionId, "say hello"), { stopReason: "end_turn" });
    const updates = editor.updates(sessionId);
    assert.equal(textOf(updates, "agent_thought_chunk"), "I should use the shell.");
    assert.equal(textOf(updates, "agent_message_chunk"), "The shell said hello.");
    const chunks = updates.filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
    assert.ok(chunks.every(chunk => "messageId" in chunk && chunk.messageId));
    const [start, ...rest] = toolUpdates(updates);
    assert.deepEqual(
      [start?.title, start?.name, start?.kind, start?.status],
      ["echo hello from the shell", "bash", "execute", "in_progress"],
    );
    assert.match(JSON.stringify(start?.rawInput), /"command":"echo hello from the shell"/);
    assert.equal(rest.at(-1)?.status, "completed");
    assert.match(JSON.stringify(rest.at(-1)?.content), /hello from the shell/);
    const titles = updates.flatMap(update =>
      update.sessionUpdate === "session_info_update" ? [update.title] : [],
    );
    assert.deepEqual(titles, ["say hello"]);

    const { body } = await portal.api(`copilot/session/${sessionId}`);
    assert.deepEqual([body.title, body.workingDirectory], ["say hello", workingDirectory]);
    const lines = linesOf(editor);
    assert.ok(lines.every(({ jsonrpc }) => jsonrpc === "2.0"));
    const answered = lines.findIndex(({ result }) => (result as AnyResponse)?.sessionId === sessionId);
    const commands = lines.findIndex(line => JSON.stringify(line).includes("available_commands_update"));
    assert.ok(answered >= 0 && commands > answered, "the commands follow their session");
  });

  await t.test("the handshake declares the capabilities, and nothing is answered before it", async t => {
    const { child, output } = await spawnAcp(t, { args });
    const ask = async (id: number, method: string, params: object) => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      for (;;) {
        const found = linesOf(output).find(line => line.id === id);
        if (found) return found;
        await once(child.stdout, "data");
      }
    };
    const early = await ask(1, "session/new", { cwd: workingDirectory, mcpServers: [] });
    assert.equal((early.error as AnyResponse).code, -32600);
    child.stdin.write("this is no JSON\n");
    for (const protocolVersion of [0, 1, 2, 99]) {
      const { result } = await ask(10 + protocolVersion, "initialize", { protocolVersion });
      const { agentCapabilities, agentInfo, ...rest } = result as Record<string, AnyResponse>;
      assert.deepEqual(rest, { protocolVersion: 1, authMethods: [] });
      assert.equal(agentInfo?.name, "copilot-portal");
      assert.deepEqual(agentCapabilities, {
        loadSession: false,
        promptCapabilities: { image: false, audio: false, embeddedContext: false },
        sessionCapabilities: { list: {}, close: {} },
      });
    }
    const unknown = await ask(200, "session/fly", {});
    assert.equal((unknown.error as AnyResponse).code, -32601);
    const withTerminal = { protocolVersion: 1, clientCapabilities: { auth: { terminal: true } } };
    const { result } = await ask(201, "initialize", withTerminal);
    assert.match(JSON.stringify(result), /"authMethods":\[\{"type":"terminal".*"args":\["--login"\]/);
  });

  await t.test("invalid requests are refused with a reason and do no harm", async () => {
    const file = join(workingDirectory, "a-file");
    await writeFile(file, "");
    for (const cwd of ["", " ", "relative", "./x", join(workingDirectory, "nowhere"), file]) {
      const { code, message } = await rpcErrorOf(editor.newSession(cwd));
      assert.equal(code, -32602, `${cwd}: ${message}`);
    }
    for (const params of [{}, { cwd: 5 }, { cwd: workingDirectory, mcpServers: "none" }])
      assert.equal((await rpcErrorOf(editor.agent.request<unknown>("session/new", params))).code, -32602);

    const { sessionId } = await editor.newSession(workingDirectory);
    const prompt = (blocks: unknown) =>
      rpcErrorOf(editor.agent.request<unknown>("session/prompt", { sessionId, prompt: blocks }));
    const image = { type: "image", data: "", mimeType: "image/png" };
    for (const blocks of [[], [{ type: "text", text: " \n" }], [image], "text", [{ type: "hologram" }]])
      assert.equal((await prompt(blocks)).code, -32602, JSON.stringify(blocks));
    const tooLong = await prompt([{ type: "text", text: "x".repeat(2 ** 20 + 1) }]);
    assert.equal(tooLong.code, -32602, tooLong.message);

    const calls: [string, object][] = [
      ["session/prompt", { prompt: [{ type: "text", text: "hi" }] }],
      ["session/set_config_option", { configId: "model", value: "plain-model" }],
    ];
    for (const [method, params] of calls) {
      const call = editor.agent.request<unknown>(method, { sessionId: "nobody", ...params });
      const { code, data } = await rpcErrorOf(call);
      assert.deepEqual({ code, data }, { code: -32002, data: { sessionId: "nobody" } });
    }
    await editor.cancel("nobody");
    assert.deepEqual(await editor.prompt(sessionId, "still there?"), { stopReason: "end_turn" });
  });

  await t.test("links and embedded text reach the model in order", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    await editor.agent.request("session/prompt", {
      sessionId,
      prompt: [
        { type: "text", text: "Compare \ud800\u0000\r\nthis:" },
        { type: "resource_link", name: "a.ts", uri: "file:///src/a.ts" },
        { type: "resource", resource: { uri: "file:///src/b.ts", text: "const b = `1`;" } },
      ],
    });
    const { request } = await model.waitForRequest(({ userText }) => userText.includes("Compare"));
    const said =
      "Compare \ufffd\ufffd\r\nthis:\n[a.ts](file:///src/a.ts)\nfile:///src/b.ts:\n```\nconst b = `1`;\n```";
    assert.ok(request.userText.includes(said), request.userText);
  });

  await t.test("the editor's MCP servers are not used, and one notice tells the user", async t => {
    const editor = await startAcp(t, { args, capabilities: { session: { notices: {} } } });
    const mcpServers: McpServer[] = [{ name: "files", command: "files-server", args: [], env: [] }];
    const { sessionId } = await editor.agent.request("session/new", { cwd: workingDirectory, mcpServers });
    await editor.prompt(sessionId, "hello");
    await editor.prompt(sessionId, "hello again");
    const notices = editor.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "notice");
    assert.equal(notices.length, 1);
    assert.match(JSON.stringify(notices), /MCP servers of the editor are not used/);
  });

  await t.test(
    "a failed turn is an error with the provider's message, and the session continues",
    async () => {
      const { sessionId } = await editor.newSession(workingDirectory);
      const { code, message } = await rpcErrorOf(editor.prompt(sessionId, "fail please"));
      assert.equal(code, -32603);
      assert.match(message, /the scripted provider says no/);
      assert.deepEqual(await editor.prompt(sessionId, "still there?"), { stopReason: "end_turn" });
    },
  );

  await t.test(
    "an editor's prompts run one at a time, and requests from the website are shown too",
    async () => {
      const { sessionId } = await editor.newSession(workingDirectory);
      const running = editor.prompt(sessionId, "wait for me");
      await gate.reached;
      const { code, message } = await rpcErrorOf(editor.prompt(sessionId, "and this?"));
      assert.deepEqual([code, message], [-32602, "a prompt is already running"]);
      await portal.api(`copilot/session/${sessionId}/query`, { body: "asked on the website" });
      gate.release();
      assert.deepEqual(await running, { stopReason: "end_turn" });
      assert.match(textOf(editor.updates(sessionId), "agent_message_chunk"), /^Half of it, and the rest\./);
      await editor.waitFor(
        (update, of) => of === sessionId && textOf([update], "user_message_chunk") === "asked on the website",
      );

      await portal.api(`copilot/session/${sessionId}/query`, { body: "wait for the website" });
      await websiteGate.reached;
      assert.equal((await rpcErrorOf(editor.prompt(sessionId, "and this?"))).code, -32602);
      websiteGate.release();
      await editor.waitFor(
        (update, of) => of === sessionId && textOf([update], "agent_message_chunk").includes("it was"),
      );
    },
  );

  await t.test("the same words from the editor and the website are two requests", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "the same words");
    await sameGate.reached;
    const session = sessionById(portal, sessionId);
    const others = [await session.query("the same words"), await session.query("the same words")];
    sameGate.release();
    assert.deepEqual(await running, { stopReason: "end_turn" });
    const all = await session.untilIdle(3);
    assert.deepEqual(requestsIn(all, "onIdle").slice(1), others);
    const answers = () => textOf(editor.updates(sessionId), "agent_message_chunk").match(/the answer/g);
    await editor.waitFor(() => answers()?.length === 3);
    const shown = editor.updates(sessionId).filter(update => textOf([update], "user_message_chunk") !== "");
    assert.equal(shown.length, 2, "the editor sees the requests of others, not its own");
  });

  await t.test("the model can be chosen until the first prompt", async t => {
    const editor = await startAcp(t, { args: [...args, "--model", "plain-model"] });
    const { sessionId, configOptions } = await editor.newSession(workingDirectory);
    assert.equal(modelOf(configOptions).currentValue, "plain-model");
    assert.deepEqual(
      modelOf(configOptions)
        .options.map(option => "value" in option && option.value)
        .toSorted(),
      models.toSorted(),
    );
    const set = (configId: string, value: string) =>
      editor.agent.request("session/set_config_option", { sessionId, configId, value });
    assert.equal((await rpcErrorOf(set("model", "no-such-model"))).code, -32602);
    assert.equal((await rpcErrorOf(set("colour", "red"))).code, -32602);
    const changed = await set("model", "gpt-5.1-mini");
    assert.equal(modelOf(changed.configOptions).currentValue, "gpt-5.1-mini");
    const unused = await portal.api(`copilot/session/${sessionId}`);
    assert.equal(unused.body.error, "SessionNotFound", "the session on the other model is not left behind");
    await editor.prompt(sessionId, "which model are you?");
    const { request } = await model.waitForRequest(({ userText }) => userText.includes("which model"));
    assert.equal(request.body.model, "gpt-5.1-mini");
    const late = await rpcErrorOf(set("model", "plain-model"));
    assert.equal(late.code, -32602);
    assert.match(late.message, /before the first prompt/);
  });

  await t.test("an unknown model is named together with the available ones", async t => {
    const editor = await startAcp(t, { args: [...args, "--model", "acp:nobody"] });
    const { code, message } = await rpcErrorOf(editor.newSession(workingDirectory));
    assert.equal(code, -32602);
    assert.match(message, /"acp:nobody"; there are: .*plain-model/);
  });

  await t.test("two editors have separate sessions, which can be listed and closed", async t => {
    const [one, two] = await Promise.all([startAcp(t, { args }), startAcp(t, { args })]);
    const first = await one.newSession(workingDirectory);
    const second = await two.newSession(workingDirectory);
    await Promise.all([one.prompt(first.sessionId, "from one"), two.prompt(second.sessionId, "from two")]);
    assert.match(textOf(one.updates(first.sessionId), "agent_message_chunk"), /from one/);
    assert.match(textOf(two.updates(second.sessionId), "agent_message_chunk"), /from two/);
    const list = async (editor: AcpClient, cwd?: string) =>
      (await editor.agent.request("session/list", cwd === undefined ? {} : { cwd })).sessions;
    const [listed, ...others] = await list(one);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [listed?.sessionId, listed?.cwd, listed?.title],
      [first.sessionId, workingDirectory, "from one"],
    );
    assert.deepEqual(await list(one, "/elsewhere"), []);
    assert.equal((await rpcErrorOf(one.prompt(second.sessionId, "hi"))).code, -32002);
    await one.agent.request("session/close", { sessionId: first.sessionId });
    assert.deepEqual(await list(one), []);
    assert.equal((await portal.api(`copilot/session/${first.sessionId}`)).body.status, "Closed");
    assert.equal((await rpcErrorOf(one.prompt(first.sessionId, "hi"))).code, -32002);
    assert.equal((await portal.api(`copilot/session/${second.sessionId}`)).body.status, "Idle");
  });

  await t.test("a session stopped on the website is no longer known", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    await portal.api(`copilot/session/${sessionId}/stop`);
    const { code, data } = await rpcErrorOf(editor.prompt(sessionId, "hi"));
    assert.deepEqual({ code, data }, { code: -32002, data: { sessionId } });
  });
});
