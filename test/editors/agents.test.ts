import assert from "node:assert/strict";
import { test } from "node:test";
import type { McpServer, SessionUpdate } from "@agentclientprotocol/sdk";
import { fakeAgent, portalWithAgent, steps } from "../support/acp/acp.js";
import { acpProgram, rpcErrorOf, startAcp, textOf, toolUpdates } from "../support/acp/acpClient.js";
import type { AnyResponse } from "../support/live/sse.js";

const ended = { stopReason: "end_turn" };
const capabilities = { session: { notices: {}, configOptions: { boolean: {} } } };
const effort = {
  type: "select",
  id: "effort",
  name: "Effort",
  currentValue: "low",
  options: [
    { value: "low", name: "Low" },
    { value: "high", name: "High" },
  ],
};
const ofKind = (updates: readonly SessionUpdate[], kind: SessionUpdate["sessionUpdate"]) =>
  updates.filter(({ sessionUpdate }) => sessionUpdate === kind) as unknown as AnyResponse[];

test("An editor uses an ACP agent through the portal", async t => {
  const { portal, workingDirectory, configure, post } = await portalWithAgent(t, {
    acpAgents: {
      fake: fakeAgent({ configOptions: [effort], capabilities: { mcpCapabilities: { http: true } } }),
      locked: fakeAgent({
        refuse: { "session/new": { code: -32000, message: "Authentication required" } },
        authMethods: [{ id: "login", name: "Log in", description: "Run `fake login`" }],
      }),
    },
  });
  const args = ["--server", portal.url, "--model", "acp:fake"];
  const editor = await startAcp(t, { args, capabilities });

  await t.test("what only ACP agents report has its own updates", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const update = (content: object) => ({ update: content as Record<string, unknown> });
    const prompt = steps(
      update({ sessionUpdate: "plan", entries: [{ content: "Read", priority: "high", status: "pending" }] }),
      update({ sessionUpdate: "usage_update", used: 5, size: 100 }),
      update({ sessionUpdate: "session_info_update", title: "A title of the agent" }),
      update({
        sessionUpdate: "available_commands_update",
        availableCommands: [{ name: "compact", description: "Make it short", input: { hint: "focus" } }],
      }),
      update({
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "Edit a.ts",
        kind: "edit",
        locations: [{ path: "/src/a.ts", line: 3 }],
      }),
      update({
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        status: "completed",
        content: [{ type: "diff", path: "/src/a.ts", oldText: "a", newText: "b" }],
      }),
      { message: "Done" },
    );
    assert.deepEqual(await editor.prompt(sessionId, prompt), ended);
    const updates = editor.updates(sessionId);
    assert.deepEqual(ofKind(updates, "plan")[0]?.entries, [
      { content: "Read", priority: "high", status: "pending" },
    ]);
    assert.deepEqual(
      [ofKind(updates, "usage_update")[0]?.used, ofKind(updates, "usage_update")[0]?.size],
      [5, 100],
    );
    assert.deepEqual(
      ofKind(updates, "session_info_update").map(({ title }) => title),
      ["A title of the agent"],
    );
    const commands = ofKind(updates, "available_commands_update").at(-1)?.availableCommands as AnyResponse[];
    assert.deepEqual(
      commands.map(({ name }) => name),
      ["task", "job", "tasks", "jobs", "compact"],
    );
    // Between them there may be one with the first part of the result.
    const [start, end] = [toolUpdates(updates)[0], toolUpdates(updates).at(-1)];
    assert.deepEqual([start?.kind, start?.locations], ["edit", [{ path: "/src/a.ts", line: 3 }]]);
    assert.deepEqual(
      end?.content?.find(({ type }) => type === "diff"),
      { type: "diff", path: "/src/a.ts", oldText: "a", newText: "b" },
    );
    assert.equal(textOf(updates, "agent_message_chunk"), "Done");
    assert.deepEqual(await editor.prompt(sessionId, steps({ stop: "refusal" })), { stopReason: "refusal" });
  });

  await t.test("the agent's options appear beside the model and can be set at any time", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const told = await editor.waitFor(
      ({ sessionUpdate }, of) => of === sessionId && sessionUpdate === "config_option_update",
    );
    assert.deepEqual(
      (told as unknown as { configOptions: AnyResponse[] }).configOptions.map(({ id }) => id),
      ["model", "agent/effort"],
    );
    await editor.prompt(sessionId, "hello");
    const set = (value: string) =>
      editor.agent.request("session/set_config_option", { sessionId, configId: "agent/effort", value });
    const { configOptions } = await set("high");
    assert.deepEqual(
      configOptions.map(({ id, currentValue }) => [id, currentValue]),
      [
        ["model", "acp:fake"],
        ["agent/effort", "high"],
      ],
    );
    assert.equal((await rpcErrorOf(set("extreme"))).code, -32602);
  });

  await t.test("permission cards show the agent's own options", async t => {
    const asked: string[][] = [];
    const editor = await startAcp(t, {
      args: [...args, "--permissions", "ask"],
      onPermission({ options }) {
        asked.push(options.map(({ name }) => name));
        return { outcome: { outcome: "selected", optionId: "proceed" } };
      },
    });
    const { sessionId } = await editor.newSession(workingDirectory);
    const params = {
      toolCall: { toolCallId: "t1", title: "Fly", kind: "execute", rawInput: { command: "fly" } },
      options: [
        { optionId: "proceed", name: "Go ahead", kind: "allow_once" },
        { optionId: "land", name: "Stay here", kind: "reject_once" },
      ],
    };
    await editor.prompt(sessionId, steps({ ask: "session/request_permission", params }));
    assert.deepEqual(asked, [["Go ahead", "Stay here"]]);
    assert.match(textOf(editor.updates(sessionId), "agent_message_chunk"), /selected.*proceed/);
  });

  await t.test("the editor's MCP servers are passed on and never shown", async () => {
    const env = [{ name: "KEY", value: "a-very-secret-value" }];
    const mcpServers: McpServer[] = [
      { name: "files", command: "files-server", args: [], env },
      { type: "sse", name: "too-old", url: "http://127.0.0.1:1/", headers: [] },
      { name: "portal-jobs", command: "impostor", args: [], env: [] },
    ];
    const { sessionId } = await editor.agent.request("session/new", { cwd: workingDirectory, mcpServers });
    assert.deepEqual(await editor.prompt(sessionId, "hello"), ended);
    assert.deepEqual(ofKind(editor.updates(sessionId), "notice"), []);
    const { body } = await portal.api<{ messages: { message: AnyResponse }[] }>(
      `acp/session/${sessionId}/traffic`,
    );
    const sent = body.messages.find(({ message }) => message.method === "session/new")?.message.params;
    const names = (sent as { mcpServers: AnyResponse[] }).mcpServers.map(server => server.name);
    assert.deepEqual(names, ["files", "portal-jobs"]);
    assert.match(JSON.stringify(sent), /"files-server"/);
    assert.doesNotMatch(JSON.stringify(body) + portal.stderr + editor.stderr, /a-very-secret-value|impostor/);
  });

  await t.test("a user who is not signed in to the agent learns how to sign in", async t => {
    const editor = await startAcp(t, { args: ["--server", portal.url, "--model", "acp:locked"] });
    const { code, message } = await rpcErrorOf(editor.newSession(workingDirectory));
    assert.equal(code, -32000);
    assert.match(message, /fake login/);
  });

  await t.test("an agent that dies in mid-turn causes an error, and the session continues", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const { code, message } = await rpcErrorOf(
      editor.prompt(sessionId, steps({ message: "a" }, { exit: 3 })),
    );
    assert.equal(code, -32603);
    assert.match(message, /code 3/);
    assert.deepEqual(await editor.prompt(sessionId, "back again"), ended);
  });

  await t.test("a portal that is its own agent does not call itself endlessly", async t => {
    const open = async () =>
      (await portal.api<{ sessions: unknown[] }>("copilot/session/history?status=open")).body.sessions.length;
    const openBefore = await open();
    const self = {
      command: process.execPath,
      args: [acpProgram, "--server", portal.url, "--model", "acp:self"],
      inheritEnv: true,
    };
    await configure({ self });
    await post("acp/reload");
    const asking = await startAcp(t, { args: ["--server", portal.url, "--model", "acp:self"] });
    const { code, message } = await rpcErrorOf(asking.newSession(workingDirectory));
    assert.equal(code, -32603);
    assert.match(message, /no model "acp:self"; there are: none/, "the second level has no agents");
    assert.equal(await open(), openBefore);
  });
});
