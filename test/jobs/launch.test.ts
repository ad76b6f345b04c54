import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createCatalog } from "../../src/backends/catalog.js";
import { demoBackend } from "../../src/backends/demo/demoBackend.js";
import { Changes } from "../../src/changes/changes.js";
import { JobEngine } from "../../src/jobs/engine/engine.js";
import { taskIdOf } from "../../src/jobs/engine/engineFlows.js";
import { rootPath } from "../../src/jobs/engine/interpreter.js";
import { stopNoteIn } from "../../src/jobs/engine/stopNote.js";
import { validateEntry } from "../../src/jobsDef.js";
import { Approvals } from "../../src/permissions/approvals.js";
import { FolderChoices } from "../../src/permissions/folderChoices.js";
import { RuleStore } from "../../src/permissions/ruleStore.js";
import { StartupGate } from "../../src/permissions/startup/startupGate.js";
import { Pictures } from "../../src/sessions/pictures.js";
import { SessionRecords } from "../../src/sessions/sessionRecord.js";
import { SessionRegistry } from "../../src/sessions/sessionRegistry.js";
import { LiveLogs } from "../../src/sharedApi.js";
import { openDurableJobs } from "../../src/store/durableJobs.js";
import { openStore } from "../../src/store/store.js";
import { portalTaskSessions } from "../../src/tasks/portalTaskSessions.js";
import { Worktrees } from "../../src/worktrees/worktrees.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { entryOf, task } from "../support/jobs/jobs.js";
import { logLines } from "../support/portal/logLines.js";

/** A model that no backend has: the job ends without an agent. */
const tasks = { refused: { prompt: ["refused"], model: { id: "nobody-has-it" } } };
const entry = validateEntry(entryOf({ tasks, jobs: { refused: { work: task("refused") } } }), "");

test("Jobs that cannot be launched are refused with the reason, and run again without a restart", async t => {
  const { log, line } = logLines();
  const workingDirectory = await tempFolder(t);
  const dataDir = await tempFolder(t);
  const store = openStore({ dataDir, log });
  defer(t, () => store.close());
  const durable = await openDurableJobs({ pool: await store.pool, flows: {}, log });
  await durable.close();
  await store.query("alter table dbos.workflow_status rename to hidden");

  const logs = new LiveLogs(store, log);
  const demo = demoBackend(log);
  defer(t, () => demo.close());
  const changes = new Changes({ dataDir, store, log });
  const rules = new RuleStore(store, { folders: {} });
  const registry = new SessionRegistry(
    {
      records: new SessionRecords(store, logs.ownership),
      catalog: createCatalog({ backends: [], demo, log }),
      hostOf: () => assert.fail("no session can be had"),
      log,
      approvals: new Approvals(rules),
      permissions: "allow-all",
      sandbox: false,
      startup: new StartupGate(rules, new FolderChoices(store)),
      changes,
      pictures: new Pictures(join(dataDir, "pictures")),
    },
    logs,
  );
  const engine = new JobEngine(
    {
      store,
      logs,
      sessions: portalTaskSessions(registry, store),
      commands: { run: () => assert.fail("no command is needed") },
      changes,
      worktrees: new Worktrees({ dataDir, store, snapshots: changes.snapshots, log }),
      setupCommands: { run: () => Promise.reject(new Error("There is no setup")) },
      stopNote: stopNoteIn(dataDir),
      log,
    },
    registry.recovered,
  );
  defer(t, () => engine.close({ pause: false }));
  const start = () => engine.startJob({ entry, jobName: "refused", userInput: "", workingDirectory });

  await line(({ msg }) => msg === "jobs cannot run; trying again");
  assert.equal(engine.failure()?.code, "JobsUnavailable");
  await assert.rejects(start(), { code: "JobsUnavailable", status: 503 });

  await store.query("alter table dbos.hidden rename to workflow_status");
  await line(({ msg }) => msg === "jobs run again");
  assert.equal(engine.failure(), undefined);
  const jobId = await start();
  const jobLog = await logs.open("job", jobId);
  await new Promise<void>(resolve => {
    const look = () => {
      if (jobLog?.closed) resolve();
    };
    jobLog?.watch(look);
    look();
  });
  const said: unknown[] = [];
  for await (const response of jobLog?.responses() ?? []) said.push(Object.values(response)[0]);
  assert.match(
    String(said.at(-2)),
    /"code":"ModelIdNotFound"/,
    "a missing model is not a crash of a session",
  );
  assert.equal(said.at(-1), "jobFailed");
  assert.deepEqual(await registry.sessionsOf(taskIdOf(jobId, rootPath)), [], "and no session was started");
});
