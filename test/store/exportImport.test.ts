import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, statSync, watch } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { portalProgram } from "../../src/base/paths.js";
import { PortalError } from "../../src/base/portalError.js";
import { StartError } from "../../src/base/startError.js";
import { runStoreCommand } from "../../src/server/storeCommands.js";
import { importStore } from "../../src/store/keep/importStore.js";
import { defer, type Scope, tempFolder } from "../support/cleanup.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { silent } from "../support/live/live.js";
import { liveAll } from "../support/live/sse.js";
import { type Portal, startPortal } from "../support/portal/portal.js";
import { callbacksOf, sessionById } from "../support/portal/restSession.js";
import { oldThings, storeWithJanitor } from "../support/store/oldStore.js";

function spawnCommand(t: Scope, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [portalProgram, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PORTAL_TOKEN: "", ...env },
  });
  defer(t, () => child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", text => {
    output.stdout += text;
  });
  child.stderr.on("data", text => {
    output.stderr += text;
  });
  return {
    child,
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, ...output })),
  };
}

const run = (t: Scope, args: readonly string[], env?: NodeJS.ProcessEnv) => spawnCommand(t, args, env).ended;

/** The command succeeds and says so in one line. */
async function works(t: Scope, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
  const { code, stdout, stderr } = await run(t, args, env);
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trimEnd().split("\n").length, 1);
  return stdout;
}

/** The command does nothing and says why in one line. */
async function refuses(t: TestContext, args: readonly string[], reason: RegExp): Promise<void> {
  const { code, stdout, stderr } = await run(t, args);
  assert.equal(code, 1, stderr);
  assert.equal(stdout, "");
  assert.match(stderr, reason);
  assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
}

const linesOf = async (file: string) =>
  gunzipSync(await readFile(file))
    .toString()
    .trimEnd()
    .split("\n");
const withoutEnd = (lines: readonly string[]) => lines.slice(1, -1).sort();

const file = { after };
// The hook has to be there before the first test asks for the export.
defer(file, () => undefined);
let small: Promise<string> | undefined;

/** The export of a store with one thing of each kind, the same for all tests. */
function smallExport(): Promise<string> {
  small ??= makeSmallExport(file);
  return small;
}

async function makeSmallExport(t: Scope): Promise<string> {
  const folder = await tempFolder(t);
  const { store, close } = await storeWithJanitor(join(folder, "data"), silent);
  const things = oldThings(store);
  await things.job("j", 1);
  await things.session("s", undefined);
  await store.query("update logs set closed = false where key = 's'");
  await store.query("insert into permission_rules (folder, rule) values ($1, $2)", [
    "/work",
    'allow command "a\u2028b\r"',
  ]);
  await close();
  const file = join(folder, "export.gz");
  await works(t, ["export", file, "--data-dir", join(folder, "data")]);
  return file;
}

const model = { category: "driving" };
const entry = {
  tasks: {
    first: { prompt: ["first"], model },
    held: { prompt: ["held", "@wait held"], model },
    last: { prompt: ["last"], model },
  },
  jobs: { three: { work: { kind: "Seq" as const, works: [task("first"), task("held"), task("last")] } } },
};

/** A portal in the middle of a job, with an open and a closed session, and its export. */
async function inTheMiddle(t: TestContext) {
  const jobsPortal = await portalWithEntry(t, entry, { store: "embedded" });
  const { portal, puppet, startJob, startSession } = jobsPortal;
  const open = sessionById(portal, await startSession());
  await open.query("hello\u2028world ✓");
  await open.untilIdle();
  const closed = sessionById(portal, await startSession());
  await closed.call("stop");
  const jobId = await startJob("three");
  await puppet.arrived("held");
  const folder = await tempFolder(t);
  const file = join(folder, "portal.gz");
  await works(t, ["export", file, "--data-dir", portal.dataDir]);
  return { ...jobsPortal, open, closed, jobId, folder, file };
}

async function titlesOf(portal: Portal): Promise<Record<string, string>> {
  const path = "copilot/session/history?owned=true";
  const { sessions } = (await portal.api<{ sessions: { sessionId: string; title: string }[] }>(path)).body;
  return Object.fromEntries(sessions.map(({ sessionId, title }) => [sessionId, title]));
}

describe("An export of a running portal", () => {
  test("an export moves everything into an empty store", async t => {
    const { portal, puppet, model: scripted, open, closed, jobId, folder, file } = await inTheMiddle(t);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(!existsSync(join(portal.dataDir, "snapshot")), "the temporary copy is gone");
    assert.equal((await portal.api("health")).body.status, "ok");
    const titles = await titlesOf(portal);
    assert.equal(Object.keys(titles).length, 4);
    await portal.kill();
    /** A portal on the imported store, with its own copy of what the agents remember. */
    async function moveTo(dataDir: string): Promise<Portal> {
      const home = `${dataDir}-home`;
      await cp(portal.copilotHome, home, { recursive: true });
      return startPortal(t, { dataDir, model: scripted, env: { COPILOT_HOME: home } });
    }
    const jobLog = async (moved: Portal) =>
      callbacksOf(await liveAll(`${moved.url}/api/copilot/job/${jobId}/live/reader`));

    await t.test("where --continue runs the job to its end", async () => {
      const dataDir = join(folder, "new");
      await works(t, ["import", file, "--data-dir", dataDir, "--continue"]);
      const again = join(folder, "again.gz");
      await works(t, ["export", again, "--data-dir", dataDir]);
      // Only the reserved numbers have changed, and nobody owns anything.
      const lines = async (path: string) =>
        withoutEnd(await linesOf(path)).map(line =>
          line
            .replace(/"reserved":\d+/, '"reserved":0')
            .replace(/"boot":\d+,"node"/, '"boot":null,"node"')
            .replace(/"state":"running"/, '"state":"gone"'),
        );
      assert.deepEqual(await lines(again), await lines(file));

      const moved = await moveTo(dataDir);
      assert.deepEqual(await titlesOf(moved), titles);
      puppet.release("held");
      assert.equal((await jobLog(moved)).at(-1), "jobSucceeded");
      const sent = puppet.prompts.map(prompt => prompt.split("\n").at(-1));
      assert.equal(puppet.prompts.filter(prompt => prompt.startsWith("first")).length, 1, sent.join());

      const session = sessionById(moved, open.id);
      await session.query("again");
      const responses = await session.untilIdle(2);
      assert.equal(
        callbacksOf(responses).filter(name => name === "onUserRequest").length,
        2,
        callbacksOf(responses).join(),
      );
      assert.deepEqual(scripted.requests.at(-1)?.request.userTexts, ["hello\u2028world ✓", "again"]);
      const numbers: number[] = [];
      for await (const { n, data } of session.events()) {
        numbers.push(n ?? 0);
        if (data.callback === "onIdle" && (n ?? 0) > 1_000_000) break;
      }
      assert.deepEqual(
        numbers,
        [...numbers].sort((a, b) => a - b),
      );
      assert.equal(new Set(numbers).size, numbers.length, "no number is used twice");
      assert.equal((await sessionById(moved, closed.id).call("")).status, "Closed");
    });

    await t.test("where without it the job is paused, and continues when the user continues it", async () => {
      const dataDir = join(folder, "paused");
      assert.match(await works(t, ["import", file, "--data-dir", dataDir]), /One job waits to be continued/);
      const before = puppet.prompts.length;
      const moved = await moveTo(dataDir);
      assert.equal((await moved.api(`copilot/job/${jobId}/status`)).body.status, "Paused");
      assert.equal(puppet.prompts.length, before, "the model is not called");
      assert.deepEqual((await moved.api(`copilot/job/${jobId}/continue`)).body, { result: "Continued" });
      assert.deepEqual(
        (await jobLog(moved)).filter(callback => callback.startsWith("job")),
        ["jobPaused", "jobContinued", "jobSucceeded"],
      );
    });
  });

  test("an export needs the token of a portal that asks for one, and an import waits for the end of the portal", async t => {
    const secret = "a-token-of-forty-characters-for-this-test";
    const portal = await startPortal(t, {
      store: "embedded",
      args: ["--auth"],
      env: { PORTAL_TOKEN: secret },
    });
    const file = join(await tempFolder(t), "x.gz");
    const args = ["export", file, "--data-dir", portal.dataDir];
    await refuses(t, args, /asks for its token: put it into PORTAL_TOKEN/);
    assert.ok(!existsSync(file));
    await works(t, args, { PORTAL_TOKEN: secret });

    const importing = ["import", await smallExport(), "--data-dir", portal.dataDir];
    await refuses(t, importing, /is in use by another portal/);
    await portal.kill("SIGTERM");
    // A portal has only started on this store.
    await works(t, importing);
    await portal.restart({ args: [] });
    assert.equal((await portal.api("copilot/session/s")).body.status, "Idle");
  });
});

describe("An import", () => {
  test("an import refuses a store that is not empty and leaves it alone", async t => {
    const file = await smallExport();
    const dataDir = await tempFolder(t);
    await works(t, ["import", file, "--data-dir", dataDir]);
    await refuses(t, ["import", file, "--data-dir", dataDir], /is not empty\. Choose another folder/);
    await works(t, ["export", join(dataDir, "again.gz"), "--data-dir", dataDir]);
  });

  test("an import names and refuses every file that is not a complete export, and leaves nothing behind", async t => {
    const file = await smallExport();
    const whole = await readFile(file);
    const lines = await linesOf(file);
    const text = (...changed: string[]) => gzipSync(`${changed.join("\n")}\n`);
    /** With a matching last line. */
    const sealed = (...changed: string[]) => {
      const sha256 = createHash("sha256")
        .update(`${changed.join("\n")}\n`)
        .digest("hex");
      const count = changed.filter(line => line.startsWith('{"row":')).length;
      return text(...changed, JSON.stringify({ end: { rows: count, sha256 } }));
    };
    const [header = "", ...rest] = lines;
    const headerWith = (change: object) => JSON.stringify({ ...JSON.parse(header), ...change });
    const cases: readonly [name: string, content: Buffer, reason: RegExp][] = [
      [
        "an export that was cut off",
        whole.subarray(0, whole.length / 2),
        /is damaged: it is not a complete gzip file/,
      ],
      ["an export without its last bytes", whole.subarray(0, -5), /is damaged/],
      ["an empty file", Buffer.alloc(0), /is damaged/],
      ["some text", Buffer.from("hello"), /is damaged: it is not a complete gzip file/],
      ["a gzip of something else", gzipSync("hello\nworld\n"), /is not a portal export/],
      ["a gzip of other JSON", gzipSync("[]\n"), /is not a portal export/],
      ["an export without its last line", text(...lines.slice(0, -1)), /is damaged: its end is missing/],
      [
        "an export that lacks a row",
        text(...lines.filter(line => !line.includes('"rule":"allow'))),
        /is damaged/,
      ],
      [
        "an export with a changed row",
        text(...lines.map(line => line.replace('"user_input":""', '"user_input":"x"'))),
        /is damaged: its checksum is wrong/,
      ],
      [
        "an export with a line after its end",
        text(...lines, '{"row":{}}'),
        /is damaged: it has data after its last/,
      ],
      [
        "an export with rows of a foreign table",
        sealed(header, '{"table":"pg_catalog.pg_class","columns":["oid"]}', '{"row":{"oid":1}}'),
        /is damaged: it has a line that no portal writes/,
      ],
      [
        "an export with a row that is not JSON",
        sealed(header, '{"table":"public.sessions","columns":["id"]}', '{"row":{"id":}}'),
        /is damaged: its rows do not fit public\.sessions/,
      ],
      [
        "an export of a newer format",
        text(headerWith({ version: 2 }), ...rest),
        /written by a newer portal \(format 2, this one knows 1\)/,
      ],
      [
        "an export of a newer schema",
        text(headerWith({ schema: 999 }), ...rest),
        /was written by a newer portal/,
      ],
      [
        "an export of a newer engine",
        sealed(headerWith({ engineSchema: 9999 }), ...rest.slice(0, -1)),
        /was written by a newer portal/,
      ],
      [
        "an export with a wrong header",
        text(headerWith({ schema: "x" }), ...rest),
        /is damaged: its header is wrong/,
      ],
    ];
    const folder = await tempFolder(t);
    for (const [index, [name, content, reason]] of cases.entries()) {
      await t.test(`an import refuses ${name}`, async () => {
        const bad = join(folder, `${index}.gz`);
        const dataDir = join(folder, `data${index}`);
        await mkdir(dataDir);
        await writeFile(bad, content);
        const finish = () => assert.fail("the import must stop earlier");
        await assert.rejects(importStore({ dataDir, file: bad, log: silent, finish }), (error: unknown) => {
          assert.ok(error instanceof StartError);
          assert.match(error.message, reason);
          return !error.message.includes("\n");
        });
        assert.deepEqual(readdirSync(dataDir), []);
      });
    }
    await refuses(t, ["import", folder, "--data-dir", join(folder, "d")], /cannot be read \(EISDIR\)/);
  });

  test("a killed import leaves nothing behind and can be repeated", async t => {
    const file = await smallExport();
    const dataDir = await tempFolder(t);
    for (let kill = 0; kill < 3; kill++) {
      await rm(join(dataDir, "import"), { recursive: true, force: true });
      const watcher = watch(dataDir);
      const { child, ended } = spawnCommand(t, ["import", file, "--data-dir", dataDir]);
      // Its working folder exists, so the import has begun.
      while (!existsSync(join(dataDir, "import"))) await once(watcher, "change");
      watcher.close();
      child.kill("SIGKILL");
      await ended;
      assert.ok(!existsSync(join(dataDir, "store")));
    }
    await works(t, ["import", file, "--data-dir", dataDir]);
    assert.deepEqual(readdirSync(dataDir), ["store"]);
  });

  for (const [args, reason] of [
    [["export"], /takes one FILE/],
    [["import", "a", "b"], /takes one FILE/],
    [["export", "a", "--continue"], /--continue is for import only/],
    [["import", "a", "--port", "1"], /Unknown argument: port/],
    [["export", "/none/x.gz", "--data-dir", "/proc/none"], /cannot be used/],
  ] as const) {
    test(`the command says what is wrong with "${args.join(" ")}"`, () =>
      assert.rejects(runStoreCommand(args), (error: unknown) => {
        assert.ok(error instanceof StartError || error instanceof PortalError);
        assert.match(error.message, reason);
        return !error.message.includes("\n");
      }));
  }
});
