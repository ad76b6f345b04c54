import assert from "node:assert/strict";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { packageRoot } from "../../src/base/paths.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { entryOf, portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { type AnyResponse, collectUntil, liveAll, sseEvents } from "../support/live/sse.js";
import { scriptedModelId, startScriptedModel } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";
import { callbacksOf } from "../support/portal/restSession.js";

const model = { category: "driving" };
const tasks: Record<string, TaskOfTest> = {
  plain: { prompt: ["plain"], model },
  input: { prompt: ["with $user-input"], model },
  held: { prompt: ["held", "@wait $user-input"], model },
  checked: {
    prompt: ["checked"],
    model,
    criteria: {
      condition: ["fine? job_boolean_true", "@call job_boolean_true yes"],
      runConditionInSameSession: false,
      failureAction: { retryTimes: 0 },
    },
  },
};
const jobs = {
  plain: { work: task("plain") },
  input: { work: task("input") },
  held: { work: { kind: "Seq" as const, works: [task("held"), task("plain")] } },
  "held-alone": { work: task("held") },
  both: { work: { kind: "Par" as const, works: [task("checked"), task("plain")] } },
};

interface JobSummary {
  jobId: string;
  jobName: string;
  status: string;
}

test("Jobs over REST", async t => {
  const {
    portal,
    puppet,
    workingDirectory,
    startJob,
    runJob,
    jobLog,
    model: scripted,
  } = await portalWithEntry(t, {
    tasks,
    jobs,
  });
  const get = async <T = AnyResponse>(path: string, body?: string) =>
    (await portal.api<T>(`copilot/${path}`, body === undefined ? {} : { body })).body;

  await t.test("The list of jobs has their grid and their charts", async () => {
    const listed = await get<{ grid: unknown[]; jobs: object; chart: Record<string, { nodes: unknown[] }> }>(
      "job",
    );
    assert.deepEqual(Object.keys(listed.jobs), Object.keys(jobs));
    assert.deepEqual(Object.keys(listed.chart), Object.keys(jobs));
    assert.equal(listed.chart.plain?.nodes.length, 1);
    assert.ok(!("notices" in listed), "there are no notices");
  });

  await t.test("A bad start of a job is refused with a named error", async () => {
    const start = async (name: string, body: string) => (await get(`job/start/${name}`, body)).error;
    assert.equal(await start("nothing", workingDirectory), "JobNotFound");
    assert.equal(await start("constructor", workingDirectory), "JobNotFound");
    assert.equal(await start("plain", ""), "WorkingDirectoryNotAbsolutePath");
    assert.equal(await start("plain", "some/folder"), "WorkingDirectoryNotAbsolutePath");
    assert.equal(await start("plain", join(workingDirectory, "nowhere")), "WorkingDirectoryNotExists");
    assert.equal(await start("input", `${workingDirectory}\n  \n`), "UserInputRequired");
  });

  await t.test("The first line of a start is the directory, and the rest is the user input", async () => {
    const ran = await runJob("input", "two\nlines");
    assert.equal(ran.outcome, "jobSucceeded");
    assert.equal(scripted.requests.at(-1)?.request.userText, "with two\nlines");
    assert.equal(scripted.requests.at(-1)?.request.workingDirectory, workingDirectory);
  });

  await t.test("Planning a job calls no agent", async () => {
    const before = scripted.requests.length;
    const plan = await get<{ missing: { error: string }[]; tasks: unknown[] }>("job/input/plan", "relative");
    assert.deepEqual(
      plan.missing.map(({ error }) => error),
      ["WorkingDirectoryNotAbsolutePath", "UserInputRequired"],
    );
    assert.deepEqual((await get<{ missing: unknown[] }>("job/both/plan", workingDirectory)).missing, []);
    assert.equal((await get("job/nothing/plan", workingDirectory)).error, "JobNotFound");
    assert.equal(scripted.requests.length, before);
  });

  await t.test("A running job reports its progress, and stopping it stops everything below it", async () => {
    const jobId = await startJob("held", "to-stop");
    await puppet.arrived("to-stop");
    const running = await get<{ jobs: JobSummary[] }>("job/running");
    const mine = running.jobs.find(job => job.jobId === jobId);
    assert.deepEqual([mine?.jobName, mine?.status], ["held", "Running"]);
    type Status = { tasks: { taskName: string; status: string; taskId?: string }[] };
    const before = await get<Status>(`job/${jobId}/status`);
    assert.deepEqual(await get<Status>(`job/${jobId}/status`, ""), before, "POST gives the same answer");
    assert.deepEqual(await get("job/running", ""), running);
    assert.deepEqual(
      before.tasks.map(({ taskName, status }) => `${taskName} ${status}`),
      ["held Running", "plain NotStarted"],
    );

    const turn = await scripted.waitForRequest(request => request.userText.includes("@wait to-stop"));
    assert.deepEqual(await get(`job/${jobId}/stop`), { result: "Closed" });
    assert.equal(await turn.end, "hungUp");
    assert.deepEqual(callbacksOf(await jobLog(jobId)), ["workStarted", "jobCanceled"]);
    const after = await get<{ status: string; tasks: { status: string }[] }>(`job/${jobId}/status`);
    assert.equal(after.status, "Canceled");
    assert.deepEqual(
      after.tasks.map(({ status }) => status),
      ["Canceled", "NotStarted"],
    );
    assert.deepEqual(await get(`job/${jobId}/stop`), { result: "Closed" }, "a second stop changes nothing");
    assert.equal((await get(`task/${before.tasks[0]?.taskId}/stop`)).error, "TaskNotFound");
    puppet.release("to-stop");
  });

  await t.test("Stopping an ended job changes nothing, and it cannot be continued", async () => {
    const { jobId } = await runJob("plain");
    assert.deepEqual(await get(`job/${jobId}/stop`), { result: "Closed" });
    assert.equal((await get(`job/${jobId}/status`)).status, "Succeeded");
    assert.equal((await get(`job/${jobId}/continue`)).error, "JobNotPaused");
  });

  await t.test("A job that never existed is not found", async () => {
    assert.equal((await get("job/never/stop")).error, "JobNotFound");
    assert.equal((await get("job/never/continue")).error, "JobNotFound");
    assert.equal((await get("job/never/status")).error, "JobNotFound");
    assert.equal((await get("job/never/live")).error, "JobNotFound");
  });

  await t.test("A job continues when one of its tasks is stopped, which counts as a failure", async () => {
    const jobId = await startJob("held-alone", "task-to-stop");
    await puppet.arrived("task-to-stop");
    const { tasks: works } = await get<{ tasks: { taskId: string }[] }>(`job/${jobId}/status`);
    assert.deepEqual(await get(`task/${works[0]?.taskId}/stop`), { result: "Closed" });
    assert.deepEqual(callbacksOf(await jobLog(jobId)), ["workStarted", "workStopped", "jobFailed"]);
    puppet.release("task-to-stop");
  });

  await t.test("The history of jobs is listed newest first, page by page", async () => {
    const all = await get<{ jobs: JobSummary[]; next?: string }>("job/history");
    assert.equal(all.jobs[0]?.jobName, "held-alone");
    assert.equal(all.next, undefined);
    const first = await get<{ jobs: JobSummary[]; next: string }>("job/history?limit=2");
    const second = await get<{ jobs: JobSummary[] }>(`job/history?limit=2&before=${first.next}`);
    assert.deepEqual(
      [...first.jobs, ...second.jobs].map(({ jobId }) => jobId),
      all.jobs.slice(0, 4).map(({ jobId }) => jobId),
    );
    assert.equal((await portal.api("copilot/job/history?limit=0")).status, 400);
    const named = await get<{ jobs: JobSummary[] }>("job/history?jobName=held-alone");
    assert.deepEqual(
      named.jobs,
      all.jobs.filter(({ jobName }) => jobName === "held-alone"),
    );
    assert.deepEqual(await get("job/history?jobName=held-alon"), { jobs: [] });
  });

  await t.test("Responses carry the time of each event, even for a late reader", async () => {
    const before = Date.now();
    const { jobId } = await runJob("plain");
    const responses = await liveAll(`${portal.url}/api/copilot/job/${jobId}/live/late`);
    const times = responses.map(({ time }) => Number(time));
    assert.ok(times.length > 2 && times.every(time => time >= before && time <= Date.now()), String(times));
  });

  await t.test("Sessions of jobs stay out of the history of sessions that people started", async () => {
    type Sessions = { sessions: { owner?: string; title: string }[] };
    const people = await get<Sessions>("session/history?limit=200");
    assert.deepEqual(people.sessions, []);
    const all = await get<Sessions>("session/history?limit=200&owned=true");
    assert.ok(all.sessions.some(({ owner, title }) => owner?.includes(".w") && title === "plain"));
  });

  await t.test(
    "Jobs report the usage of their sessions, and a part of their name or input finds them",
    async () => {
      const { jobId } = await runJob("input", "a very special input");
      type Jobs = { jobs: { jobId: string; usage?: { inputTokens: number } }[] };
      const { jobs: found } = await get<Jobs>("job/history?search=VERY+special");
      assert.deepEqual(
        found.map(job => job.jobId),
        [jobId],
      );
      assert.ok((found[0]?.usage?.inputTokens ?? 0) > 0);
    },
  );

  await t.test("A job is exported with everything below it, as Markdown and as JSON", async () => {
    const { jobId } = await runJob("both");
    const markdown = await (await fetch(`${portal.url}/api/copilot/job/${jobId}/export`)).text();
    assert.match(markdown, /^# both\n/);
    assert.match(markdown, /\n# Driving session /);
    assert.match(markdown, /\[TASK SUCCEEDED\]/);
    const json = await get<{ job: { status: string }; responses: { source: string; callback: string }[] }>(
      `job/${jobId}/export?format=json`,
    );
    assert.equal(json.job.status, "Succeeded");
    assert.deepEqual(
      new Set(json.responses.map(({ source }) => source)),
      new Set(["job", "task", "session"]),
    );
    assert.equal(json.responses.filter(({ callback }) => callback === "workStarted").length, 2);
  });

  await t.test("A job is deleted with everything below it, but not while it runs", async () => {
    const remove = (jobId: string) => get(`job/${jobId}/delete`, "");
    const running = await startJob("held-alone", "not to be deleted");
    assert.equal((await remove(running)).error, "JobRunning");
    await get(`job/${running}/stop`, "");
    const { jobId, responses } = await runJob("both");
    const taskId = responses.find(({ callback }) => callback === "workStarted")?.taskId;
    const sessions = async () =>
      (await get<{ sessions: { owner?: string }[] }>("session/history?limit=200&owned=true")).sessions.filter(
        ({ owner }) => owner?.startsWith(jobId),
      ).length;
    assert.ok((await sessions()) > 0);
    assert.deepEqual(await remove(jobId), { result: "Deleted" });
    assert.equal(await sessions(), 0);
    assert.deepEqual(await get(`job/${jobId}/status`), { error: "JobNotFound" });
    assert.deepEqual(await get(`job/${jobId}/live/any`), { error: "JobNotFound" });
    assert.deepEqual(await get(`task/${taskId}/live/any`), { error: "TaskNotFound" });
    assert.equal((await remove(jobId)).error, "JobNotFound");
  });

  await t.test("Two jobs in the same directory each get a notice about the other", async () => {
    const first = await startJob("held-alone", "shared");
    await puppet.arrived("shared");
    const second = await runJob("plain");
    puppet.release("shared");
    const noticesOf = (responses: AnyResponse[]) =>
      responses.filter(({ callback }) => callback === "onNotice").map(({ title }) => String(title));
    assert.equal(second.responses.find(({ callback }) => callback === "onNotice")?.offer, "isolate");
    assert.match(noticesOf(second.responses).join(), /^The job held-alone is running in the same directory/);
    assert.match(noticesOf(await jobLog(first)).join(), /^The job plain is running in the same directory/);
  });

  await t.test("A job is read one response at a time, then is closed once, then is unknown", async () => {
    const { jobId } = await runJob("plain");
    const seen: string[] = [];
    while (seen.at(-1) !== "JobNotFound") {
      const answer = await get(`job/${jobId}/live`);
      seen.push(String(answer.callback ?? answer.error));
    }
    assert.deepEqual(seen, ["workStarted", "workStopped", "jobSucceeded", "JobsClosed", "JobNotFound"]);
  });

  await t.test(
    "One connection carries a job with its tasks and all its sessions, and resumes anywhere",
    async () => {
      const { jobId } = await runJob("both");
      const url = `${portal.url}/api/copilot/job/${jobId}/events?all=1`;
      const events = await collectUntil(sseEvents(url, { times: true }), ({ event }) => event === "closed");
      assert.deepEqual(events.at(-1)?.data, { error: "JobsClosed" });
      const tagged = events.slice(0, -1).map(({ data }) => data);
      const logs = new Map<string, AnyResponse[]>();
      for (const { source, id, n, ...response } of tagged) {
        const key = `${source}/${id}`;
        logs.set(key, [...(logs.get(key) ?? []), response]);
      }
      const kinds = [...logs.keys()].map(key => key.split("/")[0]);
      assert.deepEqual(kinds.sort(), ["job", "session", "session", "session", "task", "task"]);
      for (const [key, responses] of logs) {
        assert.deepEqual(responses, await liveAll(`${portal.url}/api/copilot/${key}/live/all`));
      }

      const whole = await closedStream(url);
      for (const [at, { id }] of whole.entries()) {
        const seen = whole.slice(0, at + 1);
        const [next, ...others] = await closedStream(url, id);
        const all = [...seen, ...(next ? [next] : []), ...others].map(({ name }) => name);
        assert.equal(new Set(all).size, all.length, "a response came twice");
        assert.equal(all.length, tagged.length);
        // A connection may break again after its first event.
        const again = next ? await closedStream(url, next.id) : [];
        assert.deepEqual(
          again.map(({ name }) => name).sort(),
          others.map(({ name }) => name).sort(),
          `after ${id} and ${next?.id}`,
        );
      }
    },
  );

  await t.test("A stream refuses a bad cursor, and a job that never existed has no stream", async () => {
    const bad = await portal.api(`copilot/job/never/events?all=1&after=${encodeURIComponent("1;x")}`);
    assert.equal(bad.status, 400);
    assert.equal((await get("job/never/events?all=1")).error, "JobNotFound");
  });

  await t.test("The schema of the entry is served", async () => {
    const { body } = await portal.api("schema/entry.json");
    assert.equal(typeof body.$schema, "string");
  });
});

const nameOf = ({ source, id, n }: AnyResponse) => `${source}/${id}#${n}`;

/** All events of a closed job after one of them, each with its id and the name of its response. */
async function closedStream(url: string, after = ""): Promise<{ id: string; name: string }[]> {
  const text = await (await fetch(url, { headers: { "last-event-id": after } })).text();
  return [...text.matchAll(/^id: (.*)\ndata: (.*)$/gm)].map(([, id = "", data = ""]) => ({
    id,
    name: nameOf(JSON.parse(data) as AnyResponse),
  }));
}

test("Installing an entry in test mode", async t => {
  const scripted = await startScriptedModel(t, {});
  const portal = await startPortal(t, { model: scripted, args: ["--test"] });
  const folder = await mkdtemp(join(packageRoot, "test", "install-"));
  defer(t, () => rm(folder, { recursive: true }));
  const outside = await tempFolder(t);
  const good = JSON.stringify(entryOf({ tasks, jobs }));
  const write = async (path: string, content: string) => {
    await writeFile(path, content);
    return path;
  };
  const install = async (path: string) =>
    (await portal.api<{ result: string; error?: string }>("copilot/test/installJobsEntry", { body: path }))
      .body;

  await t.test("A portal in test mode begins without an entry", async () => {
    assert.deepEqual((await portal.api("copilot/task")).body, { tasks: [] });
    assert.deepEqual((await portal.api<{ jobs: object }>("copilot/job")).body.jobs, {});
    assert.equal((await portal.api("copilot/job/start/plain", { body: outside })).body.error, "JobNotFound");
  });

  await t.test("A file outside the test folder is refused, whichever path leads there", async () => {
    const file = await write(join(outside, "entry.json"), good);
    await symlink(file, join(folder, "link.json"));
    await symlink(outside, join(folder, "linked"));
    for (const path of [
      file,
      join(folder, "link.json"),
      join(folder, "linked", "entry.json"),
      `${folder}/../../package.json`,
      folder,
      join(folder, "nothing.json"),
      "test/entry.json",
      "",
      `${folder}/\u0000`,
    ]) {
      const answer = await install(path);
      assert.equal(answer.result, "InvalidatePath", path);
      assert.ok(answer.error);
    }
  });

  await t.test(
    "A file that is not JSON, has a wrong shape or names something missing is refused",
    async () => {
      const wrong = JSON.stringify({ ...entryOf({ tasks, jobs }), models: {} });
      for (const content of ["{", "[]", "null", "{}", wrong]) {
        const answer = await install(await write(join(folder, "bad.json"), content));
        assert.equal(answer.result, "InvalidateEntry", content);
      }
    },
  );

  await t.test("An entry with a model that no backend has is rejected", async () => {
    const file = await write(
      join(folder, "model.json"),
      JSON.stringify(entryOf({ tasks, models: { coding: "gone" } })),
    );
    const answer = await install(file);
    assert.equal(answer.result, "Rejected");
    const reason = `entry.models["coding"]: No backend has the model "gone"; available: ${scriptedModelId}.`;
    assert.equal(answer.error, reason);
  });

  await t.test("A valid entry is installed", async () => {
    assert.deepEqual(await install(await write(join(folder, "good.json"), good)), { result: "OK" });
    const { body } = await portal.api<{ tasks: unknown[] }>("copilot/task");
    assert.equal(body.tasks.length, Object.keys(tasks).length);
  });

  await t.test(
    "An entry with unknown fields is installed without them, and the answer names them",
    async () => {
      const entry = entryOf({ tasks, jobs }) as { tasks: Record<string, object> };
      const other = { ...entry, author: "me", tasks: { plain: { ...entry.tasks.plain, printedName: "P" } } };
      const content = JSON.stringify({ ...other, jobs: { plain: { work: { ...task("plain"), note: 1 } } } });
      assert.deepEqual(await install(await write(join(folder, "more.json"), content)), { result: "OK" });
      const { body } = await portal.api<{ jobs: object; notices: { message: string }[] }>("copilot/job");
      assert.deepEqual(body.jobs, {
        plain: { requireUserInput: false, work: { ...task("plain"), workIdInJob: 0 } },
      });
      assert.deepEqual(
        body.notices.map(({ message }) => message),
        ['entry.tasks["plain"].printedName', "entry.author", 'entry.jobs["plain"].work.note'].map(
          path => `${path}: Unknown property; it is ignored.`,
        ),
      );
    },
  );

  await t.test("Installing an entry is rejected while a session runs", async () => {
    const { body } = await portal.api<{ sessionId: string }>(`copilot/session/start/${scriptedModelId}`, {
      body: outside,
    });
    assert.equal((await install(join(folder, "good.json"))).result, "Rejected");
    await portal.api(`copilot/session/${body.sessionId}/stop`);
    assert.equal((await install(join(folder, "good.json"))).result, "OK");
  });

  await t.test("Installing an entry is impossible without --test", async () => {
    const usual = await startPortal(t, { model: scripted });
    assert.equal((await usual.api("copilot/test/installJobsEntry", { body: "" })).status, 404);
    const { body } = await usual.api<{ jobs: object }>("copilot/job");
    assert.ok(Object.keys(body.jobs).length > 5);
  });
});
