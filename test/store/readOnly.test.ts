import assert from "node:assert/strict";
import { test } from "node:test";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { messagesOf, sessionById } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";
import { readOnlyDisk } from "../support/store/readOnlyDisk.js";

const model = { category: "driving" };
const held = (name: string): TaskOfTest => ({ prompt: [name, `@wait ${name}`], model });
const tasks = { first: held("first"), second: held("second"), third: { prompt: ["third"], model } };
const jobs = {
  long: { work: { kind: "Seq" as const, works: [task("first"), task("second"), task("third")] } },
};
const redone = (prompt: string) =>
  `The session crashed, please redo and here is the last request:\n${prompt}`;

test("running work survives a disk that turns read-only", async t => {
  const disk = await readOnlyDisk(t);
  const { portal, puppet, startJob, jobLog, startSession, workingDirectory } = await portalWithEntry(
    t,
    { tasks, jobs },
    { dataDir: disk.folder },
  );
  const session = sessionById(portal, await startSession());
  const longJob = await startJob("long");
  await session.query("one\n@wait one");
  await Promise.all(["first", "one"].map(name => puppet.arrived(name)));

  const release = (...names: string[]) => {
    for (const name of names) puppet.release(name);
  };
  const saysWhatToDo = async (pid: number) => {
    const promptsBefore = [...puppet.prompts];
    const health = await seen(async () => {
      const { body } = await portal.api("health");
      return disk.complaint.test(String(body.message)) && body;
    });
    assert.deepEqual([health.status, health.store], ["failing", "failing"]);
    const requests: [path: string, body: string][] = [
      ["copilot/job/start/long", workingDirectory],
      [`copilot/session/${session.id}/query`, "three"],
    ];
    for (const [path, body] of requests) {
      const { status, body: answer } = await portal.api(path, { body });
      assert.deepEqual([path, status, answer.error], [path, 503, "StoreUnavailable"]);
      assert.match(String(answer.message), disk.complaint);
    }
    assert.equal((await fetch(portal.url)).status, 200, "the portal still serves its page");
    assert.deepEqual(puppet.prompts, promptsBefore, "running work waits");
    assert.equal(portal.pid, pid);
  };

  await t.test(
    "after a disk error, work continues when the disk is repaired while the portal is stopped",
    async () => {
      const late = sessionById(portal, await startSession());
      disk.fail(portal.pid);
      release("first", "one");
      await saysWhatToDo(portal.pid);
      assert.equal((await portal.kill("SIGTERM")).code, 0);
      await disk.repair();
      await portal.restart();

      await puppet.arrived("second");
      const ofSession = await session.untilIdle();
      assert.equal(ofSession[0]?.prompt, "one\n@wait one");
      assert.match(String(ofSession.at(-2)?.sessionError), /Send it again to go on/);
      await late.query("late");
      assert.deepEqual(messagesOf(await late.untilIdle()), ["Done."]);
      assert.equal((await portal.api("health")).body.status, "ok");
    },
  );

  await t.test(
    "when the disk was made read-only by hand, work continues by itself once it is writable again",
    async () => {
      await session.query("two\n@wait two");
      await puppet.arrived("two");
      const { pid } = portal;
      await disk.turnReadOnly(pid, () => {
        // Their ends have to be written, so the store breaks and closes its files.
        release("second", "two");
        return portal.api("health");
      });
      release("second", "two");
      await saysWhatToDo(pid);
      disk.turnWritable();
      await seen(async () => (await portal.api("health")).body.status === "ok");
      assert.equal((await jobLog(longJob)).at(-1)?.callback, "jobSucceeded");
      assert.deepEqual(messagesOf(await session.untilIdle(2)), ["Done."]);
      assert.equal(portal.pid, pid);
    },
  );

  await t.test("no prompt is sent twice", () => {
    const sent = ["first", "one", "second", "two"].map(name => `${name}\n@wait ${name}`);
    assert.deepEqual(
      puppet.prompts.toSorted(),
      [...sent, "late", "third", redone("first\n@wait first")].toSorted(),
    );
  });
});
