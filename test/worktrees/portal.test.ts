import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { WorktreeAnswer } from "../../src/worktrees/worktreeAnswers.js";
import { type JobsPortal, sharedPortalWithEntry, task } from "../support/jobs/jobs.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import { sessionById } from "../support/portal/restSession.js";
import { repositoryIn } from "../support/repository.js";

const shell = (command: string) => ({ prompt: [`@shell ${command}`], model: { category: "driving" } });
const isolated = (name: string) => ({ ...task(name), isolate: true });
const portalOf = sharedPortalWithEntry({
  setup: [
    {
      run: ["test ! -e refuse && seq 200 && echo done > prepared.txt"],
      shell: true,
      name: "prepare",
    },
  ],
  tasks: {
    left: shell("echo left >> left.txt"),
    right: shell("cat prepared.txt > right.txt"),
    first: shell("echo first > a.txt"),
    second: shell("echo second > a.txt"),
  },
  jobs: {
    alone: { isolate: true, work: task("left") },
    both: { work: { kind: "Par", works: [isolated("left"), isolated("right")] } },
    clash: { work: { kind: "Par", works: [isolated("first"), isolated("second"), task("left")] } },
  },
});

function repository({ workingDirectory }: Pick<JobsPortal, "workingDirectory">) {
  const git = repositoryIn(workingDirectory);
  execFileSync("sh", ["-c", "echo one > a.txt && echo prepared.txt > .gitignore"], { cwd: workingDirectory });
  git("add", "-A");
  git("commit", "-qm", "first");
  return git;
}

type Answer = Record<string, unknown> & { worktree: WorktreeAnswer; branchWorktrees?: WorktreeAnswer[] };

const decide = async ({ portal }: JobsPortal, path: string) =>
  (await portal.api<Answer>(`copilot/${path}`, { method: "POST" })).body;
const statusOf = async ({ portal }: JobsPortal, jobId: string) =>
  (await portal.api<Answer>(`copilot/job/${jobId}/status`)).body;

describe("A session in a worktree", () => {
  test("leaves the user's folder alone until its work is applied, with the changes that the user has since", async t => {
    const bench = await portalOf(t);
    const git = repository(bench);
    const { portal, workingDirectory } = bench;
    await writeFile(join(workingDirectory, "mine.txt"), "mine\n");
    const start = `copilot/session/start/${scriptedModelId}?isolate=worktree&from=changes`;
    const { sessionId } = (
      await portal.api<{ sessionId: string }>(start, { method: "POST", body: workingDirectory })
    ).body;
    const session = sessionById(portal, sessionId);
    await session.query("@shell cat mine.txt > copy.txt && echo agent > a.txt");
    await session.untilIdle(1);
    assert.equal(git("status", "--porcelain"), "?? mine.txt\n");
    const { worktree } = await session.call<Answer>("");
    assert.equal(worktree.state, "waiting");
    assert.equal(worktree.workingDirectory, workingDirectory);
    assert.ok(worktree.folder.startsWith(join(portal.dataDir, "worktrees")));
    const { worktrees } = (await portal.api<{ worktrees: { owner: string }[] }>("copilot/worktree")).body;
    assert.deepEqual(
      worktrees.map(({ owner }) => owner),
      [sessionId],
    );
    await writeFile(join(workingDirectory, "a.txt"), "user\n");
    const refused = await decide(bench, `session/${sessionId}/worktree/apply`);
    assert.equal(refused.error, "WorktreeConflict");
    assert.deepEqual(refused.conflicts, [{ path: "a.txt" }]);
    assert.equal(existsSync(join(workingDirectory, "copy.txt")), false);
    git("checkout", "-q", "a.txt");
    assert.deepEqual(await decide(bench, `session/${sessionId}/worktree/apply`), { result: "Applied" });
    assert.equal(await readFile(join(workingDirectory, "copy.txt"), "utf8"), "mine\n");
    assert.equal(await readFile(join(workingDirectory, "a.txt"), "utf8"), "agent\n");
    assert.equal(existsSync(worktree.folder), false);
    const ended = await session.call<Answer>("");
    assert.deepEqual([ended.status, ended.worktree.state], ["Closed", "applied"]);
    assert.equal((await decide(bench, `session/${sessionId}/reopen`)).error, "WorktreeDecided");
    assert.equal((await decide(bench, `session/${sessionId}/worktree/discard`)).error, "WorktreeDecided");
  });

  test("is refused before anything starts where there is no repository, and nothing is left", async t => {
    const { portal, workingDirectory } = await portalOf(t);
    const call = { method: "POST", body: workingDirectory };
    const start = `copilot/session/start/${scriptedModelId}?isolate=worktree`;
    assert.equal((await portal.api<Answer>(start, call)).body.error, "NoRepository");
    for (const job of ["alone", "both"])
      assert.equal((await portal.api<Answer>(`copilot/job/start/${job}`, call)).body.error, "NoRepository");
    const unknown = "copilot/session/start/no-such-model?isolate=worktree";
    repository({ workingDirectory });
    assert.equal((await portal.api<Answer>(unknown, call)).body.error, "ModelIdNotFound");
    assert.deepEqual((await portal.api<Answer>("copilot/worktree")).body, { worktrees: [] });
  });
});

describe("A job in a worktree", () => {
  test("is set up first, works there, and can be kept as a branch", async t => {
    const bench = await portalOf(t);
    const git = repository(bench);
    const { jobId, outcome, responses } = await bench.runJob("alone");
    assert.equal(outcome, "jobSucceeded");
    const output = Array.from({ length: 200 }, (_, i) => `${i + 1}\n`).join("");
    const written = responses.filter(({ callback }) => callback === "onToolExecution");
    assert.equal(written.map(({ delta }) => delta).join(""), output);
    const [start, end, notice] = ["onStartToolExecution", "onEndToolExecution", "onNotice"].map(wanted =>
      responses.find(({ callback }) => callback === wanted),
    );
    assert.match(String(start?.toolArguments), /seq 200.*"description":"Setup: prepare"/);
    assert.deepEqual(
      [end?.toolCallId, end?.result, end?.exitCode],
      [start?.toolCallId, { content: output }, 0],
    );
    assert.equal(notice?.title, "Setup: prepare: exit code 0");
    const exported = await fetch(`${bench.portal.url}/api/copilot/job/${jobId}/export`);
    assert.match(await exported.text(), /### Tool result: command\n\n```\n1\n2\n/);
    assert.equal(git("status", "--porcelain"), "");
    const { worktree } = await statusOf(bench, jobId);
    assert.equal(worktree.state, "waiting");
    const kept = await decide(bench, `job/${jobId}/worktree/keep`);
    assert.deepEqual([kept.result, kept.branch], ["Kept", worktree.branch]);
    assert.equal(git("show", `${worktree.branch}:left.txt`), "left\n");
    assert.match(worktree.branch, /^portal\/alone-/);
  });

  test("whose setup fails has failed before the model was asked anything", async t => {
    const bench = await portalOf(t);
    const git = repository(bench);
    await writeFile(join(bench.workingDirectory, "refuse"), "");
    git("add", "refuse");
    git("commit", "-qm", "refuse");
    const { jobId, outcome } = await bench.runJob("alone");
    assert.equal(outcome, "jobFailed");
    assert.match(String((await statusOf(bench, jobId)).error), /^Setup: prepare: exit code 1/);
    assert.equal(bench.model.requests.length, 0);
    // A retry goes on in the same worktree, and sets it up first.
    const retried = String((await decide(bench, `job/${jobId}/retry`)).jobId);
    const log = await bench.jobLog(retried);
    assert.ok(log.some(({ title }) => title === "Setup: prepare: exit code 1"));
    assert.equal((await statusOf(bench, retried)).worktree.id, (await statusOf(bench, jobId)).worktree.id);
    assert.deepEqual(await decide(bench, `job/${retried}/worktree/discard`), { result: "Discarded" });
    assert.equal(git("branch", "--list", "portal/*"), "");
    assert.equal((await decide(bench, `job/${jobId}/retry`)).error, "WorktreeDecided");
  });
});

describe("A Par with isolated branches", () => {
  test("merges what they did, each after its own setup, and leaves nothing behind", async t => {
    const bench = await portalOf(t);
    const git = repository(bench);
    await writeFile(join(bench.workingDirectory, "left.txt"), "uncommitted\n");
    const { outcome, jobId } = await bench.runJob("both");
    assert.equal(outcome, "jobSucceeded");
    assert.equal(await readFile(join(bench.workingDirectory, "left.txt"), "utf8"), "uncommitted\nleft\n");
    assert.equal(await readFile(join(bench.workingDirectory, "right.txt"), "utf8"), "done\n");
    assert.equal(git("branch", "--list", "portal/*"), "");
    assert.equal((await statusOf(bench, jobId)).branchWorktrees, undefined);
  });

  test("fails with the conflicting files, and their worktrees wait for the user", async t => {
    const bench = await portalOf(t);
    repository(bench);
    const { outcome, jobId, responses } = await bench.runJob("clash");
    assert.equal(outcome, "jobFailed");
    const reason = responses.find(({ severity }) => severity === "error");
    assert.match(String(reason?.title), /cannot be merged: .*"a\.txt"/);
    assert.equal(await readFile(join(bench.workingDirectory, "a.txt"), "utf8"), "one\n");
    assert.equal(await readFile(join(bench.workingDirectory, "left.txt"), "utf8"), "left\n");
    // A retry has nothing to run again but the merge, and takes the worktrees over.
    const retried = String((await decide(bench, `job/${jobId}/retry`)).jobId);
    assert.equal((await bench.jobLog(retried)).at(-1)?.callback, "jobFailed");
    assert.equal((await statusOf(bench, jobId)).branchWorktrees, undefined);
    const { branchWorktrees = [] } = await statusOf(bench, retried);
    const [first, second] = branchWorktrees;
    assert.equal(branchWorktrees.length, 2);
    assert.deepEqual(await decide(bench, `worktree/${first?.id}/apply`), { result: "Applied" });
    assert.equal(await readFile(join(bench.workingDirectory, "a.txt"), "utf8"), "first\n");
    await rm(second?.folder ?? "", { recursive: true });
    assert.equal((await statusOf(bench, retried)).branchWorktrees?.[0]?.missing, "folder");
    assert.deepEqual(await decide(bench, `worktree/${second?.id}/discard`), { result: "Discarded" });
  });
});
