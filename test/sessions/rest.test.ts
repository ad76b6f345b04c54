import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type AnyResponse, collectUntil, withoutTime } from "../support/live/sse.js";
import {
  barrier,
  byPrompt,
  fault,
  runShell,
  scriptedApiKey,
  scriptedModelId,
} from "../support/model/scriptedModel.js";
import { callbacksOf, isEndOf, messagesOf, requestsIn, sharedPortal } from "../support/portal/restSession.js";

const modelWithSlashes = "vendor/family/model";
const portalOf = sharedPortal({ models: [scriptedModelId, modelWithSlashes] });

describe("a session over REST", () => {
  it("a session answers a request and logs the request, the turn, the usage and the end, in this order", async t => {
    const { startSession } = await portalOf(
      t,
      byPrompt({ hello: [{ reasoning: "Hm." }, { text: "Hello, you." }] }),
    );
    const session = await startSession();
    await session.query("hello");
    const responses = await session.untilIdle();
    const shape = callbacksOf(responses).filter(name => name !== "onMessage" && name !== "onReasoning");
    assert.deepEqual(shape, [
      "onUserRequest",
      "onAgentStart",
      "onStartReasoning",
      "onEndReasoning",
      "onStartMessage",
      "onEndMessage",
      "onAgentEnd",
      "onUsage",
      "onIdle",
    ]);
    assert.equal(responses[0]?.prompt, "hello");
    assert.deepEqual(messagesOf(responses), ["Hello, you."]);
    const usage = responses.find(({ callback }) => callback === "onUsage");
    assert.ok(Number(usage?.inputTokens) > 0 && Number(usage?.outputTokens) > 0);
  });

  it("a session starts on a model whose id contains slashes, encoded in the URL or not", async t => {
    const { portal, workingDirectory } = await portalOf(t);
    for (const id of [modelWithSlashes, encodeURIComponent(modelWithSlashes)]) {
      const { body } = await portal.api(`copilot/session/start/${id}`, { body: workingDirectory });
      const { modelId } = (await portal.api(`copilot/session/${body.sessionId}`)).body;
      assert.equal(modelId, modelWithSlashes);
    }
    const unknown = await portal.api("copilot/session/start/vendor/other", { body: workingDirectory });
    assert.deepEqual(unknown.body, { error: "ModelIdNotFound" });
  });

  it("a session works in its given folder with the runtime's real tools", async t => {
    const { startSession, workingDirectory } = await portalOf(
      t,
      byPrompt({ look: [[runShell("cat note.txt")], [{ text: "Read." }]] }),
    );
    await writeFile(join(workingDirectory, "note.txt"), "the note in the folder\n");
    const session = await startSession();
    await session.query("look");
    const responses = await session.untilIdle();
    const end = responses.find(({ callback }) => callback === "onEndToolExecution");
    assert.match(JSON.stringify(end?.result), /the note in the folder/);
  });

  it("requests sent during a turn run in order, each with its own onIdle", async t => {
    const gate = barrier();
    const { startSession, model } = await portalOf(
      t,
      byPrompt({ first: [{ text: "1" }, gate.step, { text: "!" }] }),
    );
    const session = await startSession();
    await session.query("first");
    await gate.reached;
    await session.query("second");
    await session.query("third");
    gate.release();
    const responses = await session.untilIdle(3);
    assert.deepEqual(messagesOf(responses), ["1!", "You said: second", "You said: third"]);
    assert.deepEqual(model.requests.at(-1)?.request.userTexts, ["first", "second", "third"]);
  });

  it("two clients that send the same words at once can each recognise their own request", async t => {
    const { startSession } = await portalOf(t, byPrompt({ "same words": [{ text: "Hello, you." }] }));
    const session = await startSession();
    const ids = await Promise.all([session.query("same words"), session.query("same words")]);
    const seen = await Promise.all(
      ids.map(id => collectUntil(session.events(), ({ data }) => isEndOf(id, data))),
    );
    const all = await session.untilIdle(2);
    const asked = requestsIn(all, "onUserRequest");
    assert.deepEqual(asked.toSorted(), ids.toSorted());
    assert.deepEqual(requestsIn(all, "onIdle"), asked, "they end in the order of their acceptance");
    assert.deepEqual(
      ids.map((_, client) => messagesOf(seen[client]?.map(({ data }) => data) ?? []).length),
      ids.map(id => asked.indexOf(id) + 1),
      "each end follows the answer to its request",
    );
  });

  it("a failed request is named by its id", async t => {
    const { startSession } = await portalOf(t, byPrompt({ broken: [fault.http(400, {}, "no such thing")] }));
    const session = await startSession();
    const [, broken] = [
      await session.query("fine"),
      await session.query("broken"),
      await session.query("fine"),
    ];
    const responses = await session.untilIdle(3);
    const errors = responses.filter(({ sessionError }) => sessionError !== undefined);
    assert.deepEqual(
      errors.map(({ requestId }) => requestId),
      [broken],
    );
  });

  it("cancel ends the running turn and keeps the session", async t => {
    const gate = barrier();
    const { startSession, model } = await portalOf(t, byPrompt({ long: [{ text: "so far" }, gate.step] }));
    const session = await startSession();
    assert.deepEqual(await session.call("cancel", { method: "POST" }), { canceled: false });
    await session.query("long");
    await gate.reached;
    await session.waitFor("onMessage");
    assert.deepEqual(await session.call("cancel", { method: "POST" }), { canceled: true });
    const [first] = model.requests;
    assert.equal(await first?.end, "hungUp");
    await session.query("go on");
    const responses = await session.untilIdle(2);
    assert.deepEqual(messagesOf(responses), ["so far", "You said: go on"]);
    assert.equal(responses.find(({ callback }) => callback === "onEndMessage")?.interrupted, true);
  });

  it("queued requests still run after the running turn is cancelled", async t => {
    const gate = barrier();
    const { startSession } = await portalOf(t, byPrompt({ long: [{ text: "so far" }, gate.step] }));
    const session = await startSession();
    const ids = [await session.query("long"), await session.query("next")];
    await gate.reached;
    assert.deepEqual(await session.call("cancel", { method: "POST" }), { canceled: true });
    const responses = await session.untilIdle(2);
    assert.deepEqual(requestsIn(responses, "onIdle"), ids);
    assert.equal(messagesOf(responses).at(-1), "You said: next");
  });

  it("a request that waits can be dropped, ends at once, and never reaches the agent", async t => {
    const gate = barrier();
    const { startSession, model } = await portalOf(t, byPrompt({ first: [gate.step, { text: "1" }] }));
    const session = await startSession();
    const first = await session.query("first");
    const [second, third] = [await session.query("second"), await session.query("third")];
    await gate.reached;
    const drop = (id: string) => session.call(`request/${id}/drop`, { method: "POST" });
    assert.deepEqual(await drop(second), { dropped: true });
    assert.deepEqual(requestsIn(await session.untilIdle(), "onIdle"), [second]);
    for (const id of [second, first, "never-there"]) assert.deepEqual(await drop(id), { dropped: false }, id);
    gate.release();
    const responses = await session.untilIdle(3);
    assert.deepEqual(requestsIn(responses, "onIdle"), [second, first, third]);
    assert.deepEqual(model.requests.at(-1)?.request.userTexts, ["first", "third"]);
  });

  it("a failed turn is logged as a sessionError before onIdle, and the session continues", async t => {
    const { startSession } = await portalOf(t, byPrompt({ bad: [fault.http(400)] }));
    const session = await startSession();
    await session.query("bad");
    const responses = await session.untilIdle();
    assert.deepEqual(callbacksOf(responses).slice(-3), ["onUsage", "sessionError", "onIdle"]);
    assert.ok(!JSON.stringify(responses).includes(scriptedApiKey));
    await session.query("better");
    assert.deepEqual(messagesOf(await session.untilIdle(2)), ["You said: better"]);
  });

  it("a session is listed with its title, model, folder, status and usage, and can be renamed", async t => {
    const { startSession, portal, workingDirectory } = await portalOf(t);
    const [older, newer] = [await startSession(), await startSession()];
    await older.query("Explain the parser\nin detail");
    await older.untilIdle();
    const summary = await older.call("");
    assert.equal(summary.title, "Explain the parser");
    assert.equal(summary.modelId, scriptedModelId);
    assert.equal(summary.workingDirectory, workingDirectory);
    assert.equal(summary.status, "Idle");
    assert.ok((summary.usage as { outputTokens: number }).outputTokens > 0);
    assert.deepEqual(await newer.call("rename", { body: "A better name" }), { title: "A better name" });
    type History = { sessions: { sessionId: string; title: string }[]; next?: string };
    const page = async (query: string) =>
      (await portal.api<History>(`copilot/session/history?${query}`)).body;
    const first = await page("limit=1");
    assert.deepEqual(
      first.sessions.map(({ title }) => title),
      ["A better name"],
    );
    const second = await page(`limit=1&before=${first.next}`);
    assert.deepEqual(
      second.sessions.map(({ title }) => title),
      ["Explain the parser"],
    );
    assert.deepEqual((await page(`before=${second.next}`)).sessions, []);
    const found = await page("search=PARSER");
    assert.deepEqual(
      found.sessions.map(({ sessionId }) => sessionId),
      [older.id],
    );
    await newer.call("stop");
    assert.deepEqual(
      (await page("status=closed")).sessions.map(({ sessionId }) => sessionId),
      [newer.id],
    );
  });

  it("a session stops once and takes no requests afterwards", async t => {
    const { startSession } = await portalOf(t);
    const session = await startSession();
    assert.deepEqual(await session.call("stop"), { result: "Closed" });
    assert.deepEqual(await session.call("stop"), { error: "SessionNotFound" });
    assert.deepEqual(await session.call("query", { body: "hello" }), { error: "SessionNotFound" });
    assert.equal((await session.call("")).status, "Closed");
  });

  it("stopping a session ends the running turn and the queued requests", async t => {
    const gate = barrier();
    const { startSession, model } = await portalOf(t, byPrompt({ long: [{ text: "so far" }, gate.step] }));
    const session = await startSession();
    const ids = [await session.query("long"), await session.query("next")];
    await gate.reached;
    await session.waitFor("onMessage");
    assert.deepEqual(await session.call("stop"), { result: "Closed" });
    assert.equal(await model.requests[0]?.end, "hungUp");
    assert.equal(model.requests.length, 1, "queued requests never reach the agent");
    const events: AnyResponse[] = [];
    for await (const { data } of session.events()) events.push(data);
    assert.deepEqual(events.at(-1), { error: "SessionClosed" });
    assert.equal(events.at(-2)?.callback, "onIdle");
    assert.deepEqual(requestsIn(events, "onIdle"), ids);
    assert.ok(callbacksOf(events).includes("onEndMessage"));
  });

  it("a closed conversation can be resumed", async t => {
    const { startSession, model } = await portalOf(t);
    const session = await startSession();
    await session.query("remember seven");
    await session.untilIdle();
    await session.call("stop");
    assert.deepEqual(await session.call("reopen", { method: "POST" }), { sessionId: session.id });
    await session.query("which number?");
    await session.untilIdle(2);
    assert.deepEqual(model.requests.at(-1)?.request.userTexts, ["remember seven", "which number?"]);
  });

  it("a session can be exported as Markdown and as JSON", async t => {
    const { startSession, portal } = await portalOf(
      t,
      byPrompt({ run: [[{ reasoning: "I shall." }, runShell("echo '```'")], [{ text: "**Done**" }]] }),
    );
    const session = await startSession();
    await session.query("run it");
    await session.untilIdle();
    // Late readers get ended blocks without their deltas, and so does an export.
    const responses = await session.untilIdle();
    const json = await session.call<{ session: { title: string }; responses: unknown[] }>(
      "export?format=json",
    );
    assert.equal(json.session.title, "run it");
    assert.deepEqual(json.responses.map(withoutTime), responses);
    const answer = await fetch(`${portal.url}/api/copilot/session/${session.id}/export`);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/markdown/);
    const markdown = await answer.text();
    assert.match(markdown, /^# run it\n/);
    assert.match(markdown, /## User\n\nrun it\n/);
    assert.match(markdown, /### Tool: bash\n\n````?json\n/);
    assert.match(markdown, /## Agent\n\n\*\*Done\*\*\n/);
  });

  it("deleting a session also deletes its conversation on disk", async t => {
    const { startSession, portal } = await portalOf(t);
    const session = await startSession();
    await session.query("a secret plan");
    await session.untilIdle();
    assert.deepEqual(await session.call("delete", { method: "POST" }), { result: "Deleted" });
    for (const path of ["", "live", "events", "export", "live/token"])
      assert.deepEqual(await session.call(path), { error: "SessionNotFound" }, path);
    assert.deepEqual(await session.call("reopen", { method: "POST" }), { error: "SessionNotFound" });
    assert.deepEqual(await session.call("delete", { method: "POST" }), { error: "SessionNotFound" });
    const { sessions } = (await portal.api<{ sessions: unknown[] }>("copilot/session/history")).body;
    assert.deepEqual(sessions, []);
    const { execFileSync } = await import("node:child_process");
    const left = execFileSync("sh", [
      "-c",
      `grep -rl "a secret plan" "${portal.copilotHome}" || true`,
    ]).toString();
    assert.equal(left, "");
  });

  it("routes with the session id at the end of the path still answer", async t => {
    const { startSession, portal } = await portalOf(t);
    const session = await startSession();
    const asked = await portal.api(`copilot/session/query/${session.id}`, { body: "hello" });
    assert.deepEqual(Object.keys(asked.body), ["requestId"]);
    await session.untilIdle();
    const { body } = await portal.api(`copilot/session/live/${session.id}`);
    assert.equal(body.callback, "onUserRequest");
    assert.deepEqual((await portal.api(`copilot/session/stop/${session.id}`)).body, { result: "Closed" });
  });
});
