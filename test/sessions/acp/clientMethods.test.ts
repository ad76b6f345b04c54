import assert from "node:assert/strict";
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { TailBuffer } from "../../../src/base/tailBuffer.js";
import { partOf } from "../../../src/sessions/acp/clientFiles.js";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import type { Step } from "../../support/acp/fakeAgentSteps.js";
import { groupScope, tempFolderNow } from "../../support/cleanup.js";
import { messagesOf } from "../../support/portal/restSession.js";
import { seen } from "../../support/seen.js";

const both = { clientFs: true, clientTerminal: true };
const bench = sharedAgent({
  acpAgents: {
    fake: fakeAgent({}, { ...both, policy: "approve-all" }),
    careful: fakeAgent({}, { ...both, policy: "ask" }),
  },
});
const elsewhere = tempFolderNow(groupScope(), "portal-elsewhere");

type Answer = Record<string, unknown> & { error?: { code: number; message: string } };

/** The portal's answers to the agent's requests, in order. */
async function ask(...asked: [method: string, params: Record<string, unknown>][]): Promise<Answer[]> {
  const session = await bench.start();
  await session.query(steps(...asked.map(([method, params]): Step => ({ ask: method, params }))));
  return messagesOf(await session.untilIdle()).map(text => JSON.parse(String(text)) as Answer);
}
const inside = (...names: string[]) => join(bench.workingDirectory, ...names);
const codeOf = ({ error }: Answer) => error?.code;

describe("Files that the portal offers to an ACP agent", () => {
  test("files are read whole or in part, and only as text", async () => {
    await writeFile(inside("a.txt"), "1\n2\n3");
    await writeFile(inside("bytes"), Buffer.from([0xff, 0xfe, 0x00]));
    await writeFile(inside("big"), Buffer.alloc(10 * 1024 * 1024 + 1, "x"));
    const read = (name: string, more = {}): [string, Record<string, unknown>] => [
      "fs/read_text_file",
      { path: inside(name), ...more },
    ];
    const [whole, part, past, missing, folder, bytes, big] = await ask(
      read("a.txt"),
      read("a.txt", { line: 2, limit: 1 }),
      read("a.txt", { line: 9 }),
      read("none.txt"),
      read("."),
      read("bytes"),
      read("big"),
    );
    assert.deepEqual([whole, part, past], [{ content: "1\n2\n3" }, { content: "2\n" }, { content: "" }]);
    assert.deepEqual(missing?.error, { code: -32002, message: `Resource not found: ${inside("none.txt")}` });
    assert.deepEqual(
      [folder, bytes, big].map(answer => answer && codeOf(answer)),
      [-32602, -32602, -32602],
    );
  });

  test("files outside the working directory are refused, whatever the path looks like", async () => {
    const secret = join(elsewhere, "secret");
    await writeFile(secret, "secret");
    await symlink(elsewhere, inside("link"));
    await symlink(join(elsewhere, "new"), inside("dangling"));
    const paths = [
      secret,
      `${bench.workingDirectory}/../secret`,
      inside("link", "secret"),
      inside("dangling"),
      "a.txt",
      7,
      "/etc/passwd",
    ];
    const answers = await ask(
      ...paths.map((path): [string, Record<string, unknown>] => ["fs/read_text_file", { path }]),
      ...paths.map((path): [string, Record<string, unknown>] => [
        "fs/write_text_file",
        { path, content: "x" },
      ]),
    );
    assert.deepEqual(new Set(answers.map(codeOf)), new Set([-32602]));
    assert.equal(await readFile(secret, "utf8"), "secret");
    await assert.rejects(stat(join(elsewhere, "new")));
  });

  test("files are written with their folders and keep their permissions", async () => {
    await writeFile(inside("tool.sh"), "old");
    await chmod(inside("tool.sh"), 0o750);
    const answers = await ask(
      ["fs/write_text_file", { path: inside("tool.sh"), content: "new" }],
      ["fs/write_text_file", { path: inside("deep", "er", "b.txt"), content: "b" }],
    );
    assert.deepEqual(answers, [{}, {}]);
    assert.equal(await readFile(inside("tool.sh"), "utf8"), "new");
    assert.equal((await stat(inside("tool.sh"))).mode & 0o777, 0o750);
    assert.equal(await readFile(inside("deep", "er", "b.txt"), "utf8"), "b");
  });

  test("files are written only when the user allows it", async () => {
    const session = await bench.start("acp:careful");
    const path = inside("careful.txt");
    await session.query(steps({ ask: "fs/write_text_file", params: { path, content: "x" } }));
    const card = await session.waitFor("onPermissionRequest");
    assert.deepEqual([card.kind, Object(card.detail).paths], ["edit", [path]]);
    assert.match(Object(card.detail).diff, /\+x/);
    await session.call("permission", { body: JSON.stringify({ requestId: card.requestId, deny: true }) });
    const [answer] = messagesOf(await session.untilIdle());
    assert.deepEqual(JSON.parse(String(answer)), {
      error: { code: -32603, message: "Rejected by the user" },
    });
    await assert.rejects(stat(path));
  });

  test("the lines of a file count from 1", () => {
    assert.deepEqual(
      [partOf("a\nb\n", 1, 1), partOf("a\nb\n", 0, undefined), partOf("a\nb\n", 2, 0), partOf("", 1, 5)],
      ["a\n", "a\nb\n", "", ""],
    );
  });
});

describe("Terminals that the portal offers to an ACP agent", () => {
  const node = process.execPath;
  const script = (code: string) => ({ command: node, args: ["-e", code] });

  test("a terminal runs a command without a shell, reports its output and exit, and is gone when released", async () => {
    const session = await bench.start();
    const code = "console.log('$HOME', process.cwd()); console.error('err'); process.exitCode = 3";
    await session.query(
      steps({
        terminal: { ...script(code), env: [{ name: "X", value: "1" }] },
        calls: [
          "terminal/wait_for_exit",
          "terminal/output",
          "terminal/kill",
          "terminal/release",
          "terminal/output",
        ],
      }),
    );
    const [exit, output, killed, released, gone] = messagesOf(await session.untilIdle()).map(text =>
      JSON.parse(String(text)),
    );
    assert.deepEqual(exit, { exitCode: 3, signal: null });
    assert.match(output.output, /\$HOME/);
    assert.ok(output.output.includes(bench.workingDirectory) && output.output.includes("err"));
    assert.deepEqual([output.truncated, output.exitStatus], [false, { exitCode: 3, signal: null }]);
    assert.deepEqual([killed, released, gone.error.code], [{}, {}, -32002]);
  });

  test("a terminal appears live in its tool's block, which keeps the output", async () => {
    const session = await bench.start();
    await session.query(
      steps(
        {
          terminal: script("console.log('hello from the terminal')"),
          show: "t",
          calls: ["terminal/wait_for_exit", "terminal/release"],
        },
        {
          update: { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" },
        },
      ),
    );
    const end = (await session.untilIdle()).find(({ callback }) => callback === "onEndToolExecution");
    assert.deepEqual(end?.result, { content: "hello from the terminal\n" });
  });

  test("terminals stay inside the folder, need permission and end with the session", async () => {
    const [outside, nothing, unknown] = await ask(
      ["terminal/create", { ...script(""), cwd: elsewhere }],
      ["terminal/create", {}],
      ["terminal/output", { terminalId: "nobody" }],
    );
    assert.deepEqual(
      [outside, nothing, unknown].map(answer => answer && codeOf(answer)),
      [-32602, -32602, -32002],
    );
    const session = await bench.start("acp:careful");
    await session.query(steps({ ask: "terminal/create", params: { command: "touch", args: ["a b"] } }));
    const card = await session.waitFor("onPermissionRequest");
    assert.equal(Object(card.detail).command, "touch 'a b'");
    await session.call("cancel");
    await assert.rejects(stat(inside("a b")));

    const running = await bench.start();
    await mkdir(inside("alive"), { recursive: true });
    const pidFile = inside("alive", "pid");
    const code = `require('fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setInterval(() => {}, 1000)`;
    await running.query(steps({ ask: "terminal/create", params: script(code) }, { until: "alive/pid" }));
    await running.untilIdle();
    await running.call("stop");
    const pid = Number(await readFile(pidFile, "utf8"));
    await seen(async () => !isAlive(pid));
  });

  test("at most twenty terminals are open, and a long output is cut at a whole character, keeping its end", async () => {
    const many = await ask(
      ...Array.from({ length: 21 }, (): [string, Record<string, unknown>] => ["terminal/create", script("")]),
    );
    assert.deepEqual(many.map(codeOf).slice(-2), [undefined, -32603]);
    const buffer = new TailBuffer(5);
    buffer.push(Buffer.from("ab日本"));
    assert.deepEqual([buffer.text(), buffer.truncated], ["本", true]);
    const small = new TailBuffer(100);
    small.push(Buffer.from("日").subarray(0, 1));
    small.push(Buffer.from("日").subarray(1));
    assert.deepEqual([small.text(), small.truncated], ["日", false]);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
