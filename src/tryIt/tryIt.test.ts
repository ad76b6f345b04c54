import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { PortalError } from "../base/portalError.js";
import { TryIt, type TryItParts } from "./tryIt.js";

type Started = Parameters<TryItParts["engine"]["startJob"]>[0];

/** A portal without agents: it remembers what is started and which rules there are. */
async function setUp(t: TestContext, more: Partial<TryItParts> = {}, known: readonly string[] = []) {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), "portal-try-it-")));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const started: Started[] = [];
  const folders: Record<string, string[]> = {};
  const find = async ({ search = "" }) => (known.some(name => search.includes(name)) ? [{}] : []);
  const parts = {
    dataDir,
    permissions: "allow-all",
    engine: {
      ready: Promise.resolve(),
      jobs: { history: find },
      startJob: async (job: Started) => String(started.push(job)),
    },
    sessions: { history: async () => [] },
    rules: {
      add: async (folder: string, rules: string[]) => Object.assign(folders, { [folder]: rules }),
      stored: async () => ({ folders }),
      remove: async (folder: string) => delete folders[folder],
    },
    ...more,
  } as unknown as TryItParts;
  return { tryIt: new TryIt(parts), folder: join(dataDir, "try-it"), started, folders };
}

describe("Try it", () => {
  test("each start has a repository of its own, where only reads and edits are allowed without a card", async t => {
    const { tryIt, started, folders } = await setUp(t, {}, ["durations-"]);
    assert.deepEqual(await Promise.all([tryIt.start(), tryIt.start({ againOf: "1" })]), [
      { jobId: "1" },
      { jobId: "2" },
    ]);
    const [first, second] = started;
    assert.notEqual(first?.workingDirectory, second?.workingDirectory);
    assert.deepEqual(second?.origin, { againOf: "1" });
    assert.deepEqual(folders[second?.workingDirectory ?? ""], ["allow reads", "allow edits"]);
    assert.ok(first && second);
    assert.equal(await tryIt.made({ name: first.jobName, workingDirectory: first.workingDirectory }), true);
    for (const workingDirectory of ["/home/me/project", "/home/me/try-it/project"])
      assert.equal(await tryIt.made({ name: first.jobName, workingDirectory }), false);
    assert.equal(await tryIt.made({ name: "other", workingDirectory: first.workingDirectory }), false);
  });

  test("a repository that no job knows any more is removed with its rules, and one that is known stays", async t => {
    const { tryIt, folder, folders } = await setUp(t, {}, ["durations-known"]);
    for (const name of ["durations-known", "durations-gone"]) {
      await mkdir(join(folder, name), { recursive: true });
      folders[join(folder, name)] = ["allow reads"];
    }
    await tryIt.start();
    const names = await readdir(folder);
    assert.equal(names.length, 2);
    assert.ok(names.includes("durations-known"));
    assert.equal(join(folder, "durations-gone") in folders, false);
    assert.equal(join(folder, "durations-known") in folders, true);
  });

  test("where it cannot run it says why, and makes nothing", async t => {
    const denied = await setUp(t, { permissions: "deny" });
    await assert.rejects(denied.tryIt.start(), { code: "PermissionsDenied", message: /--permissions deny/ });
    const failure = PortalError.unavailable("JobsUnavailable", "Jobs cannot run now.");
    const ready = Promise.reject(failure);
    ready.catch(() => undefined);
    const broken = await setUp(t, { engine: { ready } as unknown as TryItParts["engine"] });
    await assert.rejects(broken.tryIt.start(), failure);
    for (const { folder } of [denied, broken]) await assert.rejects(readdir(folder), { code: "ENOENT" });
    // A failure does not block the next start.
    await assert.rejects(broken.tryIt.start(), failure);
  });
});
