import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { only, toolEnd } from "../../support/acp/conversation.js";
import { sharedAgents } from "../../support/acp/realAgents.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { barrier, callTool, runShell, type Script } from "../../support/model/scriptedModel.js";
import { messagesOf } from "../../support/portal/restSession.js";

const agentsOf = sharedAgents();

const modeId = (mode: string) => `https://agentclientprotocol.com/protocol/session-modes#${mode}`;

const other = barrier();
const script: Script = ({ userText, round, workingDirectory }) => {
  const [order, rest = ""] = userText.split(/ (.*)/s);
  const path = join(workingDirectory ?? "", "note.txt");
  if (round > 0) return [{ text: "Done." }];
  if (order === "run") return [runShell(rest)];
  if (order === "create") return [callTool("create", { path, file_text: "one\ntwo\n" })];
  if (order === "edit") return [callTool("edit", { path, old_str: "one", new_str: "uno" })];
  if (order === "hold") return [{ text: "Still " }, other.step, { text: "alive." }];
  return [{ text: `You said: ${userText}` }];
};

test("The real Copilot CLI uses tools in a session", async t => {
  const { portal, model, workingDirectory, startSession } = await agentsOf(t, script);
  const session = await startSession("copilot");
  const note = join(workingDirectory, "note.txt");

  await t.test("a denied command ends with the agent's code, and the next request works", async () => {
    await session.query("run touch denied");
    const { requestId } = await session.next("onPermissionRequest");
    assert.deepEqual(await session.post("permission", { requestId, deny: true }), {});
    const responses = await session.until("onIdle");
    assert.equal(toolEnd(responses).error?.code, "rejected");
    assert.equal(responses.filter(response => "sessionError" in response).length, 0);
    await assert.rejects(access(join(workingDirectory, "denied")));
    assert.deepEqual(messagesOf(await session.ask("go on")), ["You said: go on"]);
  });

  await t.test('"deny and say" denies the command and then sends the text', async () => {
    await session.query("run touch denied");
    const { requestId } = await session.next("onPermissionRequest");
    await session.post("permission", { requestId, deny: true, instead: "Ask your colleague." });
    await session.until("onIdle");
    assert.deepEqual(messagesOf(await session.until("onIdle")), ["You said: Ask your colleague."]);
    await model.waitForRequest(request => request.userText === "Ask your colleague.");
  });

  await t.test("under the deny policy nothing is asked and nothing runs", async () => {
    await session.post("policy", { policy: "deny" });
    const responses = await session.ask("run touch denied");
    assert.equal(only(responses, "onPermissionRequest").length, 0);
    assert.equal(toolEnd(responses).error?.code, "rejected");
    await assert.rejects(access(join(workingDirectory, "denied")));
  });

  await t.test("under the approve-all policy the command runs without a question", async () => {
    await session.post("policy", { policy: "approve-all" });
    const responses = await session.ask("run touch approved");
    assert.equal(only(responses, "onPermissionRequest").length, 0);
    assert.equal(toolEnd(responses).error, undefined);
    await access(join(workingDirectory, "approved"));
  });

  await t.test("output arrives as it is written, once, and a non-zero exit code is a result", async () => {
    const responses = await session.ask("run for i in 1 2 3; do echo tick $i; sleep 0.3; done; exit 3");
    const deltas = only(responses, "onToolExecution").map(({ delta }) => String(delta));
    assert.ok(deltas.length >= 2, `it came in ${deltas.length} pieces`);
    assert.match(deltas.join(""), /^tick 1\ntick 2\ntick 3\n/);
    assert.equal(deltas.join("").match(/tick/g)?.length, 3);
    const { error, result, exitCode } = toolEnd(responses);
    assert.deepEqual([error, exitCode], [undefined, 3]);
    assert.match(result?.content ?? "", /tick 3\n.*exit code 3/s);
  });

  await t.test("a new file appears with its path on its card and in its block", async () => {
    await session.post("policy", { policy: "ask" });
    await session.query("create");
    const seen = await session.until("onPermissionRequest");
    const [start, request = {}] = [only(seen, "onStartToolExecution")[0], seen.at(-1)];
    assert.deepEqual([start?.kind, start?.locations], ["edit", [{ path: note }]]);
    const detail = request.detail as { paths: string[]; diff: string };
    assert.deepEqual([request.kind, detail.paths], ["edit", [note]]);
    assert.match(detail.diff, /\+one\n\+two/);
    await session.post("permission", { requestId: request.requestId, optionId: "allow_once" });
    const end = toolEnd(await session.until("onIdle"));
    assert.deepEqual(end.diffs, [{ path: note, oldText: "", newText: "one\ntwo\n" }]);
    assert.match(end.result?.content ?? "", /\+one\n\+two/);
    assert.equal(await readFile(note, "utf8"), "one\ntwo\n");
  });

  await t.test("a changed file appears with its path on its card and in its block", async () => {
    await session.query("edit");
    const request = await session.next("onPermissionRequest");
    assert.match((request.detail as { diff: string }).diff, /-one\n\+uno/);
    await session.post("permission", { requestId: request.requestId, optionId: "allow_once" });
    const end = toolEnd(await session.until("onIdle"));
    assert.deepEqual(end.diffs, [{ path: note, oldText: "one", newText: "uno" }]);
    assert.equal(await readFile(note, "utf8"), "uno\ntwo\n");
  });

  await t.test("200,000 lines of output keep the block small and other sessions responsive", async () => {
    await session.post("policy", { policy: "approve-all" });
    const witness = await startSession("copilot");
    await witness.query("hold");
    await other.reached;
    await session.query("run seq 200000; sleep 0.2");
    const running = session.until("onIdle");
    other.release();
    assert.deepEqual(messagesOf(await witness.until("onIdle")), ["Still alive."]);
    const responses = await running;
    const bytes = JSON.stringify(responses.filter(({ toolCallId }) => toolCallId !== undefined)).length;
    assert.ok(bytes < 1_200_000, `the block has ${bytes} bytes`);
    assert.match(toolEnd(responses).result?.content ?? "", /1\.2 MB/);
    assert.equal((await portal.api("health")).status, 200);
  });

  await t.test("modes and options come from the agent, and a refused change has no effect", async () => {
    const state = () => session.call<AnyResponse>("state");
    const optionOf = async (id: string) =>
      ((await state()).options as AnyResponse[]).find(option => option.id === id)?.value;
    const known = await state();
    assert.deepEqual([known.backend, known.agent, known.currentModeId], ["acp", "copilot", modeId("agent")]);
    assert.deepEqual(await session.post("mode", { modeId: modeId("plan") }), {});
    assert.deepEqual(
      [(await state()).currentModeId, await optionOf("mode")],
      [modeId("plan"), modeId("plan")],
    );
    assert.equal((await session.post("mode", { modeId: "plan" })).error, "InvalidValue");
    assert.equal((await state()).currentModeId, modeId("plan"));
    await session.post("mode", { modeId: modeId("agent") });

    await session.post("policy", { policy: "ask" });
    const wrong = await session.post("option", { configId: "allow_all", value: "perhaps" });
    assert.deepEqual([wrong.error, await optionOf("allow_all")], ["InvalidValue", "off"]);
    await session.post("option", { configId: "allow_all", value: "on" });
    assert.equal(await optionOf("allow_all"), "on");
    const responses = await session.ask("run touch allowed-by-option");
    assert.equal(only(responses, "onPermissionRequest").length, 0);
    await access(join(workingDirectory, "allowed-by-option"));
    await session.post("option", { configId: "allow_all", value: "off" });
  });

  await t.test("the agent's commands are listed and work, and its usage and title are known", async () => {
    const { commands, usage, title } = (await session.call("state")) as {
      commands: { name: string; description: string }[];
      usage: { used: number; size: number };
      title: string;
    };
    assert.ok(commands.some(({ name, description }) => name === "usage" && description !== ""));
    assert.ok(usage.used > 0 && usage.size >= usage.used);
    assert.ok(title.length > 0);
    const before = model.requests.length;
    assert.match(messagesOf(await session.ask("/usage")).join("\n"), /Session Usage/);
    assert.equal(model.requests.length, before, "the model was not asked");
  });
});
