import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import type { Work } from "../../src/changes/changeRecorder.js";
import { Changes } from "../../src/changes/changes.js";
import { collect } from "../../src/changes/collect.js";
import { storeUnavailable } from "../../src/store/failure.js";
import type { Query, Store } from "../../src/store/store.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { anyStore } from "../support/store/suiteDatabase.js";

const scope = groupScope();
let store: Store;
let dataDir: string;
before(async () => {
  dataDir = await tempFolder(scope);
  store = await anyStore(scope);
});

async function repository(t: TestContext): Promise<string> {
  const root = await tempFolder(t, "repo");
  execFileSync("git", ["-C", root, "init", "-q"]);
  await writeFile(join(root, "a.txt"), "one\n");
  return root;
}

const turn = (owner: string, number: number, folder: string): Work => ({
  kind: "turn",
  owner,
  number,
  folder,
  name: `title of ${owner}`,
});

/** As one life of the portal. */
const life = () => new Changes({ dataDir, store, log: silent });

/** Each statement of this store fails once. */
function blinking(): Store {
  const known = new Set<string>();
  const query: Query = async (text, values) => {
    if (known.has(text)) return store.query(text, values);
    known.add(text);
    throw storeUnavailable("a blip");
  };
  return { ...store, query };
}

describe("The record of what agents change", () => {
  test("has what a turn changed also when each statement about it fails once", async t => {
    const folder = await repository(t);
    const changes = new Changes({ dataDir, store: blinking(), log: silent });
    const work = changes.begin(turn("blinking", 1, folder));
    await changes.settled("blinking");
    await writeFile(join(folder, "new.txt"), "x\n");
    await work.end();
    const [record] = await life().records.of("blinking");
    assert.deepEqual(record?.totals, { files: 1, added: 1, deleted: 0 });
    assert.deepEqual(await changes.untold("blinking"), { text: "", ids: [] });
  });

  test("has what each turn changed, and together what the session changed", async t => {
    const folder = await repository(t);
    const changes = life();
    for (const number of [1, 2]) {
      const work = changes.begin(turn("session", number, folder));
      await changes.settled("session");
      await writeFile(join(folder, `turn ${number}.txt`), "x\n");
      await work.end();
    }
    const records = await changes.records.of("session");
    assert.deepEqual(
      records.map(({ kind, number, totals }) => ({ kind, number, totals })),
      [1, 2].map(number => ({ kind: "turn", number, totals: { files: 1, added: 1, deleted: 0 } })),
    );
    const { files } = await changes.answer(records);
    assert.deepEqual(
      files.map(({ path }) => path),
      ["turn 1.txt", "turn 2.txt"],
    );
  });

  test("marks turns of two sessions in one folder at the same time as shared, by name", async t => {
    const folder = await repository(t);
    await mkdir(join(folder, "below"));
    const changes = life();
    const first = changes.begin(turn("first", 1, folder));
    const second = changes.begin(turn("second", 1, join(folder, "below")));
    const elsewhere = changes.begin(turn("elsewhere", 1, await repository(t)));
    await Promise.all([first.end(), second.end(), elsewhere.end()]);
    const shared = async (owner: string) => (await changes.answer(await changes.records.of(owner))).shared;
    assert.deepEqual(await shared("first"), [{ id: "second", name: "title of second" }]);
    assert.deepEqual(await shared("second"), [{ id: "first", name: "title of first" }]);
    assert.deepEqual(await shared("elsewhere"), []);
    const later = changes.begin(turn("first", 2, folder));
    await later.end();
    assert.deepEqual((await changes.records.find("turn", "first", 2))?.shared, []);
  });

  test("says late when a snapshot took longer than a turn waits for it", async t => {
    const folder = await repository(t);
    const changes = life();
    const { take } = changes.snapshots;
    let release = () => {};
    changes.snapshots.take = async of => {
      await new Promise<void>(resolve => {
        release = resolve;
      });
      return take.call(changes.snapshots, of);
    };
    const work = changes.begin(turn("slow", 1, folder));
    await work.ready;
    release();
    await changes.settled("slow");
    changes.snapshots.take = take;
    await work.end();
    assert.equal((await changes.records.find("turn", "slow", 1))?.late, true);
  });

  test("of a turn that the portal did not live to end is ended by the next turn, and late", async t => {
    const folder = await repository(t);
    const killed = life();
    killed.begin(turn("killed", 1, folder));
    await killed.settled("killed");
    await writeFile(join(folder, "written before the kill.txt"), "x\n");
    const next = life();
    const open = await next.answer(await next.records.of("killed"));
    assert.deepEqual(
      open.files.map(({ path }) => path),
      ["written before the kill.txt"],
    );
    next.begin(turn("killed", 2, folder));
    await next.settled("killed");
    await writeFile(join(folder, "written later.txt"), "x\n");
    const record = await next.records.find("turn", "killed", 1);
    assert.equal(record?.late, true);
    assert.deepEqual(
      (await next.answer(record ? [record] : [])).files.map(({ path }) => path),
      ["written before the kill.txt"],
    );
  });

  test("of an attempt keeps its first snapshot when the attempt is replayed after a restart", async t => {
    const folder = await repository(t);
    const attempt: Work = { ...turn("job.w", 1, folder), kind: "attempt" };
    const killed = life();
    killed.begin(attempt);
    await killed.settled("job.w");
    await writeFile(join(folder, "before the kill.txt"), "x\n");
    const next = life();
    await next.begin(attempt).end();
    await writeFile(join(folder, "after the attempt.txt"), "x\n");
    await life().begin(attempt).end();
    const { files, late } = await next.answer(await next.records.of("job", true));
    assert.deepEqual(
      files.map(({ path }) => path),
      ["before the kill.txt"],
    );
    assert.equal(late, true);
  });

  test("outside a repository is not recorded, and of a folder that is deleted meanwhile says so", async t => {
    const plain = await tempFolder(t);
    const changes = life();
    await changes.begin(turn("plain", 1, plain)).end();
    assert.equal(await changes.records.find("turn", "plain", 1), undefined);
    const folder = await repository(t);
    const work = changes.begin(turn("gone", 1, folder));
    await changes.settled("gone");
    await rm(folder, { recursive: true });
    await work.end();
    const { problem, head } = await changes.answer(await changes.records.of("gone"));
    assert.match(problem ?? "", /no repository/);
    assert.equal(head, null);
  });

  test("and its objects go when nobody owns them, and the oldest when there are too many", async t => {
    const folder = await repository(t);
    const changes = life();
    for (const number of [1, 2, 3]) {
      const work = changes.begin(turn("kept", number, folder));
      await changes.settled("kept");
      await writeFile(join(folder, "file"), `${number}`.repeat(1000 * number));
      await work.end();
    }
    const other = await repository(t);
    await changes.begin(turn("nobody", 1, other)).end();
    const [kept, nobody] = await Promise.all(["kept", "nobody"].map(owner => changes.records.of(owner)));
    const keptKey = kept?.[0]?.repository ?? "";
    const nobodyKey = nobody?.[0]?.repository ?? "";
    await store.query(
      `insert into sessions (id, model_id, model_name, backend, working_directory) values ('kept', '', '', '', '')`,
    );
    const future = new Date(Date.now() + 60_000);
    await changes.collect(future);
    const folders = await readdir(changes.snapshots.folder);
    assert.ok(folders.includes(keptKey) && !folders.includes(nobodyKey));
    assert.equal((await changes.answer(await changes.records.of("kept"))).files.length, 1);

    await collect(changes.snapshots, changes.records, future, 0);
    const { problem, files } = await changes.answer(await changes.records.of("kept"));
    assert.deepEqual(files, []);
    assert.match(problem ?? "", /removed to save space/);
    const again = changes.begin(turn("kept", 4, folder));
    await changes.settled("kept");
    await writeFile(join(folder, "file"), "again");
    await again.end();
    const record = await changes.records.find("turn", "kept", 4);
    assert.equal(record?.totals?.files, 1);
  });
});
