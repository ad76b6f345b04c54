import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Runtime } from "../../src/backends/runtime.js";
import { conversation } from "../support/portal/session.js";
import { sessionsHere } from "../support/portal/sessionsHere.js";

/** Dies with the next call unanswered. A call to a dead process fails too, but the SDK also throws its error at nobody. */
async function dieAtNextCall({ child }: Runtime): Promise<void> {
  const stdin = child?.stdin as Socket;
  const before = stdin.bytesWritten;
  child?.kill("SIGSTOP");
  while (stdin.bytesWritten === before) await setImmediate();
  child?.kill("SIGKILL");
}

describe("A request while the runtime changes", { concurrency: 2 }, () => {
  test("a session that is detached between its check and its request continues in the next runtime", async t => {
    const { pool, model, hooks, agents, start } = await sessionsHere(t, {
      limits: { maxSessions: 1, drainGraceMs: 0 },
    });
    const session = await start();
    await session.sendRequest("one");
    hooks.beforePermit = async () => {
      hooks.beforePermit = async () => {};
      // The old runtime has run its session and retires, which detaches idle sessions.
      await pool.use();
      await agents[0]?.ended;
    };
    await session.sendRequest("two");
    assert.deepEqual(
      agents.map(({ state }) => state),
      ["detached", "idle"],
    );
    assert.deepEqual(conversation(model), ["user: one", "assistant: You said: one", "user: two"]);
  });

  test("a session whose runtime dies while it opens is opened in the next runtime", async t => {
    const { pool, model, hooks, start } = await sessionsHere(t);
    const killed: Runtime[] = [];
    hooks.afterUse = runtime => {
      if (killed.length > 0) return;
      killed.push(runtime);
      void dieAtNextCall(runtime);
    };
    const session = await start();
    await session.sendRequest("hello");
    assert.deepEqual(conversation(model), ["user: hello"]);
    assert.notEqual(await pool.use(), killed[0]);
  });

  test("a session that finds one dying runtime after another says that the runtime is gone", async t => {
    const { hooks, start } = await sessionsHere(t);
    hooks.afterUse = runtime => void dieAtNextCall(runtime);
    await assert.rejects(start(), { name: "SessionCrashedError", message: "The Copilot runtime is gone." });
  });
});
