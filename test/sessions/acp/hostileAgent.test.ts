import assert from "node:assert/strict";
import { mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import type { Step } from "../../support/acp/fakeAgentSteps.js";
import { loopReport, monitored } from "../../support/acp/loopMonitor.js";
import { groupScope, tempFolder, tempFolderNow } from "../../support/cleanup.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { isWithin } from "../../support/pace.js";
import { messagesOf, type RestSession } from "../../support/portal/restSession.js";

const both = { clientFs: true, clientTerminal: true };
const monitorFolder = tempFolderNow(groupScope(), "portal-loop");
const elsewhere = tempFolderNow(groupScope(), "portal-elsewhere");
const bench = sharedAgent({
  acpAgents: {
    fake: fakeAgent({}, { ...both, policy: "ask" }),
    // A separate process, which does not suffer from the hostile agent's load.
    calm: fakeAgent({}, { policy: "ask" }),
    open: fakeAgent({}, { ...both, policy: "approve-all" }),
    shut: fakeAgent({}, { ...both, policy: "deny" }),
  },
  portal: { env: monitored(monitorFolder) },
});
const folder = bench.workingDirectory;
const inside = (...names: string[]) => join(folder, ...names);
/** As much as a generous user would allow. */
const rules = [
  "allow command ls",
  "allow command cat",
  "allow command git status",
  "allow edits",
  "allow reads",
  "allow tool search",
];
before(async () => {
  await writeFile(inside("a.txt"), "a");
  await mkdir(inside("sub"));
  await symlink(elsewhere, inside("link"));
  await writeFile(join(elsewhere, "secret"), "secret");
  for (const rule of rules) await bench.post("copilot/permission/rules/add", { folder, rule });
});

const options = [
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "no", kind: "reject_once", name: "No" },
];
const permission = (toolCall: object, more: object = {}): Step => ({
  ask: "session/request_permission",
  params: { toolCall: { toolCallId: "t", title: "ls", ...toolCall }, options, ...more },
});
const execute = (rawInput: unknown, more: object = {}) => permission({ kind: "execute", rawInput, ...more });
const edit = (rawInput: unknown, more: object = {}) => permission({ kind: "edit", rawInput, ...more });
const read = (rawInput: unknown, more: object = {}) => permission({ kind: "read", rawInput, ...more });
const diff = (path: string) => ({ type: "diff", path, oldText: null, newText: "x" });
const announce = (call: object): Step => ({
  update: { sessionUpdate: "tool_call", toolCallId: "t", title: "x", ...call },
});

/** The answers that the agent got, each as JSON. */
const answersOf = (responses: readonly AnyResponse[]) =>
  messagesOf(responses).map(text => JSON.parse(String(text)));
const allowed = { outcome: { outcome: "selected", optionId: "yes" } };

async function cardOf(session: RestSession): Promise<AnyResponse> {
  for await (const { data } of session.events())
    if (data.callback === "onPermissionRequest" || data.callback === "onIdle") return data;
  throw new Error("The log ended without a card");
}

describe("A hostile agent's request under wide rules", () => {
  const harmless: Record<string, Step> = {
    "a command that a rule allows": execute({ command: "ls" }),
    "an allowed command in the session's folder": execute({ command: "cat a.txt", cwd: folder }),
    "an edit inside": edit({ path: inside("a.txt") }, { content: [diff(inside("a.txt"))] }),
    "a read inside": read({ path: "a.txt" }),
    "a tool that is allowed": permission({ kind: "other", name: "search", rawInput: { query: "x" } }),
  };
  for (const [what, step] of Object.entries(harmless))
    test(`a request is allowed when it does only what it says: ${what}`, async () => {
      const session = await bench.start();
      await session.query(steps(step));
      assert.deepEqual(answersOf(await session.untilIdle()), [allowed]);
    });

  const asked: Record<string, Step[]> = {
    "its command is only its title, which may be anything": [permission({ kind: "execute", title: "ls" })],
    "its title and its input are different commands": [execute({ command: "touch x" })],
    "its arguments are separate": [execute({ command: "ls", args: ["-l", ";", "touch", "x"] })],
    "its second command is not allowed": [execute({ command: "ls", commands: ["ls", "touch x"] })],
    "it sets PATH, so that ls is any program": [execute({ command: "ls", env: { PATH: folder } })],
    "it sets variables as a list": [execute({ command: "ls", environment: [{ name: "PATH", value: "." }] })],
    "it runs outside": [execute({ command: "cat secret", cwd: elsewhere })],
    "it runs in a folder whose .git is not that of the session": [
      execute({ command: "git status", workdir: "sub" }),
    ],
    "it runs behind a link": [execute({ command: "cat secret", directory: "link" })],
    "a program of the folder is called as the shell is": [execute({ command: ["./bash", "-lc", "ls"] })],
    "the shell itself is named": [execute({ command: "ls", shell: inside("bash") })],
    "it writes to the command": [execute({ command: "cat", stdin: "x" })],
    "a field may mean anything": [execute({ command: "ls", elevated: true })],
    "its words are two commands once they are joined": [execute({ command: ["ls", "&&", "touch", "x"] })],
    "its command is a list that contains more than strings": [execute({ command: ["ls", { toString: 1 }] })],
    "it was announced as another command": [
      announce({ kind: "execute", rawInput: { command: "touch x" } }),
      execute({ command: "ls" }),
    ],
    "it was announced as two different commands": [
      announce({ kind: "execute", rawInput: { command: "touch x" } }),
      { update: { sessionUpdate: "tool_call_update", toolCallId: "t", rawInput: { command: "ls" } } },
      execute({ command: "ls" }),
    ],
    "it was announced as an edit": [
      announce({ kind: "edit", rawInput: { path: "a.txt" } }),
      execute({ command: "ls" }),
    ],
    "its difference is about another file": [
      edit({ path: "a.txt" }, { content: [diff(join(elsewhere, "secret"))] }),
    ],
    "its patch names another file": [edit({ path: "a.txt", patch: `--- a\n+++ ${elsewhere}/secret\n` })],
    "its location is another file": [edit({ path: "a.txt" }, { locations: [{ path: "/etc/passwd" }] })],
    "an earlier update about it names another file": [
      announce({ locations: [{ path: "/etc/passwd" }] }),
      edit({ path: "a.txt" }),
    ],
    "a link leads out": [edit({ path: inside("link", "secret") })],
    "the parent of a link leads out": [read({ path: "link/../secret" })],
    "a move ends outside": [
      permission({ kind: "move", rawInput: { path: "a.txt", destination: join(elsewhere, "a") } }),
    ],
    "a move ends outside under another name": [
      permission({ kind: "move", rawInput: { from: "a.txt", new_path: "../a" } }),
    ],
    "a file is given as a URL": [read({ path: `file://${inside("a.txt")}` })],
    "a path is URL-encoded": [read({ path: "sub/%2e%2e/%2e%2e/x" })],
    "it edits what git runs": [edit({ path: inside(".git", "hooks", "post-checkout") })],
    "a read has a command": [read({ path: "a.txt", command: "touch x" })],
    "a read has a difference": [read({ path: "a.txt" }, { content: [diff("a.txt")] })],
    "a search looks elsewhere": [permission({ kind: "search", rawInput: { path: ".", glob: "../**" } })],
    "an edit has a command": [edit({ path: "a.txt", command: "touch x" })],
    "a tool is given a command": [
      permission({ kind: "other", name: "search", rawInput: { script: "touch x" } }),
    ],
    "only a tool's title matches an allowed tool": [
      permission({ kind: "other", title: "search", rawInput: {} }),
    ],
    "a tool has two names": [
      announce({ name: "shell" }),
      permission({ kind: "other", name: "search", rawInput: {} }),
    ],
    "a tool has the name of a job tool": [
      permission({ title: "portal-jobs-job_boolean_true", rawInput: { argument: "x" } }),
    ],
    "a job tool has more than its argument": [
      { job: "" },
      permission({ title: "portal-jobs-job_boolean_true", rawInput: { argument: "x", command: "touch x" } }),
    ],
    "a job tool was announced as a command": [
      { job: "" },
      announce({ kind: "execute", rawInput: { command: "touch x" } }),
      permission({ title: "portal-jobs-job_boolean_true", rawInput: { argument: "x" } }),
    ],
    "the request itself has a field that may mean anything": [
      permission({ kind: "execute", rawInput: { command: "ls" } }, { next: "touch x" }),
    ],
    "it asks the portal to run a command with variables": [
      { ask: "terminal/create", params: { command: "ls", env: [{ name: "LD_PRELOAD", value: "./x.so" }] } },
    ],
    "it asks the portal to run a command in another folder": [
      { ask: "terminal/create", params: { command: "ls", cwd: inside("sub") } },
    ],
    "it asks the portal to run ./ls": [{ ask: "terminal/create", params: { command: "./ls" } }],
    "it asks the portal to run a shell from the folder": [
      { ask: "terminal/create", params: { command: "./sh", args: ["-c", "ls"] } },
    ],
    "it asks the portal to write what git runs": [
      { ask: "fs/write_text_file", params: { path: inside(".git", "config"), content: "x" } },
    ],
  };
  for (const [why, hostile] of Object.entries(asked))
    test(`a request needs the user's permission when ${why}`, async () => {
      const session = await bench.start();
      await session.query(steps(...hostile));
      const card = await cardOf(session);
      assert.equal(card.callback, "onPermissionRequest", "the user was not asked");
      assert.match(String(card.why), /^[A-Z].*\.?/);
      await session.call("cancel", { method: "POST" });
    });

  test("a request shows on its card what it would do, including variables and folder", async () => {
    const session = await bench.start();
    const env = [{ name: "PATH", value: "/tmp/evil" }];
    await session.query(
      steps({ ask: "terminal/create", params: { command: "ls", env, cwd: inside("sub") } }),
    );
    const { detail } = await cardOf(session);
    assert.deepEqual(Object(detail).arguments, { cwd: inside("sub"), env });
    await session.call("cancel", { method: "POST" });
  });
});

describe("Files and commands that the portal offers to a hostile agent", () => {
  const secret = { ask: "fs/read_text_file", params: { path: inside("a.txt") } };
  const refused = { error: { code: -32603, message: "Rejected by the user" } };

  test("files and commands are refused in a session that denies everything", async () => {
    const session = await bench.start("acp:shut");
    const path = inside("denied.txt");
    await session.query(
      steps(
        secret,
        { ask: "fs/write_text_file", params: { path, content: "x" } },
        { ask: "terminal/create", params: { command: "touch", args: [path] } },
      ),
    );
    assert.deepEqual(answersOf(await session.untilIdle()), [refused, refused, refused]);
    await assert.rejects(stat(path));
  });

  test("files and commands need the user's permission when no rule decides, even for reads", async t => {
    const other = await tempFolder(t, "portal-other");
    await writeFile(join(other, "a.txt"), "other");
    const path = `copilot/session/start/${encodeURIComponent("acp:fake")}`;
    const { sessionId } = (await bench.portal.api<{ sessionId: string }>(path, { body: other })).body;
    const call = (part: string, body: object = {}) =>
      bench.post(`copilot/session/${sessionId}/${part}`, body);
    await bench.portal.api(`copilot/session/${sessionId}/query`, {
      body: steps({ ask: "fs/read_text_file", params: { path: join(other, "a.txt") } }),
    });
    const pending = async () =>
      (await bench.portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending?wait=true")).body
        .requests;
    let [card] = (await pending()).filter(request => request.sessionId === sessionId);
    while (!card) [card] = (await pending()).filter(request => request.sessionId === sessionId);
    assert.equal(card.kind, "read");
    await call("cancel");
  });

  test("a file is not written through a link that appears while the user decides", async () => {
    const session = await bench.start();
    await mkdir(inside("swap"), { recursive: true });
    const path = inside("swap", ".git", "new.txt");
    await session.query(steps({ ask: "fs/write_text_file", params: { path, content: "x" } }));
    const card = await cardOf(session);
    await rename(inside("swap"), inside("swapped"));
    await symlink(elsewhere, inside("swap"));
    await session.call("permission", {
      body: JSON.stringify({ requestId: card.requestId, optionId: "allow_once" }),
    });
    const [answer] = answersOf(await session.untilIdle());
    assert.equal(answer.error.code, -32602);
    await assert.rejects(stat(join(elsewhere, ".git")));
    await rm(inside("swap"));
  });

  const impossible: Record<string, [method: string, params: Record<string, unknown>]> = {
    "a command with a null character": ["terminal/create", { command: "a\0b" }],
    "a command that is an object": ["terminal/create", { command: { toString: 1 } }],
    "arguments that are not strings": ["terminal/create", { command: "ls", args: [{ toString: 1 }] }],
    "arguments that are one string": ["terminal/create", { command: "ls", args: "-l" }],
    "a variable without a name": ["terminal/create", { command: "ls", env: [{ value: "x" }] }],
    "a variable whose name has an equals sign": [
      "terminal/create",
      { command: "ls", env: [{ name: "A=B", value: "" }] },
    ],
    "a command that is too long": ["terminal/create", { command: "ls", args: ["x".repeat(200_000)] }],
    "a folder outside": ["terminal/create", { command: "ls", cwd: elsewhere }],
    "a folder behind a link": ["terminal/create", { command: "ls", cwd: inside("link") }],
    "a path of 50,000 parts": ["fs/read_text_file", { path: `${folder}${"/a".repeat(50_000)}` }],
    "a path that is an object": ["fs/read_text_file", { path: { toString: 1 } }],
    "a file behind a link": ["fs/read_text_file", { path: inside("link", "secret") }],
    "a file of the system": ["fs/write_text_file", { path: "/proc/self/environ", content: "x" }],
    "content that is not a string": ["fs/write_text_file", { path: inside("b"), content: ["x"] }],
  };
  test("impossible requests are refused even where everything is allowed", async () => {
    const session = await bench.start("acp:open");
    await session.query(
      steps(...Object.values(impossible).map(([method, params]): Step => ({ ask: method, params }))),
    );
    const answers = answersOf(await session.untilIdle());
    Object.keys(impossible).forEach((what, i) => {
      assert.equal(answers[i]?.error?.code, -32602, `${what}: ${JSON.stringify(answers[i])}`);
    });
    assert.equal(await readFile(join(elsewhere, "secret"), "utf8"), "secret");
  });
});

/** On a machine of its own the portal stalls for less than 100 ms, including what the store does meanwhile. */
const maxHeldUpMs = 100;

/** A session on another agent still gets its answer, and the portal never stalled for long. */
async function checkAlive(what: string): Promise<void> {
  const calm = await bench.start("acp:calm");
  await calm.query("hello");
  assert.deepEqual(messagesOf(await calm.untilIdle()), ["You said: hello"]);
  await calm.call("stop", { method: "POST" });
  const { heldUpMs, rssBytes } = await loopReport(monitorFolder);
  console.log(`${what}: held up ${heldUpMs.toFixed(0)} ms, ${(rssBytes / 1024 / 1024).toFixed(0)} MiB`);
  assert.ok(isWithin(heldUpMs, maxHeldUpMs), `${what} held the portal up for ${heldUpMs} ms`);
  assert.ok(rssBytes < 1500 * 1024 * 1024, `${what} took ${rssBytes} bytes`);
}

describe("The portal outlives a hostile agent", () => {
  const inUpdate = (field: string): [string, string] => [
    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"x","title":"x","status":"completed","${field}":`,
    "}}}",
  ];
  const deep = (before: string, after: string, times = 5000): Step => ({
    before,
    repeat: "[",
    times,
    after: `${"]".repeat(times)}${after}`,
  });
  const request = (field: string): [string, string] => [
    `{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"SESSION","options":[],"toolCall":{"kind":"execute","toolCallId":"q","${field}":`,
    "}}}",
  ];
  const storms: Record<string, Step[]> = {
    "whose input is 5,000 lists deep": [deep(...inUpdate("rawInput"))],
    "whose output is 5,000 lists deep": [deep(...inUpdate("rawOutput"))],
    "whose content is 5,000 lists deep": [deep(...inUpdate("content"))],
    "whose request is 100,000 lists deep": [deep(...request("rawInput"), 100_000)],
    "that writes half a million nested lists without a message": [deep("", "", 500_000)],
    "whose error is deep": [deep('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":', "}}")],
    "whose input is a text of 3 MiB": [
      {
        before: `${inUpdate("rawInput")[0]}"`,
        repeat: "x",
        times: 3 * 1024 * 1024,
        after: `"${inUpdate("")[1]}`,
      },
    ],
    "whose output is 3 MiB of line feeds": [
      {
        before: `${inUpdate("content")[0]}[{"type":"diff","path":"a","oldText":"`,
        repeat: "\\n",
        times: 1_500_000,
        after: `","newText":"x"}]${inUpdate("")[1]}`,
      },
    ],
    "whose output is a million empty objects": [
      {
        before: `${inUpdate("rawOutput")[0]}[0`,
        repeat: ",{}",
        times: 1_000_000,
        after: `]${inUpdate("")[1]}`,
      },
    ],
    "that writes a line of 20 MiB": [
      { before: '{"jsonrpc":"2.0","method":"', repeat: "x", times: 20 * 1024 * 1024, after: '"}' },
    ],
    "that writes 100,000 empty lines": [{ before: "", repeat: "\n", times: 100_000, after: "" }],
    "that sends 100,000 pieces of a message": [{ storm: "messages", count: 100_000 }],
    "that starts 20,000 tools": [{ storm: "tools", count: 20_000 }],
    "that asks for permission 1,000 times at once": [{ storm: "permissions", count: 1000 }],
    "that asks for permission 1,000 times under one id": [{ storm: "sameIds", count: 1000 }],
    "that asks for 1,000 terminals at once": [{ storm: "terminals", count: 1000 }],
    "that sends 100,000 answers to requests that were never made": [{ storm: "responses", count: 100_000 }],
    "that changes a plan of 2,000 entries 200 times": [{ storm: "plans", count: 200 }],
    "that sends updates about 20,000 unknown sessions": [{ storm: "strays", count: 20_000 }],
    "whose kinds are names of built-in object properties": [
      { update: { sessionUpdate: "constructor" } },
      { update: { sessionUpdate: "compaction_update", status: "constructor" } },
      { stop: "constructor" },
    ],
  };
  for (const [what, hostile] of Object.entries(storms))
    test(`the portal outlives an agent ${what}`, async () => {
      await loopReport(monitorFolder);
      const session = await bench.start();
      await session.query(steps(...hostile));
      await session.untilIdle();
      await checkAlive(what);
      await session.call("stop", { method: "POST" });
    });

  test("the connection of an agent that never ends its line is dropped and restored", async () => {
    const session = await bench.start();
    await session.query(steps({ flood: 40 }, { hang: true }));
    await session.untilIdle();
    await session.query("back");
    assert.equal(messagesOf(await session.untilIdle(2)).at(-1), "You said: back");
  });

  test("an agent that sends 2,000 random messages gets nothing that no rule allows", async () => {
    const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`FUZZ_SEED=${seed}`);
    await loopReport(monitorFolder);
    const session = await bench.start();
    await session.query(steps({ fuzz: seed, count: 2000 }));
    await session.untilIdle();
    await checkAlive(`2,000 random messages (FUZZ_SEED=${seed})`);
    await session.query(steps({ strays: true }));
    const told = messagesOf(await session.untilIdle(2)).at(-1);
    const { harmless, harmful, answers } = JSON.parse(String(told)) as Record<string, unknown>;
    console.log(`${answers} requests were answered, ${harmless} allowed by rules`);
    assert.ok(Number(answers) > 200 && Number(harmless) > 20, String(told));
    assert.deepEqual(harmful, [], `FUZZ_SEED=${seed}`);
    await assert.rejects(stat(inside("fuzzed")));
  });
});
