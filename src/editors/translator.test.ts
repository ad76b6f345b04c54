import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RequestError, type SessionUpdate } from "@agentclientprotocol/sdk";
import { storedResponse } from "../live/storedResponse.js";
import { checkNesting, mayUseAgents, nestingDepth, oneDeeper } from "../sessions/acp/nesting.js";
import { parseAgentOptions } from "./agentOptions.js";
import { parseCommand, withPortalCommands } from "./commands.js";
import { agentOptionId, agentOptions } from "./models.js";
import { promptText } from "./promptText.js";
import { Requests } from "./requests.js";
import { PortalGone, PortalRefusal, rpcError, TurnFailed } from "./rpcErrors.js";
import { toolKind, toolLocations, toolTitle } from "./toolLook.js";
import { Translator } from "./translator.js";

const chunk = (text: string, messageId: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: { type: "text", text },
});
const content = (text: string) => [{ type: "content", content: { type: "text", text } }];

describe("A session's log becomes updates for the editor", () => {
  test("text at a block's end that was not streamed is sent, and nothing is sent twice", () => {
    const translator = new Translator({ notices: true });
    const message = (callback: string, rest: object) => storedResponse({ callback, messageId: "m", ...rest });
    assert.deepEqual(
      translator.translate([message("onStartMessage", {}), message("onMessage", { delta: "ab" })]),
      [chunk("ab", "m")],
    );
    assert.deepEqual(translator.translate([message("onEndMessage", { completeContent: "abcd" })]), [
      chunk("cd", "m"),
    ]);
    assert.deepEqual(translator.translate([message("onEndMessage", { completeContent: "" })]), []);
    translator.translate([message("onMessage", { delta: "longer than stored" })]);
    const cut = message("onEndMessage", { completeContent: "longer", interrupted: true });
    assert.deepEqual(translator.translate([cut]), [], "what was shown cannot be taken back");
  });

  test("a tool's output is sent whole, once for deltas that arrive together", () => {
    const translator = new Translator({ notices: true });
    const delta = (text: string) =>
      storedResponse({ callback: "onToolExecution", toolCallId: "t", delta: text });
    const ended = (end: object) =>
      storedResponse({ callback: "onEndToolExecution", toolCallId: "t", ...end });
    const update = (text: string) => ({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      content: content(text),
    });
    assert.deepEqual(translator.translate([delta("a"), delta("b")]), [update("ab")]);
    assert.deepEqual(translator.translate([delta("c")]), [update("abc")]);
    const end = ended({ result: { content: "all" } });
    assert.deepEqual(translator.translate([delta("d"), end]), [
      { ...update("all"), status: "completed", rawOutput: { content: "all" } },
    ]);
    const failed = ended({ error: { message: "no", code: "x" } });
    assert.deepEqual(translator.translate([failed]), [
      { ...update("no"), status: "failed", rawOutput: { message: "no", code: "x" } },
    ]);
  });

  test("a long output is cut and keeps its end", () => {
    const [update] = new Translator({ notices: true }).translate([
      { callback: "onToolExecution", toolCallId: "t", delta: `${"x".repeat(300_000)}the end` },
    ]);
    const text = JSON.stringify(update);
    assert.ok(text.length < 101_000 && text.includes("the end"));
  });

  test("reports of an agent behind the portal have their own updates", () => {
    const translator = new Translator({ notices: true });
    const diff = { path: "/a", oldText: null, newText: "new" };
    const responses = [
      { callback: "onPlan", entries: [{ content: "first", status: "strange" }] },
      { callback: "onUsage", used: 5, size: 10, cost: { amount: 1, currency: "USD" } },
      { callback: "onSessionInfo", title: "A title" },
      { callback: "onNotice", severity: "loud", title: "Look", text: "here" },
      {
        callback: "onStartToolExecution",
        toolCallId: "t",
        parentToolCallId: "p",
        toolName: "Edit",
        toolArguments: "no JSON",
        kind: "edit",
        locations: [{ path: "/a", line: 3 }],
      },
      { callback: "onEndToolExecution", toolCallId: "t", diffs: [diff] },
      { callback: "onUserMessage", text: "earlier", replay: true },
    ].map(storedResponse);
    const [plan, usage, title, notice, start, end, replay] = translator.translate(responses);
    const entry = { content: "first", priority: "medium", status: "pending" };
    assert.deepEqual(plan, { sessionUpdate: "plan", entries: [entry] });
    const cost = { amount: 1, currency: "USD" };
    assert.deepEqual(usage, { sessionUpdate: "usage_update", used: 5, size: 10, cost });
    assert.deepEqual(title, { sessionUpdate: "session_info_update", title: "A title" });
    assert.deepEqual(notice, {
      sessionUpdate: "notice",
      severity: "info",
      title: "Look",
      description: "here",
    });
    assert.deepEqual(start, {
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "Edit",
      name: "Edit",
      kind: "edit",
      status: "in_progress",
      rawInput: "no JSON",
      locations: [{ path: "/a", line: 3 }],
      _meta: { parentToolCallId: "p" },
    });
    assert.deepEqual(end && "content" in end && end.content, [{ type: "diff", ...diff }]);
    assert.equal(replay?.sessionUpdate, "user_message_chunk");
  });

  test("an editor without notices gets them as thoughts, and unknown responses are skipped", () => {
    const translator = new Translator({ notices: false });
    const responses = [
      { callback: "onNotice", severity: "warning", title: "Trying again" },
      { callback: "onUsage", inputTokens: 5, outputTokens: 1 },
      { callback: "onSomethingNew", messageId: {}, delta: 5 },
      { callback: "onMessage", messageId: 5, delta: null },
      {},
    ].map(storedResponse);
    const [thought, ...rest] = translator.translate(responses);
    assert.equal(thought?.sessionUpdate, "agent_thought_chunk");
    assert.deepEqual(rest, []);
  });
});

describe("The running request", () => {
  const asked = (requestId: string) =>
    storedResponse({ callback: "onUserRequest", requestId, prompt: "the same words" });
  const idle = (requestId: string) => storedResponse({ callback: "onIdle", requestId });
  const generated = storedResponse({ callback: "onGeneratedUserPrompt", requestId: "task", prompt: "check" });

  test("the oldest open request runs until the onIdle with its id", () => {
    const requests = new Requests();
    assert.equal(requests.running, undefined);
    for (const response of [asked("a"), generated, asked("b")]) requests.take(response);
    assert.equal(requests.running, "a");
    requests.take(idle("a"));
    assert.equal(requests.running, "task");
    requests.take(idle("task"));
    requests.take(idle("b"));
    assert.equal(requests.running, undefined);
  });

  test("an onIdle for an unknown request does no harm", () => {
    const requests = new Requests();
    requests.take(asked("a"));
    requests.take(idle("earlier"));
    requests.take(storedResponse({ callback: "onIdle" }));
    assert.equal(requests.running, "a");
  });
});

describe("The user's input", () => {
  test("portal commands are distinguished from text", () => {
    assert.deepEqual(parseCommand("/task a  b c\nd"), { kind: "task", name: "a", input: "b c\nd" });
    assert.deepEqual(parseCommand("/job x"), { kind: "job", name: "x", input: "" });
    assert.deepEqual(parseCommand("/task"), { kind: "task", name: "", input: "" });
    assert.deepEqual(parseCommand("/tasks"), { kind: "tasks" });
    for (const text of ["/tasksx", "/jobless", "run /task a", "/compact", "task a", "/tasks of mine"])
      assert.equal(parseCommand(text), undefined, text);
  });

  test("the portal's commands come first and hide an agent's commands of the same name", () => {
    const names = withPortalCommands([
      { name: "compact", description: "" },
      { name: "task", description: "the agent's" },
    ]).map(({ name }) => name);
    assert.deepEqual(names, ["task", "job", "tasks", "jobs", "compact"]);
  });

  test("the blocks of a prompt are joined in order, and content that is not text is named", () => {
    const uri = "file:///a";
    assert.equal(
      promptText([
        { type: "text", text: " look " },
        { type: "image", data: "", mimeType: "image/png" },
        { type: "resource", resource: { uri, blob: "AA==" } },
        { type: "resource", resource: { uri, text: "a ``` b" } },
      ]),
      "look \n[image was left out: the portal takes text only]\n" +
        "[file:///a was left out: it is not text]\nfile:///a:\n````\na ``` b\n````",
    );
    assert.equal(promptText([{ type: "audio", data: "", mimeType: "audio/wav" }]), "");
    assert.equal(promptText([{ type: "text", text: "\ufeff \n" }]), "");
  });
});

describe("Small rules of the editor connection", () => {
  test("errors have the codes that editors act on", () => {
    const code = (error: unknown) => rpcError(error, "s").code;
    assert.equal(code(new PortalRefusal("SessionNotFound", undefined)), -32002);
    assert.equal(code(new PortalRefusal("WorkingDirectoryNotExists", undefined)), -32602);
    assert.equal(code(new PortalRefusal("AgentAuthenticationRequired", "run `x login`")), -32000);
    assert.equal(code(new PortalRefusal("AgentNotAvailable", "not installed")), -32603);
    assert.equal(code(new TurnFailed("Authentication required: run `copilot login`")), -32000);
    assert.equal(code(new TurnFailed("Authentication failed with provider (HTTP 401)")), -32603);
    assert.equal(code(new PortalGone("gone")), -32603);
    assert.equal(code(new RequestError(-1, "as it is")), -1);
  });

  test("nesting ends at the second level, and the first level uses no agents", () => {
    assert.equal(nestingDepth({}), 0);
    assert.equal(nestingDepth({ COPILOT_PORTAL_ACP_DEPTH: "nonsense" }), 0);
    const one = oneDeeper({});
    const two = oneDeeper(one);
    assert.deepEqual([mayUseAgents({}), mayUseAgents(one)], [true, false]);
    assert.doesNotThrow(() => checkNesting(one));
    assert.throws(() => checkNesting(two), /goes no deeper/);
  });

  test("a tool call is named by what it does", () => {
    assert.equal(toolTitle("bash", { command: "ls -l\necho" }), "ls -l");
    assert.equal(toolTitle("view", { path: "/a" }), "view /a");
    assert.equal(toolTitle("strange", "text"), "strange");
    assert.deepEqual(
      [toolKind("bash", undefined), toolKind("constructor", 5), toolKind("x", "fetch")],
      ["execute", "other", "fetch"],
    );
    assert.deepEqual(toolLocations({ path: "relative" }, undefined), []);
    assert.deepEqual(toolLocations({}, [null, { path: "/a", line: "3" }]), [{ path: "/a" }]);
  });

  test("an agent's options keep their names and never shadow the portal's", () => {
    const response = storedResponse({
      callback: "onOptions",
      options: [
        { id: "model", name: "Model", type: "select", value: "a", choices: [{ value: "a", name: "A" }] },
        { id: "all", name: "All", type: "boolean", value: true },
        { id: "odd", name: "Odd", type: "slider", value: 5 },
      ],
    });
    assert.ok(response.callback === "onOptions");
    const [select, flag, ...rest] = agentOptions(response.options);
    assert.deepEqual([select?.id, flag?.id, rest], ["agent/model", "agent/all", []]);
    assert.deepEqual([agentOptionId("agent/model"), agentOptionId("model")], ["model", undefined]);
  });

  test("the portal's address is checked, and its token comes from the environment", () => {
    const parse = (...args: string[]) => parseAgentOptions(args, { PORTAL_TOKEN: "from the environment" });
    assert.equal(parse().server, "http://localhost:8888");
    assert.equal(parse("--server", "https://example.com/portal/").server, "https://example.com");
    assert.equal(parse().token, "from the environment");
    assert.throws(() => parse("--server", "http://me:secret@host"), /--server/);
    assert.throws(() => parse("--permissions", "maybe"), /maybe/);
  });
});
