import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../../src/base/paths.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { liveAll } from "../support/live/sse.js";
import { puppet } from "../support/model/puppet.js";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";
import { callbacksOf, messagesOf, sessionById } from "../support/portal/restSession.js";

const folder = join(packageRoot, "test", "stores");
/** The working folder of the sessions and jobs in the packed stores; it is empty. */
const example = "/tmp/portal-example";

interface Summaries {
  sessions: { sessionId: string; title: string; status: string }[];
  jobs: { jobId: string; jobName: string; status: string }[];
  runs: { runId: string; status: string; agents: string[] }[];
  folders: Record<string, string[]>;
}

/** Each release packed its own store after a run; the archives never change. */
for (const file of readdirSync(folder).filter(name => name.endsWith(".tgz"))) {
  describe(`A store of version ${basename(file, ".tgz")}`, () => {
    test("an old store opens, everything in it can be read, its session continues, and its paused job runs to its end", async t => {
      const dataDir = await tempFolder(t, "portal-data");
      execFileSync("tar", ["-xzf", join(folder, file), "-C", dataDir]);
      mkdirSync(join(example, "project"), { recursive: true });
      defer(t, () => rm(example, { recursive: true, force: true }));
      // Keeps everything, however old the store is by now.
      const config = join(await tempFolder(t), "portal.config.json");
      await writeFile(config, JSON.stringify({ retention: { jobs: 0, sessions: 0, runs: 0 } }));
      const doll = puppet();
      const model = await startScriptedModel(t, { script: doll.script });
      const portal = await startPortal(t, { dataDir, model, args: ["--config", config] });
      const get = async <T>(path: string) => (await portal.api<T>(`copilot/${path}`)).body;
      const whole = async (path: string) =>
        liveAll(`${portal.url}/api/copilot/${path}/live/reader-of-the-test`);

      const { sessions } = await get<Summaries>("session/history");
      assert.deepEqual(sessions.map(({ title, status }) => [title, status]).sort(), [
        ["Remember the word cobalt.", "Idle"],
        ["This one will be closed.", "Closed"],
      ]);
      const [open = "", closed = ""] = ["Remember", "This one"].map(
        start => sessions.find(({ title }) => title.startsWith(start))?.sessionId,
      );
      const texts = JSON.stringify(await get(`session/${closed}/export?format=json`));
      assert.match(texts, /one\\ntwo/, "the output of its tool");
      assert.equal(callbacksOf(await whole(`session/${closed}`)).at(-1), "onIdle");

      const { jobs } = await get<Summaries>("job/history");
      const byName = new Map(jobs.map(job => [job.jobName, job]));
      assert.deepEqual(
        ["ends", "fails", "waits"].map(name => byName.get(name)?.status),
        ["Succeeded", "Failed", "Paused"],
      );
      assert.equal(callbacksOf(await whole(`job/${byName.get("ends")?.jobId}`)).at(-1), "jobSucceeded");
      assert.equal(callbacksOf(await whole(`job/${byName.get("fails")?.jobId}`)).at(-1), "jobFailed");

      const { folders } = await get<Summaries>("permission/rules");
      assert.deepEqual(folders[join(example, "project")], ["allow command git status"]);
      const { runs } = await get<Summaries>("run/history");
      assert.deepEqual(
        runs.map(({ status, agents }) => ({ status, agents })),
        [{ status: "Succeeded", agents: ["reviewer"] }],
      );
      assert.equal(callbacksOf(await whole(`run/${runs[0]?.runId}`)).at(-1), "runSucceeded");

      const session = sessionById(portal, open);
      await session.query("Still there?");
      const messages = messagesOf(await session.untilIdle(3));
      assert.equal(messages.at(-1), "Done.");

      const waits = byName.get("waits")?.jobId;
      doll.release("held");
      assert.deepEqual(await get(`job/${waits}/continue`), { result: "Continued" });
      assert.equal(callbacksOf(await whole(`job/${waits}`)).at(-1), "jobSucceeded");
      assert.deepEqual(
        doll.prompts.filter(prompt => prompt.startsWith("first")),
        [],
        "finished work does not run again",
      );
    });
  });
}
