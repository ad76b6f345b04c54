import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { groupScope, type Scope, tempFolderNow } from "../support/cleanup.js";
import { type AnyResponse, collectUntil } from "../support/live/sse.js";
import { byPrompt, callTool, runShell, type Script } from "../support/model/scriptedModel.js";
import { runPortal } from "../support/portal/portal.js";
import { type RestSession, sessionById, sharedPortal } from "../support/portal/restSession.js";

const json = (value: unknown): RequestInit => ({ method: "POST", body: JSON.stringify(value) });
const answer = (session: RestSession, requestId: unknown, optionId: string) =>
  session.call("permission", json({ requestId, optionId }));

/** The `count`-th response with this callback. */
async function nth(session: RestSession, callback: string, count: number): Promise<AnyResponse> {
  let seen = 0;
  const all = await collectUntil(
    session.events(),
    ({ data }) => data.callback === callback && ++seen === count,
  );
  return all.at(-1)?.data ?? {};
}

const asks = (responses: readonly AnyResponse[]) =>
  responses.filter(({ callback }) => callback === "onPermissionRequest").length;
const resolutions = (responses: readonly AnyResponse[]) =>
  responses.filter(({ callback }) => callback === "onPermissionResolved");
const toolEnds = (responses: readonly AnyResponse[]) =>
  responses
    .filter(({ callback }) => callback === "onEndToolExecution")
    .map(({ result, error }) => JSON.stringify(result ?? error));

const script: Script = byPrompt({
  "say hello": [[runShell("echo hello from the shell")], [{ text: "done" }]],
  "say it twice": [
    [
      {
        toolCalls: [
          { name: "bash", arguments: { command: "echo one", description: "one" } },
          { name: "bash", arguments: { command: "echo two", description: "two" } },
        ],
      },
    ],
    [{ text: "done" }],
  ],
  "write the file": request => [
    request.round === 0
      ? callTool("create", { path: join(request.workingDirectory ?? "", "note.txt"), file_text: "a note\n" })
      : { text: "done" },
  ],
  "open the page": [[callTool("web_fetch", { url: "https://docs.example/a?b=c" })], [{ text: "done" }]],
  "ask me": [
    [callTool("ask_user", { question: "Which colour?", choices: ["red", "blue"], allow_freeform: false })],
    request => [{ text: `You chose: ${request.toolResults.at(-1)?.content}` }],
  ],
});

/** A model that the runtime does not know gets the tools `create` and `edit`. */
const models = ["plain-model"];
const portalOf = sharedPortal({ models });
const start = (t: TestContext) => portalOf(t, script);
const askingPortal = sharedPortal({ models, args: ["--permissions", "ask"] });
const policy = { folders: { "*": ["reject command echo", "allow edits"] } };
const config = configFile(
  groupScope(),
  { permissions: { policy: "policy.json", timeoutSeconds: 1 } },
  policy,
);
const strictPortal = sharedPortal({ models, args: ["--config", config] });

function configFile(t: Scope, config: unknown, policy?: unknown): string {
  const folder = tempFolderNow(t);
  if (policy !== undefined) writeFileSync(join(folder, "policy.json"), JSON.stringify(policy));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return join(folder, "config.json");
}

describe("The user decides what an agent may do", () => {
  test("a session that asks shows what it wants, waits for its user, and does it once when allowed once", async t => {
    const { portal, startSession, workingDirectory } = await start(t);
    const session = await startSession("?permissions=ask");
    await session.query("say hello");
    const request = await session.waitFor("onPermissionRequest");
    assert.deepEqual([request.kind, request.title], ["execute", "echo hello from the shell"]);
    assert.equal((request.detail as AnyResponse).command, "echo hello from the shell");
    assert.deepEqual(
      (request.options as AnyResponse[]).map(({ kind, rules }) => [kind, rules]),
      [
        ["allow_once", undefined],
        ["allow_always", ["allow command echo"]],
        ["reject_once", undefined],
        ["reject_always", ["reject command echo"]],
      ],
    );
    const pending = (await portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending")).body
      .requests;
    assert.deepEqual(
      pending.map(({ requestId, sessionId, sessionTitle, workingDirectory: folder }) => [
        requestId,
        sessionId,
        sessionTitle,
        folder,
      ]),
      [[request.requestId, session.id, "say hello", workingDirectory]],
    );

    assert.deepEqual(await answer(session, request.requestId, "allow_once"), {});
    const first = await session.untilIdle();
    assert.match(toolEnds(first).join(), /hello from the shell/);
    assert.deepEqual(
      resolutions(first).map(({ requestId, decision, by }) => [requestId, decision, by]),
      [[request.requestId, "allowed", "user"]],
    );

    await session.query("say hello");
    const second = await nth(session, "onPermissionRequest", 2);
    assert.notEqual(second.requestId, request.requestId);
    const reason = "Use printf instead.";
    await session.call("permission", json({ requestId: second.requestId, deny: true, instead: reason }));
    const ended = toolEnds(await session.untilIdle(2));
    assert.match(ended.at(-1) ?? "", /Use printf instead\./, "the agent is told why");
    assert.deepEqual((await portal.api("copilot/permission/pending")).body, { requests: [] });
  });

  test("an answer takes effect exactly once, and each wrong answer gets its own error", async t => {
    const { startSession } = await start(t);
    const session = await startSession("?permissions=ask");
    const other = await startSession("?permissions=ask");
    await session.query("say hello");
    const { requestId } = await session.waitFor("onPermissionRequest");

    assert.deepEqual(await answer(session, requestId, "allow_everything"), { error: "OptionNotFound" });
    assert.deepEqual(await session.call("permission", json({ requestId })), { error: "OptionNotFound" });
    assert.deepEqual(await answer(session, "no-such-request", "allow_once"), { error: "RequestNotFound" });
    assert.deepEqual(await answer(other, requestId, "allow_once"), { error: "RequestNotFound" });
    assert.deepEqual(await session.call("question", json({ requestId, answer: "x" })), {
      error: "RequestNotFound",
    });
    for (const body of ["", "allow", "[]", "{}", '{"requestId":1}'])
      assert.equal((await session.call("permission", { method: "POST", body })).error, "BodyInvalid", body);

    const both = await Promise.all([
      answer(session, requestId, "allow_always"),
      answer(session, requestId, "reject_once"),
    ]);
    assert.deepEqual(both.map(body => body.error ?? "taken").sort(), ["RequestNotFound", "taken"]);
    const responses = await session.untilIdle();
    assert.equal(resolutions(responses).length, 1);
    assert.deepEqual(await answer(session, requestId, "allow_once"), { error: "RequestNotFound" });
    await session.call("stop");
    assert.deepEqual(await answer(session, requestId, "allow_once"), { error: "SessionNotFound" });
  });

  test('"always" applies to the folder, in other sessions and after a restart too, and settles what waits', async t => {
    const { portal, startSession, workingDirectory } = await askingPortal(t, script);
    const session = await startSession();
    await session.query("say it twice");
    const second = await nth(session, "onPermissionRequest", 2);
    await answer(session, second.requestId, "allow_always");
    const first = await session.untilIdle();
    assert.deepEqual(
      resolutions(first)
        .map(({ by }) => by)
        .sort(),
      ["rule", "user"],
    );
    assert.equal(toolEnds(first).length, 2);

    const rules = { folders: { [workingDirectory]: ["allow command echo"] } };
    assert.deepEqual((await portal.api("copilot/permission/rules")).body, rules);
    await portal.restart();
    assert.deepEqual((await portal.api("copilot/permission/rules")).body, rules);
    assert.equal(
      (await sessionById(portal, session.id).call("")).permissions,
      "ask",
      "the session applies the rule too",
    );

    const later = await startSession();
    await later.query("say hello");
    const responses = await later.untilIdle();
    assert.equal(asks(responses), 0);
    assert.deepEqual(
      resolutions(responses).map(({ by, decision, rules: used }) => [by, decision, used]),
      [["rule", "allowed", ["allow command echo"]]],
    );
  });

  test("an edit shows its file and its diff, and a rejected edit is not made", async t => {
    const { startSession, workingDirectory } = await start(t);
    const session = await startSession("?permissions=ask");
    await session.query("write the file");
    const request = await session.waitFor("onPermissionRequest");
    assert.equal(request.kind, "edit");
    const { paths, diff } = request.detail as { paths: string[]; diff: string };
    assert.ok(paths.includes(join(workingDirectory, "note.txt")));
    assert.match(diff, /^\+a note$/m);
    await answer(session, request.requestId, "reject_once");
    await session.untilIdle();
    await assert.rejects(readFile(join(workingDirectory, "note.txt")));

    await session.query("write the file");
    const again = await nth(session, "onPermissionRequest", 2);
    await answer(session, again.requestId, "allow_always");
    await session.untilIdle(2);
    assert.equal(await readFile(join(workingDirectory, "note.txt"), "utf8"), "a note\n");
  });

  test("an address is shown in full, and no rule can decide about it", async t => {
    const { startSession } = await start(t);
    const session = await startSession("?permissions=ask");
    await session.query("open the page");
    const request = await session.waitFor("onPermissionRequest");
    assert.equal(request.kind, "fetch");
    assert.equal((request.detail as AnyResponse).url, "https://docs.example/a?b=c");
    assert.deepEqual(
      (request.options as AnyResponse[]).map(({ kind }) => kind),
      ["allow_once", "reject_once"],
    );
    await answer(session, request.requestId, "reject_once");
    assert.deepEqual(
      resolutions(await session.untilIdle()).map(({ decision }) => decision),
      ["rejected"],
    );
  });

  test("a request ends with its turn, with its session, and when everything is allowed or denied", async t => {
    const { portal, startSession } = await start(t);
    const [cancelled, stopped, changed, denied] = await Promise.all([
      startSession("?permissions=ask"),
      startSession("?permissions=ask"),
      startSession("?permissions=ask"),
      startSession("?permissions=ask"),
    ]);
    for (const session of [cancelled, stopped, changed, denied]) {
      await session.query("say hello");
      await session.waitFor("onPermissionRequest");
    }
    assert.deepEqual(await cancelled.call("cancel", { method: "POST" }), { canceled: true });
    const byCancel = await cancelled.untilIdle();
    assert.deepEqual(
      resolutions(byCancel).map(({ decision, by }) => [decision, by]),
      [["cancelled", "turn"]],
    );
    assert.equal(byCancel.at(-1)?.callback, "onIdle");

    await stopped.call("stop");
    assert.equal(resolutions(await stopped.untilIdle()).length, 1);

    assert.deepEqual(await changed.call("policy", json({ policy: "approve-all" })), { policy: "allow-all" });
    const byPolicy = await changed.untilIdle();
    assert.deepEqual(
      resolutions(byPolicy).map(({ decision, by }) => [decision, by]),
      [["allowed", "policy"]],
    );
    assert.match(toolEnds(byPolicy).join(), /hello from the shell/);

    assert.deepEqual(await denied.call("policy", json({ policy: "deny" })), { policy: "deny" });
    await denied.untilIdle();
    await denied.query("say hello");
    const byDenial = await denied.untilIdle(2);
    assert.deepEqual(
      resolutions(byDenial).map(({ decision, by }) => [decision, by]),
      [
        ["rejected", "policy"],
        ["rejected", "policy"],
      ],
    );
    assert.equal(asks(byDenial), 1, "nobody is asked any more");
    assert.doesNotMatch(toolEnds(byDenial).join(), /hello from the shell/);
    assert.deepEqual((await portal.api("copilot/permission/pending")).body, { requests: [] });
    assert.equal((await changed.call("policy", json({ policy: "maybe" }))).error, "BodyInvalid");
  });

  test("a request that nobody answers in time is rejected", async t => {
    const { startSession } = await strictPortal(t, script);
    const session = await startSession("?permissions=ask");
    await session.query("open the page");
    const responses = await session.untilIdle();
    assert.deepEqual(
      resolutions(responses).map(({ decision, by }) => [decision, by]),
      [["rejected", "timeout"]],
    );
    assert.match(toolEnds(responses).join(), /did not answer in time/);
  });

  test("the user answers an agent's question as they answer a permission request", async t => {
    const { portal, startSession } = await start(t);
    const session = await startSession();
    await session.query("ask me");
    const { requestId, question, choices } = await session.waitFor("onQuestion");
    assert.deepEqual([question, choices], ["Which colour?", ["red", "blue"]]);
    const { requests } = (await portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending")).body;
    assert.deepEqual(
      requests.map(request => request.callback),
      ["onQuestion"],
    );
    assert.deepEqual(await answer(session, requestId, "allow_once"), { error: "RequestNotFound" });
    assert.deepEqual(await session.call("question", json({ requestId, answer: "blue" })), {});
    const responses = await session.untilIdle();
    const resolved = responses.find(({ callback }) => callback === "onQuestionResolved");
    assert.deepEqual([resolved?.answer, resolved?.by], ["blue", "user"]);
    assert.match(
      JSON.stringify(responses.findLast(({ callback }) => callback === "onEndMessage")),
      /You chose: .*blue/,
    );
    assert.equal(
      (await session.call("question", json({ requestId, answer: "red" }))).error,
      "RequestNotFound",
      "a settled question",
    );
  });

  test("requests pending at a crash are logged as cancelled once, and nothing waits after the restart", async t => {
    const { portal, startSession } = await askingPortal(t, script);
    const [asking, questioning] = await Promise.all([startSession("?permissions=ask"), startSession()]);
    await asking.query("say hello");
    await questioning.query("ask me");
    const { requestId } = await asking.waitFor("onPermissionRequest");
    const question = await questioning.waitFor("onQuestion");
    await portal.kill("SIGKILL");
    await portal.restart();
    assert.deepEqual((await portal.api("copilot/permission/pending")).body, { requests: [] });
    const after = sessionById(portal, asking.id);
    const responses = await after.untilIdle();
    assert.deepEqual(
      resolutions(responses).map(({ requestId: id, decision, by }) => [id, decision, by]),
      [[requestId, "cancelled", "restart"]],
    );
    assert.deepEqual(await answer(after, requestId, "allow_once"), { error: "RequestNotFound" });
    const questions = await sessionById(portal, questioning.id).untilIdle();
    assert.deepEqual(
      questions
        .filter(({ callback }) => callback === "onQuestionResolved")
        .map(({ requestId: id, by }) => [id, by]),
      [[question.requestId, "restart"]],
    );

    await after.query("say hello");
    const again = await nth(after, "onPermissionRequest", 2);
    await answer(after, again.requestId, "allow_once");
    const all = await after.untilIdle(2);
    assert.equal(resolutions(all).length, 2);
    assert.match(toolEnds(all).at(-1) ?? "", /hello from the shell/);
  });

  test("a session that chooses no policy allows everything without asking", async t => {
    const { startSession } = await start(t);
    const session = await startSession();
    assert.equal((await session.call("")).permissions, "allow-all");
    await session.query("say hello");
    const responses = await session.untilIdle();
    assert.equal(asks(responses) + resolutions(responses).length, 0);
    assert.match(toolEnds(responses).join(), /hello from the shell/);
  });
});

describe("Rules", () => {
  test("rules also come from the policy file, rejecting rules win, and a test box says which rule would decide", async t => {
    const { portal, startSession, workingDirectory: folder } = await strictPortal(t, script);
    const call = async (path: string, body: unknown) =>
      (await portal.api(`copilot/permission/${path}`, json(body))).body;

    await call("rules/add", { folder, rule: "allow command  echo" });
    await call("rules/add", { folder, rule: "allow command echo" });
    assert.deepEqual(await call("rules/add", { folder, rule: "allow command git status" }), {
      folders: { "*": policy.folders["*"], [folder]: ["allow command echo", "allow command git status"] },
    });
    const session = await startSession("?permissions=ask");
    await session.query("say hello");
    const responses = await session.untilIdle();
    assert.deepEqual(
      resolutions(responses).map(({ by, decision, rules }) => [by, decision, rules]),
      [["rule", "rejected", ["reject command echo"]]],
    );

    const test = async (body: Record<string, unknown>) => {
      const { decision, rules } = await call("test", { folder, ...body });
      return [decision, rules];
    };
    assert.deepEqual(await test({ command: "git status -s" }), ["allow", ["allow command git status"]]);
    assert.deepEqual(await test({ command: "git status && echo x" }), ["reject", ["reject command echo"]]);
    assert.deepEqual(await test({ command: "git status > x" }), ["ask", []]);
    assert.deepEqual(await test({ edits: ["a.txt"] }), ["allow", ["allow edits"]]);
    assert.deepEqual(await test({ edits: ["/etc/passwd"] }), ["ask", []]);
    assert.deepEqual(await test({ tool: "x" }), ["ask", []]);
    assert.equal((await call("test", { folder })).error, "BodyInvalid");
    assert.equal((await call("test", { folder: "relative", command: "x" })).error, "BodyInvalid");
    assert.equal((await call("rules/add", { folder, rule: "allow everything" })).error, "RuleInvalid");

    const remaining = await call("rules/remove", { folder, rule: "allow command echo" });
    assert.deepEqual(remaining, {
      folders: { "*": policy.folders["*"], [folder]: ["allow command git status"] },
    });
    assert.deepEqual(await call("rules/remove", { folder, rule: "allow command echo" }), {
      error: "RuleNotFound",
    });
  });

  test("the portal refuses to start with an invalid policy file and names the place of each error", async t => {
    const policy = {
      folders: { "*": ["allow everything", "allow edits", 7], relative: [], "/x": "allow edits" },
      more: 1,
    };
    const config = configFile(t, { permissions: { policy: "policy.json" } }, policy);
    const { code, stdout, stderr } = await runPortal(t, { args: ["--config", config] });
    assert.deepEqual([code, stdout], [1, ""]);
    const lines = stderr
      .trim()
      .split("\n")
      .map(line => line.slice(line.indexOf("$")));
    assert.equal(lines.length, 5, stderr);
    assert.match(lines[0] ?? "", /^\$\.more: is not known here/);
    assert.match(lines[1] ?? "", /^\$\.folders\["\*"\]\[0\]: "allow everything": a rule is allow or reject/);
    assert.match(lines[2] ?? "", /^\$\.folders\["\*"\]\[2\]: a rule is a text/);
    assert.match(lines[3] ?? "", /^\$\.folders\["relative"\]: a folder is an absolute path/);
    assert.match(lines[4] ?? "", /^\$\.folders\["\/x"\]: must be a list/);

    const missing = configFile(t, { permissions: { policy: "none.json" } });
    const refused = await runPortal(t, { args: ["--config", missing] });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /none\.json: cannot be read \(ENOENT\)/);
  });
});
