import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { ResultCache } from "../../src/orchestrator/run/resultCache.js";
import { byPrompt, fault, callTool as modelCalls } from "../support/model/scriptedModel.js";
import { callTool, TestClock } from "../support/orchestrator/orchestrator.js";
import {
  agentRepo,
  agentText,
  referenceFiles,
  writeAgent,
} from "../support/orchestrator/orchestratorRepo.js";
import { type RealModuleOptions, startReal } from "../support/orchestrator/realOrchestrator.js";

const run = promisify(execFile);

const git = (root: string, ...args: string[]) =>
  run("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@localhost", ...args]);

async function gitRepo(t: TestContext): Promise<string> {
  const root = await agentRepo(t, referenceFiles());
  await writeFile(join(root, "code.ts"), "one");
  await git(root, "init", "-q");
  await git(root, "add", "-A");
  await git(root, "commit", "-qm", "first");
  return root;
}

describe("The cache of answers", () => {
  test("A repeated question reaches the model of a real runtime only when no valid answer is cached", async t => {
    let broken = true;
    const { model, open } = await startReal(t, request => {
      if (request.userText.includes("fails") && broken) return [fault.http(400)];
      if (request.userText.includes("write") && request.round === 0)
        return [
          modelCalls("create", { path: join(writes.root, `${model.requests.length}.txt`), file_text: "x" }),
        ];
      return byPrompt({})(request);
    });
    const writes = { root: "" };

    async function start(options: RealModuleOptions = {}) {
      const clock = new TestClock();
      const { client, repoRoot } = await open({ ...options, clock });
      const ask = async (prompt = "Review auth.go", agentName = "code-reviewer") => {
        // A second later, the agent files are read again.
        clock.advance(1001);
        const before = model.requests.length;
        const { data } = await callTool(client, "run_agent", { agentName, prompt });
        return { ...data, requests: model.requests.length - before };
      };
      /** Whether the model was asked. */
      const asked = async (prompt?: string) => {
        const { cached, requests } = await ask(prompt);
        assert.equal(cached, requests === 0);
        return requests > 0;
      };
      return { clock, ask, asked, client, repoRoot };
    }

    await t.test("The second answer is the first one, with the time of the first", async () => {
      const { ask, client } = await start();
      const first = await ask();
      const second = await ask(" Review auth.go ");
      assert.deepEqual([first.cached, first.requests], [false, 1]);
      assert.deepEqual([second.cached, second.requests], [true, 0]);
      assert.equal(second.executedAt, first.executedAt);
      assert.deepEqual(second.output, first.output);
      // The first agent of a chain gets the same question.
      const before = model.requests.length;
      await callTool(client, "run_with_orchestrator", { prompt: "Review auth.go" });
      assert.equal(model.requests.length, before);
    });

    await t.test("An answer expires after CACHE_TTL, and asking does not extend it", async () => {
      const { asked, clock } = await start({ env: { CACHE_TTL: "10s" } });
      await asked();
      clock.advance(5000);
      assert.equal(await asked(), false);
      clock.advance(5000);
      assert.equal(await asked(), true);
    });

    await t.test("An answer never expires when CACHE_TTL is 0", async () => {
      const { asked, clock } = await start({ env: { CACHE_TTL: "0" } });
      await asked();
      clock.advance(1e9);
      assert.equal(await asked(), false);
    });

    await t.test("The cache keeps the most recently used answers", async () => {
      const { asked } = await start({ env: { CACHE_SIZE: "2" } });
      await asked("one");
      await asked("two");
      assert.equal(await asked("one"), false);
      await asked("three");
      assert.equal(await asked("one"), false);
      assert.equal(await asked("two"), true);
    });

    await t.test("CACHE_SIZE=0 caches nothing, not even for two calls at once", async () => {
      const { ask } = await start({ env: { CACHE_SIZE: "0" } });
      const before = model.requests.length;
      await Promise.all([ask(), ask()]);
      assert.equal(model.requests.length - before, 2);
    });

    await t.test("An answer is not reused after an edit of the agent's file", async () => {
      const { asked, repoRoot } = await start();
      await asked();
      await writeAgent(repoRoot, "code-reviewer.md", agentText("name: code-reviewer\ndescription: edited"));
      assert.equal(await asked(), true);
    });

    await t.test(
      "An answer is not reused after a file of the repository is edited, added or committed",
      async t => {
        const { asked, repoRoot } = await start({ repoRoot: await gitRepo(t) });
        await asked();
        assert.equal(await asked(), false);
        await writeFile(join(repoRoot, "code.ts"), "another");
        assert.equal(await asked(), true);
        await writeFile(join(repoRoot, "new.ts"), "new");
        assert.equal(await asked(), true);
        await git(repoRoot, "commit", "-qam", "second");
        assert.equal(await asked(), true);
        assert.equal(await asked(), false);
      },
    );

    await t.test("The answer of an agent that may change files, or that failed, is not cached", async () => {
      const files = {
        "code-reviewer.md": agentText("name: code-reviewer\ndescription: x\ntools: [read, edit]"),
      };
      const { asked, ask, repoRoot } = await start({ files, env: { AGENT_PERMISSIONS: "declared" } });
      writes.root = repoRoot;
      await asked("write it");
      assert.ok(
        (await readdir(repoRoot)).some(name => name.endsWith(".txt")),
        "the agent changed something",
      );
      assert.equal(await asked("write it"), true);
      await ask("fails");
      broken = false;
      assert.equal(await asked("fails"), true);
      assert.equal(await asked("fails"), false);
    });

    await t.test("Ten simultaneous callers share one run", async () => {
      const { ask } = await start();
      const before = model.requests.length;
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
      assert.equal(model.requests.length - before, 1);
      assert.equal(new Set(answers.map(answer => answer.executedAt)).size, 1);
    });
  });

  test("A caller that cancels does not affect the others, and the last to cancel ends the run", async () => {
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
