import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { ResultCache } from "../src/orchestrator/resultCache.js";
import { callTool, connectClient, startModule, TestClock } from "./support/orchestrator.js";
import { agentRepo, agentText, referenceFiles, writeAgent } from "./support/orchestratorRepo.js";

const run = promisify(execFile);

async function gitRepo(t: TestContext): Promise<string> {
  const root = await agentRepo(t, referenceFiles());
  const git = (...args: string[]) =>
    run("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@localhost", ...args]);
  await writeFile(join(root, "code.ts"), "one");
  await git("init", "-q");
  await git("add", "-A");
  await git("commit", "-qm", "first");
  return root;
}

async function start(t: TestContext, env: Record<string, string> = {}, repoRoot?: string) {
  const clock = new TestClock();
  const {
    module,
    invoker,
    repoRoot: root,
  } = await startModule(t, { env, clock, ...(repoRoot && { repoRoot }) });
  const client = await connectClient(t, module);
  const ask = async (prompt = "Review auth.go", agentName = "code-reviewer") => {
    clock.advance(1001);
    return (await callTool(client, "run_agent", { agentName, prompt })).data;
  };
  return { clock, invoker, ask, client, root };
}

describe("the same question is answered once", () => {
  test("the second answer is the first one, with its time", async t => {
    const { ask, invoker, client } = await start(t);
    const first = await ask();
    const second = await ask(" Review auth.go ");
    assert.deepEqual([first.cached, second.cached], [false, true]);
    assert.equal(second.executedAt, first.executedAt);
    assert.deepEqual(second.output, first.output);
    // The first agent of a chain is asked the same.
    await callTool(client, "run_with_orchestrator", { prompt: "Review auth.go" });
    assert.equal(invoker.calls.length, 1);
  });

  test("until its time is over, which asking does not extend", async t => {
    const { ask, clock, invoker } = await start(t, { CACHE_TTL: "10s" });
    await ask();
    clock.advance(5000);
    assert.equal((await ask()).cached, true);
    clock.advance(5000);
    assert.equal((await ask()).cached, false);
    assert.equal(invoker.calls.length, 2);
  });

  test("for ever when the time is 0", async t => {
    const { ask, clock } = await start(t, { CACHE_TTL: "0" });
    await ask();
    clock.advance(1e9);
    assert.equal((await ask()).cached, true);
  });

  test("as long as it is among the most recently used", async t => {
    const { ask } = await start(t, { CACHE_SIZE: "2" });
    await ask("one");
    await ask("two");
    assert.equal((await ask("one")).cached, true);
    await ask("three");
    assert.equal((await ask("one")).cached, true);
    assert.equal((await ask("two")).cached, false);
  });

  test("never with CACHE_SIZE=0", async t => {
    const { ask, invoker } = await start(t, { CACHE_SIZE: "0" });
    await Promise.all([ask(), ask()]);
    assert.equal(invoker.calls.length, 2);
  });

  test("not when the agent's file was edited", async t => {
    const { ask, root } = await start(t);
    await ask();
    await writeAgent(root, "code-reviewer.md", agentText("name: code-reviewer\ndescription: edited"));
    assert.equal((await ask()).cached, false);
  });

  test("not when a file of the repository was edited, added or committed", async t => {
    const { ask, root } = await start(t, {}, await gitRepo(t));
    await ask();
    assert.equal((await ask()).cached, true);
    await writeFile(join(root, "code.ts"), "another");
    assert.equal((await ask()).cached, false);
    await writeFile(join(root, "new.ts"), "new");
    assert.equal((await ask()).cached, false);
    await run("git", [
      "-C",
      root,
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@localhost",
      "commit",
      "-qam",
      "second",
    ]);
    assert.equal((await ask()).cached, false);
    assert.equal((await ask()).cached, true);
  });

  test("not when the agent was allowed to change something, and not when it failed", async t => {
    const { ask, invoker } = await start(t);
    invoker.reply = () => ({ text: "done", sideEffects: true });
    await ask();
    assert.equal((await ask()).cached, false);
    invoker.reply = () => {
      throw new Error("broken");
    };
    await ask("fails");
    invoker.reply = () => ({ text: "works" });
    assert.equal((await ask("fails")).cached, false);
  });
});

describe("the same question at the same time", () => {
  test("ten callers share one run", async t => {
    const { ask, invoker } = await start(t);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    assert.equal(invoker.calls.length, 1);
    assert.equal(new Set(answers.map(answer => answer.executedAt)).size, 1);
  });

  test("who cancels leaves the others alone; the last one ends the run", async () => {
    const cache = new ResultCache<string>({ size: 1, ttlMs: 0, nowMs: () => 0 });
    const [first, second] = [new AbortController(), new AbortController()];
    let runs = 0;
    let ended = false;
    const run = (signal: AbortSignal) => {
      runs++;
      return new Promise<string>((_, reject) =>
        signal.addEventListener("abort", () => {
          ended = true;
          reject(new Error("ended"));
        }),
      );
    };
    const calls = [first, second].map(({ signal }) =>
      assert.rejects(cache.share("same", signal, run), { name: "AbortError" }),
    );
    first.abort();
    await calls[0];
    assert.deepEqual([runs, ended], [1, false]);
    second.abort();
    await calls[1];
    assert.deepEqual([runs, ended], [1, true]);
  });
});
