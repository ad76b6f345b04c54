import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { decisionsOf, portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { type AnyResponse, collectUntil, sseEvents } from "../support/live/sse.js";
import { processesWith } from "../support/processes.js";
import { seen } from "../support/seen.js";

const model = { category: "driving" };
const retry = (retryTimes: number) => ({ failureAction: { retryTimes } });
const judged = { condition: ["fine? job_boolean_true", "@call job_boolean_true yes"] };

const tasks: Record<string, TaskOfTest> = {
  // The agent repairs it at its second attempt, by the retry that names the check.
  repaired: {
    prompt: ["repaired", "@shell echo x >> attempts"],
    model,
    criteria: {
      commands: [
        { run: ["test $(wc -l < attempts) -ge 2 || { echo too few; exit 7; }"], shell: true, name: "lines" },
      ],
      ...judged,
      ...retry(2),
    },
  },
  secret: { prompt: ["secret"], model, criteria: { commands: [{ run: ["env"] }], ...retry(0) } },
  missing: {
    prompt: ["missing"],
    model,
    criteria: { commands: [{ run: ["no-such-program"] }], ...retry(0) },
  },
  gone: {
    prompt: ["gone", '@shell rm -rf "$(pwd)"'],
    model,
    criteria: { commands: [{ run: ["true"] }], ...retry(3) },
  },
  finder: {
    prompt: ["finder", "@call job_boolean_true echo found > found"],
    model,
    criteria: { toolExecuted: ["job_boolean_true"], ...retry(0) },
  },
  uses: { prompt: ["uses"], model, criteria: { commands: [{ reportedBy: "finder" }], ...retry(0) } },
  slow: {
    prompt: ["slow"],
    model,
    criteria: {
      commands: [
        { run: ["echo first >> ran"], shell: true },
        { run: ["echo second >> ran; echo started; while [ ! -e go ]; do sleep 0.05; done"], shell: true },
      ],
      ...retry(0),
    },
  },
};
const seq = (...names: string[]) => ({ work: { kind: "Seq" as const, works: names.map(task) } });
const jobs = {
  ...Object.fromEntries(Object.keys(tasks).map(name => [name, { work: task(name) }])),
  reported: seq("finder", "uses"),
};

interface Evidence {
  attempt: number;
  verdict: string;
  crashes: number;
  criteria: { kind: string; asked: string; met: boolean; said: string }[];
  toolCalls: { name: string; count: number }[];
  commands: { command: string; exitCode?: number }[];
  usage: { inputTokens: number };
  retryPrompt?: string;
  sessionIds: string[];
}

test("A task that is checked by commands", async t => {
  const secrets = { GH_TOKEN: "token-of-a-test", MCP_HTTP_TOKEN: "another-token-of-a-test" };
  const portals = await portalWithEntry(t, { tasks, jobs }, { env: { SHOWN: "shown", ...secrets } });
  const { portal, puppet, workingDirectory, startJob, runJob, taskLog } = portals;
  const get = async <T = AnyResponse>(path: string) => (await portal.api<T>(`copilot/${path}`)).body;
  const evidenceOf = async (jobId: string) =>
    (await get<{ evidence: Evidence[] }>(`job/${jobId}/evidence`)).evidence;

  /** Its task has a log from then on. */
  const begun = (jobId: string) =>
    collectUntil(
      sseEvents<AnyResponse>(`${portal.url}/api/copilot/job/${jobId}/events`),
      ({ data }) => data.callback === "workStarted",
    );

  await t.test(
    "a failed command is told to the retry, and the record of each attempt says what was checked",
    async () => {
      const { jobId, outcome } = await runJob("repaired");
      assert.equal(outcome, "jobSucceeded");
      const prompts = puppet.prompts.filter(prompt => prompt.startsWith("repaired"));
      assert.equal(prompts.length, 2);
      assert.match(
        prompts[1] ?? "",
        /## Check Failed: .*\(exit code 7\)\nThe last lines of its output:\n```\ntoo few\n```/,
      );
      const [first, second] = await evidenceOf(jobId);
      assert.ok(first && second);
      assert.deepEqual([first.verdict, second.verdict], ["failed", "succeeded"]);
      assert.deepEqual(
        second.criteria.map(({ kind, met }) => `${kind} ${met}`),
        ["command true", "condition true"],
      );
      assert.equal(first.criteria[0]?.said, "too few");
      assert.equal(second.criteria[1]?.said, "yes");
      assert.deepEqual(
        second.commands.map(({ command, exitCode }) => `${command}: ${exitCode}`),
        ["echo x >> attempts: 0"],
      );
      assert.match(second.retryPrompt ?? "", /Check Failed/);
      assert.ok(second.usage.inputTokens > 0);
      assert.equal(second.sessionIds.length, 1);
      const log = await taskLog(`${jobId}.w`);
      const ends = log.filter(({ callback }) => callback === "onEndToolExecution");
      assert.deepEqual(
        ends.map(({ exitCode }) => exitCode),
        [7, 0],
      );
      const alone = (await get<{ evidence: Evidence[] }>(`task/${jobId}.w/evidence`)).evidence;
      assert.deepEqual(
        alone.map(({ verdict }) => verdict),
        ["failed", "succeeded"],
      );
    },
  );

  await t.test("a command sees no secret of the portal", async () => {
    const { jobId } = await runJob("secret");
    const [{ criteria: [{ said }] = [{ said: "" }] } = { criteria: [] }] = await evidenceOf(jobId);
    assert.match(said, /SHOWN=shown/);
    for (const secret of [...Object.values(secrets), portals.model.apiKey])
      assert.ok(!said.includes(secret), said);
  });

  await t.test("a program that does not exist fails the check and says so in the job's reason", async () => {
    const { jobId, outcome } = await runJob("missing");
    assert.equal(outcome, "jobFailed");
    const { reason } = await get(`job/${jobId}/status`);
    assert.equal(reason, 'missing: no-such-program: There is no program "no-such-program".');
    const { jobs: listed } = await get<{ jobs: AnyResponse[] }>("job/history");
    assert.equal(listed.find(job => job.jobId === jobId)?.reason, reason);
  });

  await t.test(
    "a command that an agent reported runs like one of the entry where everything is allowed",
    async () => {
      const { tasks: ended } = await runJob("reported");
      assert.deepEqual(ended, ["finder", "uses"]);
      assert.equal(await readFile(join(workingDirectory, "found"), "utf8"), "found\n");
    },
  );

  await t.test(
    "a command that had ended does not run again after a crash, one that was running does",
    async () => {
      await rm(join(workingDirectory, "ran"), { force: true });
      const jobId = await startJob("slow");
      const started = () =>
        collectUntil(
          sseEvents<AnyResponse>(`${portal.url}/api/copilot/task/${jobId}.w/events`),
          ({ data }) => data.callback === "onToolExecution" && String(data.delta).includes("started"),
        );
      await begun(jobId);
      await started();
      const [before] = await processesWith("SHOWN", "shown")
        .then(pids => Promise.all(pids.map(commandOf)))
        .then(found);
      assert.ok(before, "the command runs");
      await portal.kill("SIGKILL");
      await portal.restart();
      await seen(async () => {
        const lines = (await readFile(join(workingDirectory, "ran"), "utf8")).trim().split("\n");
        return lines.length === 3;
      });
      assert.equal(await commandOf(before), undefined, "what the killed portal left is ended");
      await writeFile(join(workingDirectory, "go"), "");
      const { status } = await jobEnd(jobId);
      assert.equal(status, "Succeeded");
      assert.deepEqual((await readFile(join(workingDirectory, "ran"), "utf8")).trim().split("\n"), [
        "first",
        "second",
        "second",
      ]);
      await rm(join(workingDirectory, "go"));
    },
  );

  await t.test("stopping the job ends the command, and its attempt counts as canceled", async () => {
    const jobId = await startJob("slow");
    await begun(jobId);
    await collectUntil(
      sseEvents<AnyResponse>(`${portal.url}/api/copilot/task/${jobId}.w/events`),
      ({ data }) => data.callback === "onToolExecution" && String(data.delta).includes("started"),
    );
    await get(`job/${jobId}/stop`);
    while (
      (
        await processesWith("SHOWN", "shown")
          .then(pids => Promise.all(pids.map(commandOf)))
          .then(found)
      ).length > 0
    );
    assert.deepEqual(
      (await evidenceOf(jobId)).map(({ verdict }) => verdict),
      ["canceled"],
    );
  });

  await t.test("a folder that is gone ends the job with an error that names it", async () => {
    const { jobId, outcome } = await runJob("gone");
    assert.equal(outcome, "jobFailed");
    const status = await get(`job/${jobId}/status`);
    assert.match(String(status.reason), /does not exist/);
    assert.match(decisionsOf(await taskLog(`${jobId}.w`)).join("\n"), /TASK FAILED/);
  });

  async function jobEnd(jobId: string): Promise<AnyResponse> {
    await portals.jobLog(jobId);
    return get(`job/${jobId}/status`);
  }
});

/** The id of a process that runs the slow command. */
async function commandOf(pid: number): Promise<number | undefined> {
  const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return line.includes("while [ ! -e go ]") ? pid : undefined;
}
const found = (pids: (number | undefined)[]) => pids.filter(pid => pid !== undefined);
