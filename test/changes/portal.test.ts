import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ChangeAnswer } from "../../src/changes/changes.js";
import type { FileDiff } from "../../src/changes/diff.js";
import { type JobsPortal, sharedPortalWithEntry, task } from "../support/jobs/jobs.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import { type RestSession, sessionById } from "../support/portal/restSession.js";
import { repositoryIn } from "../support/repository.js";

const writes = (name: string) => ({
  model: { id: scriptedModelId },
  prompt: [`@wait-each ${name}\n@shell echo ${name} >> ${name}.txt`],
});
const portalOf = sharedPortalWithEntry({
  tasks: {
    once: writes("once"),
    twice: {
      ...writes("twice"),
      criteria: {
        condition: ["@false-until 2\nCall job_boolean_true or job_boolean_false."],
        failureAction: { retryTimes: 1 },
      },
    },
  },
  jobs: { both: { work: { kind: "Seq", works: [task("once"), task("twice")] } } },
});

type Answer = ChangeAnswer & {
  repository?: false;
  works?: { workId: number; files: number; added: number; deleted: number }[];
  turns?: { turn: number; files: number; added: number; deleted: number }[];
};
const json = (body: object): RequestInit => ({ method: "POST", body: JSON.stringify(body) });
const paths = ({ files }: Pick<Answer, "files">) => files.map(({ path }) => path);

const repository = ({ workingDirectory }: JobsPortal) => repositoryIn(workingDirectory);

let turns = 0;

/** A turn that begins only when the snapshot before it is stored, so that a slow machine changes nothing. */
async function turn({ puppet }: JobsPortal, session: RestSession, command: string, idles = 1): Promise<void> {
  const gate = `turn ${++turns}`;
  await session.query(`@wait ${gate}\n@shell ${command}`);
  await puppet.arrived(gate);
  await session.call("changes");
  puppet.release(gate);
  await session.untilIdle(idles);
}

describe("What a session changed", () => {
  test("is shown by turn and as a whole, undone, told to the agent and committed", async t => {
    const bench = await portalOf(t);
    const git = repository(bench);
    const { workingDirectory, portal, puppet } = bench;
    await mkdir(join(workingDirectory, "sub"));
    await writeFile(join(workingDirectory, "a.txt"), "one\n");
    const session = sessionById(portal, await bench.startSession());
    await turn(bench, session, "printf 'one\\ntwo\\n' > a.txt; echo new > sub/new.txt");
    await turn(bench, session, "rm a.txt", 2);

    const first = await session.call<Answer>("changes?turn=1");
    assert.deepEqual(first.files, [
      { path: "a.txt", kind: "changed", added: 1, deleted: 0 },
      { path: "sub/new.txt", kind: "added", added: 1, deleted: 0 },
    ]);
    const whole = await session.call<Answer>("changes");
    assert.deepEqual(
      whole.files.map(({ kind, path }) => `${kind} ${path}`),
      ["deleted a.txt", "added sub/new.txt"],
    );
    assert.deepEqual(
      whole.turns?.map(({ turn: number, files, added, deleted }) => [number, files, added, deleted]),
      [
        [1, 2, 2, 0],
        [2, 1, 0, 2],
      ],
    );
    const diff = await session.call<FileDiff>("changes/file?turn=1&path=a.txt");
    assert.match(diff.diff, /^\+two$/m);
    assert.deepEqual([diff.before, diff.after], ["one\n", "one\ntwo\n"]);

    const undone = await session.call("changes/undo", json({ turn: 2 }));
    assert.deepEqual(undone, { undo: 1, restored: ["a.txt"], kept: [] });
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "one\ntwo\n");
    await session.query("Go on");
    await session.untilIdle(3);
    const asked = puppet.prompts.at(-1) ?? "";
    assert.match(asked, /put these files back/);
    assert.ok(asked.includes('- "a.txt"') && asked.endsWith("Go on"), asked);

    const { commit } = await session.call<{ commit: string }>(
      "changes/commit",
      json({ message: "Work", turn: 1, paths: ["sub/new.txt"] }),
    );
    assert.equal(git("log", "--format=%H %s").trim(), `${commit} Work`);
    assert.equal(git("status", "--porcelain"), "?? a.txt\n");
  });

  test("is refused in clear words: no such session, turn, undo or file, an agent at work, a bad body", async t => {
    const bench = await portalOf(t);
    repository(bench);
    const { portal, puppet } = bench;
    const session = sessionById(portal, await bench.startSession());
    const error = async (path: string, body?: object) =>
      (await session.call<{ error: string }>(path, body && json(body))).error;
    assert.equal(await error("changes?turn=1"), "TurnNotFound");
    assert.equal(await error("changes/file?path=a.txt"), "FileNotChanged");
    assert.equal(await error("changes/undo", { undo: 7 }), "UndoNotFound");
    assert.equal(await error("changes/undo", { undo: 7, turn: 1 }), "UndoMalformed");
    assert.equal(await error("changes/commit", { message: "x" }), "NothingToCommit");
    assert.equal(
      (await portal.api<{ error: string }>("copilot/session/none/changes")).body.error,
      "SessionNotFound",
    );
    assert.equal((await portal.api<{ error: string }>("copilot/job/none/changes")).body.error, "JobNotFound");
    await session.query("@wait busy");
    await puppet.arrived("busy");
    assert.equal(await error("changes/undo", { turn: 1 }), "SessionBusy");
    puppet.release("busy");
    await session.untilIdle();
  });

  test("outside a repository is what editing tools reported", async t => {
    const bench = await portalOf(t);
    const { portal, workingDirectory } = bench;
    const session = sessionById(portal, await bench.startSession());
    await session.query(`@call create x`);
    await session.untilIdle();
    const none = await session.call<Answer>("changes");
    assert.deepEqual(none, { repository: false, files: [] });
    assert.equal(existsSync(join(workingDirectory, ".git")), false);
    assert.equal(
      (await session.call<{ error: string }>("changes/undo", json({ turn: 1 }))).error,
      "NoRepository",
    );
  });

  test("can be commented; the comments wait in the store and are sent as one request", async t => {
    const bench = await portalOf(t);
    repository(bench);
    const { portal, puppet } = bench;
    const session = sessionById(portal, await bench.startSession());
    const add = (comment: string, line: number) =>
      session.call<{ id: number }>(
        "changes/comments",
        json({ path: "<b>.txt", line, quoted: "old line", comment }),
      );
    const { id } = await add("Remove this.", 1);
    await add("Why twice?", 7);
    await session.call(`changes/comments/${id}/delete`, { method: "POST" });
    const { comments } = await session.call<{ comments: object[] }>("changes/comments");
    assert.equal(comments.length, 1);
    await session.call("changes/comments/send", { method: "POST" });
    await session.untilIdle();
    assert.match(puppet.prompts.at(-1) ?? "", /"<b>\.txt", line 7:\n> old line\n\nWhy twice\?$/);
    assert.deepEqual(await session.call("changes/comments"), { comments: [] });
    const again = await session.call<{ error: string }>("changes/comments/send", { method: "POST" });
    assert.equal(again.error, "CommentNotFound");
  });
});

describe("What a job changed", () => {
  test("is shown by attempt, by work and as a whole, and its comments start a session", async t => {
    const bench = await portalOf(t);
    repository(bench);
    const { portal, puppet } = bench;
    const jobId = await bench.startJob("both");
    const changes = async (query = "") =>
      (await portal.api<Answer>(`copilot/job/${jobId}/changes${query}`)).body;
    for (const name of ["once 1", "twice 1", "twice 2"]) {
      await puppet.arrived(name);
      await changes();
      puppet.release(name);
    }
    await bench.jobLog(jobId);
    const whole = await changes();
    assert.deepEqual(paths(whole), ["once.txt", "twice.txt"]);
    // Two attempts at one file are one file.
    assert.deepEqual(whole.works, [
      { workId: 0, files: 1, added: 1, deleted: 0 },
      { workId: 1, files: 1, added: 2, deleted: 0 },
    ]);
    const { tasks } = (
      await portal.api<{ tasks: { workIdInJob: number; taskName: string }[] }>(`copilot/job/${jobId}/status`)
    ).body;
    const workId = tasks.find(({ taskName }) => taskName === "twice")?.workIdInJob;
    const work = await changes(`?workId=${workId}`);
    assert.deepEqual(work.files, [{ path: "twice.txt", kind: "added", added: 2, deleted: 0 }]);
    const second = await changes(`?workId=${workId}&attempt=2`);
    assert.deepEqual(second.files, [{ path: "twice.txt", kind: "changed", added: 1, deleted: 0 }]);
    const { body: file } = await portal.api<FileDiff>(
      `copilot/job/${jobId}/changes/file?workId=${workId}&attempt=2&path=twice.txt`,
    );
    assert.match(file.diff, /^\+twice$/m);

    const comment = { path: "once.txt", line: 1, comment: "Please explain." };
    await portal.api(`copilot/job/${jobId}/changes/comments`, json(comment));
    const { body: sent } = await portal.api<{ sessionId: string }>(
      `copilot/job/${jobId}/changes/comments/send`,
      { method: "POST" },
    );
    await sessionById(portal, sent.sessionId).untilIdle();
    assert.match(puppet.prompts.at(-1) ?? "", /"once\.txt", line 1:\nPlease explain\.$/);
  });
});
