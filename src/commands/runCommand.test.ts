import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { processesWith } from "../../test/support/processes.js";
import { ownerMarker } from "../backends/orphans.js";
import { maxShownChars, maxTailLines } from "./commandOutput.js";
import { portalCommands } from "./portalCommands.js";
import { type CommandToRun, runCommand } from "./runCommand.js";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "portal-commands-"));
});
after(() => rm(folder, { recursive: true }));

const node = (script: string, more: Partial<CommandToRun> = {}) =>
  runCommand({
    program: process.execPath,
    args: ["-e", script],
    cwd: folder,
    env: process.env,
    timeoutMs: 60_000,
    ...more,
  });

/** Resolves with the part of the output that the pattern names, as soon as it is written. */
function watched(pattern: RegExp) {
  let text = "";
  let found = (_: string) => {};
  const written = new Promise<string>(resolve => {
    found = resolve;
  });
  const onOutput = (part: string) => {
    text += part;
    const match = pattern.exec(text);
    if (match) found(match[1] ?? match[0]);
  };
  return { onOutput, written };
}

const mark = "RUN_COMMAND_TEST";
const marked = (value: string) => ({ ...process.env, [mark]: value });
/** A killed process may need a moment to be gone; a test that waits forever fails by its time-out. */
async function allGone(value: string): Promise<void> {
  while ((await processesWith(mark, value)).length > 0);
}

describe("A command", () => {
  test("ends with its exit code and the last lines of its output", async () => {
    const { durationMs, ...end } = await node("console.log('one');console.error('two');process.exitCode=3");
    assert.equal(end.exitCode, 3);
    assert.deepEqual(end.tail.split("\n").sort(), ["one", "two"]);
    assert.ok(durationMs >= 0);
  });

  test("gets its arguments as they are, because no shell reads them", async () => {
    const { tail } = await node("console.log(process.argv[1])", {
      args: ["-e", "console.log(process.argv[1])", "$HOME; `id` *"],
    });
    assert.equal(tail, "$HOME; `id` *");
  });

  test("that does not exist ends with a problem that names it", async () => {
    const end = await node("", { program: "no-such-program-anywhere" });
    assert.equal(end.problem, 'There is no program "no-such-program-anywhere".');
    assert.equal(end.exitCode, undefined);
  });

  test("that writes 100 MB passes on the beginning, keeps the last lines and needs little memory", async () => {
    let shown = "";
    const before = process.memoryUsage().rss;
    const end = await node(
      "const line='x'.repeat(1023)+'\\n';let n=0;const w=()=>{while(n<102400)if(!process.stdout.write(n++===102399?'the end\\n':line))return process.stdout.once('drain',w)};w()",
      { onOutput: text => (shown += text) },
    );
    assert.equal(end.exitCode, 0);
    assert.ok(shown.length <= maxShownChars + 100, `${shown.length} characters shown`);
    assert.match(shown, /the rest is left out/);
    assert.ok(end.tail.endsWith("the end"), end.tail.slice(-20));
    assert.ok(end.tail.split("\n").length <= maxTailLines);
    assert.ok(process.memoryUsage().rss - before < 60_000_000, "memory stays bounded");
  });

  test("that ignores SIGTERM is killed at its time-out, with what it started", async () => {
    const { onOutput, written } = watched(/started/);
    const script = `process.on('SIGTERM',()=>{});
      const c=require('child_process').spawn(process.execPath,['-e',"process.on('SIGTERM',()=>{});setInterval(()=>{},1e6)"]);
      c.once('spawn',()=>console.log('started'));setInterval(()=>{},1e6)`;
    const running = node(script, { timeoutMs: 1000, onOutput, env: marked("stubborn") });
    await written;
    assert.equal((await processesWith(mark, "stubborn")).length, 2);
    assert.equal((await running).timedOut, true);
    await allGone("stubborn");
  });

  test("ends when its signal fires, and a signal that has fired starts nothing", async () => {
    const { onOutput, written } = watched(/ready/);
    const stop = new AbortController();
    const running = node("console.log('ready');setInterval(()=>{},1e6)", { signal: stop.signal, onOutput });
    await written;
    stop.abort();
    assert.equal((await running).signal, "SIGTERM");
    const late = await node("require('fs').writeFileSync('late','')", { signal: stop.signal });
    assert.equal(late.signal, "SIGTERM");
    await assert.rejects(readFile(join(folder, "late")), { code: "ENOENT" });
  });
});

describe("The portal's own commands", () => {
  const commands = async (env: NodeJS.ProcessEnv = process.env) =>
    portalCommands({
      env,
      marker: await ownerMarker(folder),
      sandboxes: { wrap: () => Promise.reject(new Error("no sandbox is wanted")) },
      sandbox: false,
    });
  const by = "user" as const;

  test("run in the working directory, with the environment that they are given", async () => {
    const own = await commands({ PATH: process.env.PATH, SHOWN: "yes" });
    const end = await own.run(
      { run: ["echo $SHOWN $HIDDEN && pwd"], shell: true, timeoutMs: 60_000, by },
      { workingDirectory: folder },
    );
    assert.deepEqual(end.tail.split("\n"), ["yes", folder]);
  });

  test("are refused where the folder is gone", async () => {
    const gone = join(folder, "gone");
    await assert.rejects(
      (await commands()).run({ run: ["true"], timeoutMs: 60_000, by }, { workingDirectory: gone }),
      { code: "WorkingDirectoryNotExists" },
    );
  });

  test("leave nothing running, not even what has left the process group", async () => {
    const script = `const c=require('child_process').spawn(process.execPath,['-e','setInterval(()=>{},1e6)'],{detached:true,stdio:'ignore'});
      c.unref();c.once('spawn',()=>console.log('started'))`;
    const end = await (await commands(marked("stray"))).run(
      { run: [process.execPath, "-e", script], timeoutMs: 60_000, by },
      { workingDirectory: folder },
    );
    assert.deepEqual([end.exitCode, end.tail], [0, "started"]);
    await allGone("stray");
  });
});
