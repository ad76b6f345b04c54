import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openStore } from "../../src/store/store.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { silent } from "../support/live/live.js";
import { sessionById } from "../support/portal/restSession.js";
import { rowCounts } from "../support/store/oldStore.js";

const model = { category: "driving" };
const entry = {
  tasks: { plain: { prompt: ["plain"], model }, help: { prompt: ["help"] } },
  jobs: { both: { work: { kind: "Seq" as const, works: [task("plain"), task("plain")] } } },
};

interface Storage {
  storeBytes: number;
  freeBytes: number;
  retention: object;
  due: Record<string, number>;
}

const nothing = { jobs: 0, tasks: 0, sessions: 0, runs: 0, unused: 0, cursors: 0 };

describe("Cleaning up a portal", () => {
  test("cleaning removes what is 100 days old from the store, the engine and the agent's own folder, and keeps the rest", async t => {
    const { portal, runJob, runTask, startSession } = await portalWithEntry(t, entry, { store: "embedded" });
    const conversations = () => {
      const folder = join(portal.copilotHome, "session-state");
      return existsSync(folder) ? readdirSync(folder) : [];
    };
    const old = sessionById(portal, await startSession());
    await old.query("old");
    await old.untilIdle();
    await runTask("help", old.id);
    const { jobId: oldJob } = await runJob("both");
    await old.call("stop");
    assert.ok(conversations().includes(old.id), "the agent keeps the conversation");
    await portal.stop();

    const store = openStore({ dataDir: portal.dataDir, log: silent });
    await store.query("update sessions set closed_at = closed_at - interval '100 days'");
    await store.query("update jobs set ended_at = ended_at - interval '100 days'");
    await store.query("update logs set created_at = created_at - interval '100 days'");
    await store.query("update entries set saved_at = saved_at - interval '100 days'");
    await store.query("update dbos.workflow_status set updated_at = 1");
    await store.close();
    await portal.restart();

    const young = sessionById(portal, await startSession());
    await young.query("young");
    await young.untilIdle();
    const { jobId: youngJob } = await runJob("both");
    const storage = (await portal.api<Storage>("copilot/storage")).body;
    assert.deepEqual(storage.due, { ...nothing, jobs: 1, sessions: 1 });
    assert.deepEqual(storage.retention, { jobs: 90, sessions: 90, runs: 30 });
    assert.ok(storage.storeBytes > 1e6 && storage.freeBytes > 0);
    const cleaned = (await portal.api("copilot/storage/clean", { method: "POST" })).body;
    assert.deepEqual(cleaned, { removed: { ...nothing, jobs: 1, sessions: 1 }, due: nothing });

    assert.equal((await old.call("")).error, "SessionNotFound");
    assert.equal((await portal.api(`copilot/job/${oldJob}/status`)).body.error, "JobNotFound");
    assert.equal((await portal.api(`copilot/job/${youngJob}/status`)).body.status, "Succeeded");
    await young.query("still there");
    await young.untilIdle(2);
    assert.ok(conversations().includes(young.id));
    assert.ok(!conversations().includes(old.id), "the agent has forgotten the conversation");
    await portal.stop();

    const after = openStore({ dataDir: portal.dataDir, log: silent });
    const { sessions, jobs, tasks, logs, entries } = await rowCounts(after);
    const [stray] = await after.query<{ count: number }>(
      "select count(*)::int as count from log_chunks where log_id not in (select id from logs)",
    );
    await after.close();
    // The young job has two tasks with a session each.
    assert.deepEqual(
      { sessions, jobs, tasks, logs, entries },
      { sessions: 3, jobs: 1, tasks: 0, logs: 6, entries: 1 },
    );
    assert.equal(stray?.count, 0);
  });
});
