import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { configProblems } from "../../src/server/config.js";
import type { JanitorParts } from "../../src/store/keep/janitor.js";
import { cutoffsOf, defaultRetention } from "../../src/store/keep/retention.js";
import type { StoredConversation } from "../../src/store/keep/roots.js";
import { defer, type Scope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { runPortal } from "../support/portal/portal.js";
import { keptTables, oldThings, rowCounts, storeWithJanitor } from "../support/store/oldStore.js";

async function janitorHere(t: Scope, change: Partial<JanitorParts> = {}) {
  const here = await storeWithJanitor(await tempFolder(t), silent, change);
  defer(t, () => here.close());
  return { ...here, things: oldThings(here.store) };
}

type Things = ReturnType<typeof oldThings>;

const removed: readonly [name: string, make: (things: Things) => Promise<unknown>][] = [
  ["a job 91 days after its end", things => things.job("x", 91)],
  ["a job that failed 91 days ago", things => things.job("x", 91, "Failed")],
  ["a job that was stopped 91 days ago", things => things.job("x", 91, "Canceled")],
  ["a session that was closed 91 days ago", things => things.session("x", 91)],
  ["a task outside jobs with its session, 91 days after its end", things => things.task("x", 91)],
  [
    "a task in a user's session, with that session",
    async things => {
      await things.session("x", 91);
      await things.task("y", 91, "Succeeded", "x");
    },
  ],
  ["a task whose session was deleted", things => things.task("x", 91, "Failed", "gone")],
  ["a run of agents 31 days after its end", things => things.run("x", 31)],
  ["a log without an owner", things => things.log("session", "nobody")],
  ["the log of a task whose job is gone", things => things.log("task", "nobody.0.1")],
  ["a session whose job is gone", things => things.session("x", 2, "nobody.0")],
  ["an entry that nothing names", things => things.entry("nobody's")],
  ["flows that nothing names", things => things.flow("nobody's")],
];

const kept: readonly [name: string, make: (things: Things) => Promise<unknown>][] = [
  ["a job 89 days after its end, because 90 days are promised", things => things.job("x", 89)],
  ["a running job, however old it is", things => things.job("x", 900, "Running")],
  ["a job that waits to be continued, however old it is", things => things.job("x", 900, "Paused")],
  [
    "a job with an open session",
    async things => {
      await things.job("x", 91);
      await things.session("y", undefined, "x.1");
    },
  ],
  [
    "a job with a session that was closed yesterday",
    async things => {
      await things.job("x", 91);
      await things.session("y", 1, "x.1");
    },
  ],
  ["a session that was closed 89 days ago", things => things.session("x", 89)],
  ["an open session", things => things.session("x", undefined)],
  [
    "a session in which a task runs",
    async things => {
      await things.session("x", 91);
      await things.task("y", 91, "Running", "x");
    },
  ],
  ["a running task", things => things.task("x", 91, "Running")],
  ["a task whose session is kept", things => things.task("x", 89)],
  ["a run of agents 29 days after its end", things => things.run("x", 29)],
  ["a run that has not ended", things => things.run("x", 99, "Running")],
  [
    "a log that is an hour old, because its owner may be about to be created",
    things => things.log("session", "x", 0.04),
  ],
];

describe("The janitor", () => {
  /** One store for the tests that leave it empty; opening a store takes a second. */
  let here: Awaited<ReturnType<typeof janitorHere>>;
  const suite = { after };
  // The hook must be registered before the store opens.
  defer(suite, () => undefined);
  before(async () => {
    here = await janitorHere(suite);
  });
  afterEach(async () => {
    for (const table of keptTables) await here.store.query(`delete from ${table}`);
  });

  for (const [name, make] of removed) {
    test(`the janitor removes ${name}, and everything that belongs to it`, async () => {
      const { store, janitor, things } = here;
      await make(things);
      await janitor.clean(60_000);
      assert.deepEqual(
        Object.values(await rowCounts(store)).filter(count => count > 0),
        [],
        JSON.stringify(await rowCounts(store)),
      );
    });
  }

  for (const [name, make] of kept) {
    test(`the janitor keeps ${name}`, async () => {
      const { store, janitor, things } = here;
      await make(things);
      const flows = ["dbos.workflow_status", "dbos.operation_outputs"];
      const withoutFlows = (counts: Record<string, number>) =>
        Object.entries(counts).filter(([table]) => !flows.includes(table));
      const before = withoutFlows(await rowCounts(store));
      await janitor.clean(60_000);
      assert.deepEqual(withoutFlows(await rowCounts(store)), before);
    });
  }

  test("the janitor deletes the flows of a job an hour after its end, and keeps the job", async () => {
    const { store, janitor, things } = here;
    await things.job("old", 1);
    await things.job("running", 1, "Running");
    await janitor.clean(60_000);
    const rows = await store.query("select workflow_uuid as id from dbos.workflow_status order by 1");
    assert.deepEqual(rows, [{ id: "running" }, { id: "running/t:0" }]);
    assert.equal((await rowCounts(store)).jobs, 2);
  });

  test("the janitor forgets the positions of readers that have not read for 30 days", async () => {
    const { store, janitor, things } = here;
    await things.session("s", undefined);
    await store.query(
      `insert into log_cursors select id, 'old', 1, false, current_date - 31 from logs union all
       select id, 'new', 1, false, current_date - 29 from logs`,
    );
    assert.equal((await janitor.clean(0)).cursors, 1);
    const rows = await store.query("select reader from log_cursors order by 1");
    assert.deepEqual(rows, [{ reader: "" }, { reader: "new" }]);
  });

  test("readers of a log learn that it is closed when the janitor removes it", async () => {
    const { logs, store, janitor } = here;
    const log = await logs.create("session", "s");
    await log.append({ callback: "onIdle" });
    await store.query(
      `insert into sessions (id, model_id, model_name, backend, working_directory, status, closed_at)
       values ('s', 'm', 'M', 'provider', '/', 'closed', now() - interval '91 days')`,
    );
    const told = new Promise<void>(resolve => log.watch(resolve));
    await janitor.clean(60_000);
    await told;
    assert.equal(log.closed, true);
    assert.equal(await logs.open("session", "s"), undefined);
  });
});

describe("A janitor with its own store", () => {
  test("the janitor removes nothing when the setting is 0 days, which means forever", async t => {
    const { store, janitor, things } = await janitorHere(t, {
      retention: { jobs: 0, sessions: 0, runs: 0 },
    });
    await things.job("j", 9000);
    await things.session("s", 9000);
    await things.run("r", 9000);
    await things.unusedSession("u", 9000);
    await janitor.clean(60_000);
    const { jobs, sessions, runs } = await rowCounts(store);
    assert.deepEqual({ jobs, sessions, runs }, { jobs: 1, sessions: 3, runs: 1 });
    const open = await store.query("select id from sessions where status = 'open'");
    assert.deepEqual(open, [{ id: "u" }]);
  });

  test("the janitor closes open sessions that nobody has used for 30 days, except those of unfinished work", async t => {
    const closed: string[] = [];
    const { janitor, things } = await janitorHere(t, {
      async closeSession(id) {
        closed.push(id);
        return true;
      },
    });
    await things.unusedSession("old", 31);
    await things.unusedSession("young", 29);
    await things.job("paused", 60, "Paused");
    await things.unusedSession("of a job", 60, "paused.0");
    await things.session("busy", undefined);
    assert.equal((await janitor.due()).unused, 1);
    assert.equal((await janitor.clean(0)).unused, 1);
    assert.deepEqual(closed, ["old"]);
  });

  test("the janitor has agents delete their conversations, and continues when an agent cannot", async t => {
    const asked: StoredConversation[] = [];
    const { store, janitor, things } = await janitorHere(t, {
      async forgetConversation(conversation) {
        asked.push(conversation);
        throw new Error("this agent no longer exists");
      },
    });
    await things.job("j", 91);
    await things.session("s", 91);
    await janitor.clean(60_000);
    assert.deepEqual(asked.map(({ id }) => id).sort(), ["j-session", "s"]);
    assert.equal((await rowCounts(store)).sessions, 0);
  });

  test("the janitor works hourly, removes a hundred things at a time, and waits at least a minute between rounds", async t => {
    let nowMs = Date.now();
    const { janitor, things } = await janitorHere(t, { now: () => new Date(nowMs) });
    for (let i = 0; i < 130; i++) await things.run(`r${i}`, 40);
    assert.equal((await janitor.roundIfDue())?.runs, 100);
    assert.equal(await janitor.roundIfDue(), undefined);
    nowMs += 59_000;
    assert.equal(await janitor.roundIfDue(), undefined);
    nowMs += 2_000;
    assert.equal((await janitor.roundIfDue())?.runs, 30);
    nowMs += 59 * 60_000;
    assert.equal(await janitor.roundIfDue(), undefined);
    nowMs += 2 * 60_000;
    assert.equal((await janitor.roundIfDue())?.runs, 0);
  });

  test("after a kill at any moment, the next janitor removes the rest, and what is kept stays whole", async t => {
    const dataDir = await tempFolder(t);
    const first = await storeWithJanitor(dataDir, silent);
    const things = oldThings(first.store);
    for (let i = 0; i < 60; i++) await things.job(`old${i}`, 91);
    for (let i = 0; i < 60; i++) await things.session(`old-session${i}`, 91);
    for (let i = 0; i < 5; i++) await things.job(`young${i}`, 1);
    await first.close();
    const program = fileURLToPath(new URL("../support/store/janitorAlone.js", import.meta.url));
    for (let kill = 0; kill < 3; kill++) {
      const child = fork(program, [dataDir], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
      const exited = once(child, "exit");
      let steps = 0;
      // It reports each finished step.
      child.on("message", () => ++steps === 1 + kill && child.kill("SIGKILL"));
      await exited;
    }
    const last = await storeWithJanitor(dataDir, silent);
    defer(t, () => last.close());
    assert.notEqual((await rowCounts(last.store)).jobs, 5, "there was something left to remove");
    await last.janitor.clean(60_000);
    assert.deepEqual(await rowCounts(last.store), {
      sessions: 5,
      jobs: 5,
      tasks: 0,
      runs: 0,
      logs: 15,
      log_chunks: 15,
      log_cursors: 15,
      owned: 5,
      entries: 5,
      "dbos.workflow_status": 0,
      "dbos.operation_outputs": 0,
    });
  });
});

describe("The setting `retention`", () => {
  test("the setting `retention` counts days back from now and has defaults", () => {
    const now = new Date("2030-06-30T00:00:00Z");
    const { jobs, sessions, runs, unused } = cutoffsOf({ ...defaultRetention, jobs: 0 }, now);
    assert.equal(jobs, undefined);
    assert.equal(sessions?.toISOString(), "2030-04-01T00:00:00.000Z");
    assert.equal(runs?.toISOString(), "2030-05-31T00:00:00.000Z");
    assert.equal(unused?.toISOString(), "2030-05-31T00:00:00.000Z");
  });

  for (const [name, retention, problem] of [
    ["a negative number", { jobs: -1 }, /^\$\.retention\.jobs: must be >= 0$/],
    ["half a day", { sessions: 0.5 }, /^\$\.retention\.sessions: must be integer$/],
    ["a text", { runs: "30" }, /^\$\.retention\.runs: must be integer$/],
    ["more than a hundred years", { runs: 36_501 }, /^\$\.retention\.runs: must be <= 36500$/],
    ["an unknown name", { tasks: 1 }, /^\$\.retention\.tasks: is not known here$/],
    ["a number instead of an object", 90, /^\$\.retention: must be object$/],
  ] as const) {
    test(`the setting \`retention\` is refused with ${name}, and the message has the exact path`, () => {
      const [found, ...others] = configProblems({ retention });
      assert.match(found ?? "", problem);
      assert.deepEqual(others, []);
    });
  }

  test("a wrong `retention` ends the start with one line", async t => {
    const config = join(await tempFolder(t), "portal.config.json");
    await writeFile(config, JSON.stringify({ retention: { jobs: "x" } }));
    const { code, stderr } = await runPortal(t, { args: ["--config", config] });
    assert.equal(code, 1);
    assert.match(stderr, /^.*portal\.config\.json: \$\.retention\.jobs: must be integer\n$/);
  });
});
