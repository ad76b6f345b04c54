import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { deferred } from "../../src/base/deferred.js";
import type { LiveResponse } from "../../src/live/liveResponse.js";
import { requestsElsewhere } from "../../src/permissions/requestsElsewhere.js";
import { type LiveLog, LiveLogs } from "../../src/sharedApi.js";
import { Ownership } from "../../src/store/ownership.js";
import { groupScope } from "../support/cleanup.js";
import {
  append,
  type Live,
  message,
  newId,
  notice,
  silent,
  startLive,
  storedRecords,
} from "../support/live/live.js";
import { seen } from "../support/seen.js";

const file = groupScope();
let live: Live;
before(async () => {
  live = await startLive(file, { answerTimeoutMs: 20 });
});

/** The logs of another process on the same store; by default of the next life of the same portal. */
function otherLogs(node?: string): LiveLogs {
  const options = node === undefined ? {} : { node, isShared: true };
  return new LiveLogs(live.store, silent, new Ownership(live.store, options));
}

async function rowOf(id: string) {
  const [row] = await live.store.query<{ reserved: number; openFrom: number; chunks: number }>(
    `select reserved, open_from as "openFrom", (select count(*)::int from log_chunks where log_id = logs.id) as chunks
     from logs where key = $1`,
    [id],
  );
  return row;
}

const jsonsOf = async (id: string) =>
  (await storedRecords(live.store, id)).map(({ json }) => JSON.parse(json));

async function logWithOpenBlock(logs: LiveLogs): Promise<LiveLog> {
  const log = await logs.create("session", newId());
  await append(log, message.start("m"), message.delta("m", "half"));
  return log;
}

describe("A log that another portal writes", () => {
  test("reading it and moving a cursor in it change nothing, and its writer goes on", async () => {
    const writer = otherLogs("writer");
    const log = await logWithOpenBlock(writer);
    const stored = await rowOf(log.id);
    const { responses } = await live.call(`session/${log.id}/live/reader`);
    assert.deepEqual(responses, [message.start("m"), message.delta("m", "half")]);
    await seen(
      async () => (await live.store.query("select n from log_cursors where reader = 'reader'")).length === 1,
    );
    assert.deepEqual(await rowOf(log.id), stored);
    await append(log, message.delta("m", " and whole"), message.end("m", "half and whole"));
    assert.deepEqual(
      (await storedRecords(live.store, log.id)).map(({ n }) => n),
      [1, 2, 3, 4],
    );
  });

  test("it cannot be taken while its portal lives, nor after its end if it is pinned to that portal", async () => {
    const writer = otherLogs("pinned");
    const log = await logWithOpenBlock(writer);
    await assert.rejects(live.logs.openOwned("session", log.id), { code: "TakenOver" });
    await assert.rejects(live.logs.openOrCreate("session", log.id), { code: "TakenOver" });
    await live.store.query("update nodes set state = 'gone' where name = 'pinned'");
    await assert.rejects(live.logs.openOwned("session", log.id), { code: "TakenOver" });
    const read = await live.logs.open("session", log.id);
    await assert.rejects(read?.append(notice("no")) ?? Promise.resolve(), { code: "TakenOver" });
    await assert.rejects(read?.close() ?? Promise.resolve());
    await append(log, notice("its owner may"));
    assert.deepEqual((await jsonsOf(log.id)).at(-1)?.title, "its owner may");
  });

  test("a movable one is taken after the end of its portal: its block ends once, and the earlier owner writes nothing more", async () => {
    const earlier = otherLogs("earlier");
    const log = await logWithOpenBlock(earlier);
    const other = await earlier.create("session", newId());
    await live.store.query("update owned set movable = true where root = $1", [log.id]);
    await live.store.query("update nodes set state = 'gone' where name = 'earlier'");
    // Opened to be read before the last write of its owner.
    const read = await live.logs.open("session", log.id);
    await append(log, message.delta("m", "way"));
    const lost: string[] = [];
    earlier.ownership.onLost(root => lost.push(root));

    const [mine, again] = await Promise.all([
      live.logs.openOwned("session", log.id),
      live.logs.openOwned("session", log.id),
    ]);
    assert.equal(mine, again);
    assert.equal(mine, read);
    await mine?.append(notice("the new owner"));
    const stored = await jsonsOf(log.id);
    assert.deepEqual(
      stored.map(({ callback, completeContent, title }) => completeContent ?? title ?? callback),
      ["onStartMessage", undefined, undefined, "halfway", "the new owner"],
    );

    // Both are in the same write: only what is taken over is dropped.
    const refused = log.append(message.delta("m", "too late"));
    const refusedToo = log.append(notice("too late"));
    const written = other.append(notice("still mine"));
    await assert.rejects(refused, { code: "TakenOver" });
    await assert.rejects(refusedToo, { code: "TakenOver" });
    await written;
    await assert.rejects(log.append(notice("later still")), { code: "TakenOver" });
    assert.deepEqual(lost, [log.id]);
    assert.deepEqual(await jsonsOf(log.id), stored);
    assert.deepEqual(
      (await jsonsOf(other.id)).map(({ title }) => title),
      ["still mine"],
    );
    await assert.rejects(earlier.delete("session", log.id), { code: "TakenOver" });
  });
});

describe("A log of a portal that loses a root and wins it again in a later life", () => {
  /** The root belongs to a new boot of the same portal, which nobody here has heard of yet. */
  async function nextLife(root: string): Promise<number> {
    const [row] = await live.store.query<{ boot: number }>(
      `with lived as (update nodes set state = 'gone' where boot = (select boot from owned where root = $1)
         returning name, version, flow_version, pid),
       life as (insert into nodes (name, version, flow_version, pid) select * from lived returning boot)
       update owned set boot = life.boot from life where root = $1 returning owned.boot::int`,
      [root],
    );
    return Number(row?.boot);
  }

  test("who wrote it in the earlier life writes nothing more, and the later life is not disturbed", async () => {
    const logs = otherLogs("twice");
    const { ownership } = logs;
    const log = await logWithOpenBlock(logs);
    const lost: string[] = [];
    ownership.onLost(root => lost.push(root));
    const boot = await nextLife(log.id);
    const late = log.append(notice("accepted in the earlier life"));
    ownership.lost(log.id);
    ownership.goesOn(Promise.resolve(boot));
    const again = await logs.openOwned("session", log.id);
    assert.ok(again && again !== log);
    await assert.rejects(late, { code: "TakenOver" });
    await assert.rejects(log.append(notice("said in the later life")), { code: "TakenOver" });
    await assert.rejects(log.close(), { code: "TakenOver" });
    await again.append(notice("by whoever has it now"));
    assert.deepEqual(
      (await jsonsOf(log.id)).map(({ callback, title }) => title ?? callback),
      ["onStartMessage", undefined, "onEndMessage", "by whoever has it now"],
    );
    assert.deepEqual(lost, [log.id]);
  });

  test("what was accepted before the loss is stored as long as nobody has the root", async () => {
    const logs = otherLogs("accepted");
    const log = await logWithOpenBlock(logs);
    const accepted = append(log, message.delta("m", "way"), message.end("m", "halfway"));
    logs.ownership.lost(log.id);
    await logs.lastWords();
    await accepted;
    assert.equal((await rowOf(log.id))?.openFrom, 0);
    await assert.rejects(log.append(notice("too late")), { code: "TakenOver" });
  });
});

describe("A request that waits for its user", () => {
  const asks = (requestId: string): LiveResponse => ({
    callback: "onQuestion",
    requestId,
    question: "Which?",
    allowFreeform: true,
  });
  const waiting = async () =>
    (await live.store.query<{ id: string }>("select request_id as id from waiting order by asked_at, 1")).map(
      ({ id }) => id,
    );

  test("it is in the inbox of every portal as long as its block is open, and its owner lives", async () => {
    const asker = otherLogs("asker");
    const log = await asker.create("session", newId());
    const item = { requestId: "q1", sessionId: log.id, source: "session", sessionTitle: "title" };
    await log.append(asks("q1"), undefined, item);
    void log.append(asks("q2"), undefined, { ...item, requestId: "q2" });
    await log.append({ callback: "onQuestionResolved", requestId: "q2", by: "user" });
    assert.deepEqual(await waiting(), ["q1"]);
    assert.deepEqual(await requestsElsewhere(live.store, live.logs.ownership), [item]);
    assert.deepEqual(await requestsElsewhere(live.store, asker.ownership), [], "its own are in its memory");
    await log.append({ callback: "onQuestionResolved", requestId: "q1", by: "user" });
    assert.deepEqual(await waiting(), []);

    await log.append(asks("q3"), undefined, { ...item, requestId: "q3" });
    const next = otherLogs("asker");
    await next.adoption.start();
    assert.deepEqual(await waiting(), [], "whoever adopts the session settles what waited");
    assert.equal((await jsonsOf(log.id)).at(-1)?.by, "restart");
  });
});

describe("The next life of a portal", () => {
  test("a start takes over what is unfinished in one go, leaves the rest until it is used, and mends room by room", async () => {
    const earlier = otherLogs("again");
    const cut = await logWithOpenBlock(earlier);
    const quiet = await earlier.create("session", newId());
    await append(quiet, notice("finished"));
    const [first] = await live.store.query<{ boot: string }>("select boot from nodes where name = 'again'");

    const next = otherLogs("again");
    const mended: (string | undefined)[] = [];
    next.adoption.mendsWith(async root => void mended.push(root));
    await Promise.all([next.adoption.start(), next.adoption.start()]);
    const bootsOf = async () =>
      live.store.query<{ root: string; isFirst: boolean }>(
        `select root, boot = $1 as "isFirst" from owned where root = any($2) order by since`,
        [first?.boot, [cut.id, quiet.id]],
      );
    assert.deepEqual(
      new Map((await bootsOf()).map(({ root, isFirst }) => [root, isFirst])),
      new Map([
        [cut.id, false],
        [quiet.id, true],
      ]),
    );
    assert.equal((await jsonsOf(cut.id)).at(-1)?.interrupted, true);
    assert.equal(next.ownership.owns(cut.id), true);
    assert.equal(next.ownership.owns(quiet.id), false);
    await next.adoption.adopt({ id: quiet.id, kind: "session" });
    assert.deepEqual(mended, [quiet.id]);
    assert.equal(
      (await bootsOf()).some(({ isFirst }) => isFirst),
      false,
    );
    const states = await live.store.query<{ state: string }>(
      "select state from nodes where name = 'again' order by boot",
    );
    assert.deepEqual(
      states.map(({ state }) => state),
      ["gone", "running"],
    );
  });

  test("what is claimed at once is claimed one after the other: nobody reads a log anew that another has just won", async () => {
    const { adoption, ownership } = otherLogs("one by one");
    const claimed: string[] = [];
    const released = deferred();
    const claims = (name: string, wait?: Promise<void>) => async () => {
      claimed.push(`${name} begins`);
      await wait;
      claimed.push(`${name} ends`);
      return ownership.claim([]);
    };
    const all = [claims("one", released.promise), claims("two")].map(claim => adoption.adoptAll(claim));
    await ownership.boot();
    released.resolve();
    await Promise.all(all);
    assert.deepEqual(claimed, ["one begins", "one ends", "two begins", "two ends"]);
  });

  test("a root comes and goes with its log, in the same write", async () => {
    const count = async (root: string) =>
      (await live.store.query("select root from owned where root = $1", [root])).length;
    const id = newId();
    await live.logs.openOrCreate("job", id, {
      id,
      name: "j",
      entry_hash: "h",
      user_input: "",
      working_directory: "/",
    });
    await live.logs.openOrCreate("task", `${id}.w.0`);
    assert.equal(await count(id), 1);
    const [row] = await live.store.query<{ root: string }>("select root from logs where key = $1", [
      `${id}.w.0`,
    ]);
    assert.equal(row?.root, id);
    await live.logs.delete("task", `${id}.w.0`);
    assert.equal(await count(id), 1);
    await live.logs.delete("job", id);
    assert.equal(await count(id), 0);
  });
});
