import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { type AcpOptions, startAcp, textOf, toolUpdates } from "../support/acp/acpClient.js";
import { tempFolder } from "../support/cleanup.js";
import { entryOf, task } from "../support/jobs/jobs.js";
import type { AnyResponse } from "../support/live/sse.js";
import { byPrompt, callTool, runShell } from "../support/model/scriptedModel.js";
import { portalWithModel } from "../support/portal/restSession.js";

const select = (optionId: string): RequestPermissionResponse => ({
  outcome: { outcome: "selected", optionId },
});

/** A user who has not decided yet, with the request and whether it was withdrawn. */
function thinkingUser() {
  let asked: (request: RequestPermissionRequest) => void = () => undefined;
  let withdrawn: () => void = () => undefined;
  return {
    asked: new Promise<RequestPermissionRequest>(resolve => {
      asked = resolve;
    }),
    withdrawn: new Promise<void>(resolve => {
      withdrawn = resolve;
    }),
    onPermission(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
      asked(request);
      return new Promise(resolve => {
        signal.addEventListener("abort", () => {
          withdrawn();
          resolve({ outcome: { outcome: "cancelled" } });
        });
      });
    },
  };
}

test("The user at the editor decides what an agent may do", async t => {
  const script = byPrompt({
    "say hello": [[runShell("echo hello from the shell")], [{ text: "done" }]],
    "ask me": [
      [callTool("ask_user", { question: "Which colour?", choices: ["red", "blue"], allow_freeform: false })],
      request => [{ text: `You chose: ${request.toolResults.at(-1)?.content}` }],
    ],
  });
  const entry = entryOf({
    models: { driving: "plain-model" },
    tasks: { hello: { prompt: ["say hello"], model: { category: "driving" } } },
    jobs: { hello: { work: task("hello") } },
  });
  const entryFile = join(await tempFolder(t), "entry.json");
  await writeFile(entryFile, JSON.stringify(entry));
  const { portal, workingDirectory } = await portalWithModel(
    t,
    { script, models: ["plain-model"] },
    { args: ["--permissions", "ask", "--entry", entryFile] },
  );
  const args = ["--server", portal.url];
  /** Each test has its own user at the one editor. */
  let onPermission: NonNullable<AcpOptions["onPermission"]>;
  const editor = await startAcp(t, {
    args,
    onPermission: (request, signal) => onPermission(request, signal),
  });
  const pending = async () =>
    (await portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending")).body.requests;

  await t.test("a command allowed once runs, and the card names it", async () => {
    const asked: RequestPermissionRequest[] = [];
    onPermission = request => {
      asked.push(request);
      return select("allow_once");
    };
    const { sessionId } = await editor.newSession(workingDirectory);
    assert.deepEqual(await editor.prompt(sessionId, "say hello"), { stopReason: "end_turn" });
    const [request] = asked;
    assert.equal(asked.length, 1);
    assert.equal(request?.sessionId, sessionId);
    assert.deepEqual(
      [request?.toolCall.title, request?.toolCall.kind],
      ["echo hello from the shell", "execute"],
    );
    assert.match(JSON.stringify(request?.toolCall.rawInput), /"command":"echo hello from the shell"/);
    assert.deepEqual(
      request?.options.map(({ optionId, kind }) => [optionId, kind]),
      ["allow_once", "allow_always", "reject_once", "reject_always"].map(kind => [kind, kind]),
    );
    const last = toolUpdates(editor.updates(sessionId)).at(-1);
    assert.equal(last?.status, "completed");
    assert.match(JSON.stringify(last?.content), /hello from the shell/);
    assert.equal(request?.toolCall.toolCallId, last?.toolCallId, "the card belongs to the tool call");
  });

  await t.test("a rejected command does not run, and the turn continues", async () => {
    onPermission = () => select("reject_once");
    const { sessionId } = await editor.newSession(workingDirectory);
    assert.deepEqual(await editor.prompt(sessionId, "say hello"), { stopReason: "end_turn" });
    assert.equal(toolUpdates(editor.updates(sessionId)).at(-1)?.status, "failed");
  });

  await t.test("an editor that cannot ask rejects the request", async () => {
    onPermission = () => {
      throw new Error("this editor has no user");
    };
    const { sessionId } = await editor.newSession(workingDirectory);
    assert.deepEqual(await editor.prompt(sessionId, "say hello"), { stopReason: "end_turn" });
    assert.equal(toolUpdates(editor.updates(sessionId)).at(-1)?.status, "failed");
  });

  await t.test("an answer on the website withdraws the card in the editor", async () => {
    const user = thinkingUser();
    onPermission = user.onPermission;
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "say hello");
    await user.asked;
    const [request] = await pending();
    const answer = JSON.stringify({ requestId: request?.requestId, optionId: "allow_once" });
    assert.deepEqual(
      (await portal.api(`copilot/session/${sessionId}/permission`, { body: answer })).body,
      {},
    );
    await user.withdrawn;
    assert.deepEqual(await running, { stopReason: "end_turn" });
    assert.equal(toolUpdates(editor.updates(sessionId)).at(-1)?.status, "completed");
  });

  await t.test("cancel with an open card ends the turn and withdraws the card", async () => {
    const user = thinkingUser();
    onPermission = user.onPermission;
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "say hello");
    await user.asked;
    await editor.cancel(sessionId);
    assert.deepEqual(await running, { stopReason: "cancelled" });
    await user.withdrawn;
    assert.deepEqual(await pending(), []);
    assert.deepEqual(await editor.prompt(sessionId, "go on"), { stopReason: "end_turn" });
  });

  await t.test("a question with choices appears in the editor", async () => {
    const questions: (string | null | undefined)[] = [];
    onPermission = request => {
      questions.push(request.toolCall.title);
      return select(request.options.some(({ optionId }) => optionId === "blue") ? "blue" : "allow_once");
    };
    const { sessionId } = await editor.newSession(workingDirectory);
    await editor.prompt(sessionId, "ask me");
    assert.ok(questions.includes("Which colour?"), questions.join());
    assert.match(textOf(editor.updates(sessionId), "agent_message_chunk"), /You chose: .*blue/);
  });

  await t.test("a job asks for permission in the editor that started it", async () => {
    const asked: RequestPermissionRequest[] = [];
    onPermission = request => {
      asked.push(request);
      return select("allow_once");
    };
    const { sessionId } = await editor.newSession(workingDirectory);
    assert.deepEqual(await editor.prompt(sessionId, "/job hello"), { stopReason: "end_turn" });
    assert.deepEqual(
      asked.map(request => [request.sessionId, request.toolCall.title]),
      [[sessionId, "echo hello from the shell"]],
    );
    assert.match(textOf(editor.updates(sessionId), "agent_message_chunk"), /Job hello succeeded/);
  });

  await t.test("the editor's own permission setting applies to its sessions", async t => {
    const editor = await startAcp(t, { args: [...args, "--permissions", "allow-all"] });
    const { sessionId } = await editor.newSession(workingDirectory);
    await editor.prompt(sessionId, "say hello");
    assert.equal(toolUpdates(editor.updates(sessionId)).at(-1)?.status, "completed");
  });
});
