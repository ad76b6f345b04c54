import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { groupScope } from "../support/cleanup.js";
import { type NodePair, startNodePair } from "../support/nodes/nodePair.js";
import { seen } from "../support/seen.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

/** The text of a stream up to these words; the reader then hangs up. */
async function textUntil(answer: Response, ...words: (string | RegExp)[]): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  const has = (word: string | RegExp) => (typeof word === "string" ? text.includes(word) : word.test(text));
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (words.every(has)) return text;
  }
  throw new Error(`The stream ended without ${words.join(" and ")}: ${text}`);
}

/** What a stream brings until it breaks off. */
async function textUntilEnd(answer: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of answer.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  } catch {
    // It broke off.
  }
  return text;
}

const lastId = (text: string) =>
  text
    .split("\n")
    .filter(line => line.startsWith("id: "))
    .at(-1)
    ?.slice(4) ?? "";

const file = groupScope();
let pair: NodePair;
/** A session of node b, and one of node a. */
let there: string;
let own: string;

before(async () => {
  pair = await startNodePair(file, await runningPostgres(file));
  [own, there] = await Promise.all([pair.a.startSession(), pair.b.startSession()]);
});

describe("A node that does not own a session", { concurrency: false }, () => {
  test("answers for it through its owner: details, a request, the live log and a stream", async () => {
    const { a, b } = pair;
    const details = await a.api(`session/${there}`);
    assert.deepEqual(details.body, (await b.api(`session/${there}`)).body);
    assert.equal(details.body.node, "b");
    const events = await a.call(`session/${there}/events`);
    assert.match(String(events.headers.get("content-type")), /^text\/event-stream/);
    assert.deepEqual(Object.keys((await a.api(`session/${there}/query`, "Grüße")).body), ["requestId"]);
    const text = await textUntil(events, '"onIdle"');
    assert.ok(text.includes("Grüße"), text);
    const lines = text.split("\n").filter(line => line.startsWith("id: "));
    const again = await a.call(`session/${there}/events`, {
      headers: { "last-event-id": String(lines.at(-2)?.slice(4)) },
    });
    const rest = await textUntil(again, '"onIdle"');
    assert.equal(rest.split("\n").filter(line => line.startsWith("data: ")).length, 1);
    const live = await a.api(`session/${there}/live/reader`);
    assert.equal((live.body.responses as { callback: string }[])[0]?.callback, "onUserRequest");
  });

  test("joins its own logs and those of the owner in one stream", async () => {
    const { a } = pair;
    const streams = [own, there, "unknown"].map(id => ({ name: id, kind: "session", id }));
    const events = await a.call("events", { body: JSON.stringify({ streams }) });
    const idle = (id: string) => new RegExp(`stream: ${id}\nid: \\d+\ndata: [^\n]*"onIdle"`);
    await a.api(`session/${own}/query`, "hello");
    const text = await textUntil(events, idle(own), idle(there));
    assert.match(text, /stream: unknown\nevent: closed\ndata: {"error":"SessionNotFound"}/);
  });

  test("shows what works and what waits there, hears of it at once, and of two answers at once one wins", async () => {
    const { a, b, puppet } = pair;
    const asks = await b.startSession({ query: "?permissions=ask" });
    const overview = await a.call("overview/events");
    const heard = seen(async () => {
      const { body } = await a.api("permission/pending?wait=true");
      const found = body.requests as { requestId: string; sessionId: string }[];
      return found.length > 0 && found;
    });
    await b.api(`session/${asks}/query`, "@shell touch asked");
    const requests = await heard;
    assert.deepEqual(
      requests.map(({ sessionId }) => sessionId),
      [asks],
    );
    const [{ requestId = "" } = {}] = requests;
    await textUntil(overview, requestId);
    const { body } = await a.api("overview");
    const [item] = body.active as Record<string, unknown>[];
    assert.deepEqual([item?.id, item?.state, item?.node], [asks, "waiting", "b"]);
    const { sessions } = (await a.api("session/history")).body;
    const row = (sessions as Record<string, unknown>[]).find(({ sessionId }) => sessionId === asks);
    assert.deepEqual([row?.status, row?.node, row?.waitingFor], ["Busy", "b", undefined]);
    const answers = await Promise.all(
      [a, b].map(node => node.api("permission/answer", JSON.stringify({ requestId, deny: true }))),
    );
    assert.deepEqual(answers.map(answer => answer.body.error).sort(), ["RequestNotFound", undefined]);
    await textUntil(await a.call(`session/${asks}/events`), '"onPermissionResolved"', '"onIdle"');
    assert.deepEqual((await a.api("permission/pending")).body.requests, []);
    assert.equal(puppet.prompts.filter(prompt => prompt.includes("touch asked")).length, 1);
    assert.ok(
      pair.wakes.filter(wake => wake === `portal_inbox ${asks}`).length >= 2,
      "when it began and ended",
    );
  });

  test("compares a job of its own with one of the other node, as that one does", async () => {
    const { a, b, puppet } = pair;
    const [mine, other] = [await a.startJob(), await b.startJob()];
    await Promise.all(["held 1", "held 2"].map(puppet.arrived));
    const compared = async () => {
      const path = `job/${mine}/compare/${other}`;
      const [here, back] = await Promise.all([a.api(path), b.api(path)]);
      assert.deepEqual(here, back);
      const [work] = here.body.works as { runs: ({ verdict: string } | null)[] }[];
      return work?.runs.map(run => run?.verdict);
    };
    // Now both nodes know both logs as they are before the end.
    await compared();
    for (const name of ["held 1", "held 2"]) puppet.release(name);
    for (const [node, id] of [
      [a, mine],
      [b, other],
    ] as const)
      await seen(async () => (await node.api(`job/${id}/status`)).body.status === "Succeeded");
    assert.deepEqual(await compared(), ["succeeded", "succeeded"]);
  });

  test("lets nobody past its own guard", async () => {
    const { a } = pair;
    for (const headers of [{ authorization: "Bearer wrong-token-0123456789" }, { authorization: "" }])
      assert.equal((await a.call(`session/${there}`, { headers })).status, 401);
    const foreign = await a.call(`session/${there}/stop`, { headers: { origin: "https://evil.example" } });
    assert.equal(foreign.status, 403);
    const tooLarge = await a.call(`session/${there}/query`, { body: "x".repeat(2 * 1024 * 1024) });
    assert.equal(tooLarge.status, 413);
  });

  test("while its node is out of reach says so, reads from the store, and stops a job all the same", async () => {
    const { a, b, relay, puppet } = pair;
    const job = await b.startJob();
    await puppet.arrived("held 3");
    const events = await a.call(`session/${there}/events`);
    const seenSoFar = await textUntil(events, '"onIdle"');
    const follower = await a.call(`session/${there}/events?after=${lastId(seenSoFar)}`);
    relay.cut();
    assert.equal(await textUntilEnd(follower), "", "the stream ends");
    const { status, body } = await a.api(`session/${there}/query`, "hello");
    assert.deepEqual([status, body.error], [503, "NodeUnreachable"]);
    assert.match(String(body.message), /^The node b cannot be reached from here/);
    // The owner goes on, and what it writes comes from the store.
    const back = await a.call(`session/${there}/events?after=${lastId(seenSoFar)}`);
    await b.api(`session/${there}/query`, "told at b");
    assert.match(await textUntil(back, '"onIdle"'), /told at b/);
    const { responses } = (await a.api(`session/${there}/responses`)).body;
    assert.ok(JSON.stringify(responses).includes("told at b"));

    assert.deepEqual(await a.api(`job/${job}/stop`), { status: 200, body: { result: "Closed" } });
    const ended = await seen(async () => {
      const { body: row } = await b.api(`job/${job}/status`);
      return row.endTime !== undefined && row;
    });
    assert.deepEqual([ended.status, ended.node], ["Canceled", "b"]);
    assert.equal((await a.api(`job/${job}/continue`)).body.error, "NodeUnreachable");
    await relay.mend();
    assert.equal((await a.api(`session/${there}/query`, "again")).status, 200);
  });
});

describe("A node beside one that has died", { concurrency: false }, () => {
  let movable: string;
  let pinnedJob: string;

  test("ends what waits for it, even if no connection broke, and says when it is gone", async () => {
    const { a, b, relay, puppet } = pair;
    movable = await b.startSession({ folder: await pair.sharedFolder() });
    pinnedJob = await b.startJob();
    await puppet.arrived("held 4");
    await b.api(`session/${movable}/query`, "before");
    const events = await a.call(`session/${movable}/events`);
    const text = await textUntil(events, '"onIdle"');
    const follower = await a.call(`session/${movable}/events?after=${lastId(text)}`);
    // Only the token of this reader has read everything.
    await a.api(`session/${movable}/live/reader`);
    const waits = a.api(`session/${movable}/live/reader`);
    relay.freeze();
    await b.portal.kill();
    assert.equal(await textUntilEnd(follower), "");
    assert.deepEqual(await waits, { status: 200, body: { error: "HttpRequestTimeout" } });
    const gone = await seen(async () => {
      const answer = await a.api(`session/${there}/query`, "hello");
      return answer.body.error === "NodeNotRunning" && answer;
    });
    assert.equal(gone.status, 200);
    assert.match(
      String(gone.body.message),
      /^The node b is not running, and the folder of this session is there/,
    );
  });

  test("reads what is stored, and says what waits for the node", async () => {
    const { a } = pair;
    const { body } = await a.api(`session/${there}`);
    assert.deepEqual([body.status, body.node, body.waitingFor], ["Idle", "b", "b"]);
    const { responses } = (await a.api(`session/${there}/responses`)).body;
    assert.ok(JSON.stringify(responses).includes("told at b"));
    const rows = (await a.api("job/running")).body.jobs as Record<string, unknown>[];
    const row = rows.find(({ jobId }) => jobId === pinnedJob);
    assert.deepEqual([row?.status, row?.node, row?.waitingFor], ["Running", "b", "b"]);
    const { active } = (await a.api("overview")).body;
    const item = (active as Record<string, unknown>[]).find(({ id }) => id === pinnedJob);
    assert.deepEqual([item?.node, item?.waitingFor], ["b", "b"]);
    assert.equal((await a.api(`job/${pinnedJob}/retry`, "")).body.error, "NodeNotRunning");
    assert.equal((await a.api(`session/${own}/query`, "still here")).status, 200);
  });

  test("adopts what can move with the next request, and its follower gets the rest from where it was", async () => {
    const { a } = pair;
    const events = await a.call(`session/${movable}/events`);
    const before = await textUntil(events, '"onIdle"');
    const follower = await a.call(`session/${movable}/events`, {
      headers: { "last-event-id": lastId(before) },
    });
    const ended = textUntilEnd(follower);
    assert.deepEqual(Object.keys((await a.api(`session/${movable}/query`, "after")).body), ["requestId"]);
    const first = await ended;
    const rest = await textUntil(
      await a.call(`session/${movable}/events`, {
        headers: { "last-event-id": lastId(first) || lastId(before) },
      }),
      '"onIdle"',
    );
    assert.match(first + rest, /"after"/);
    assert.ok(!(first + rest).includes('"before"'), "nothing comes twice");
    assert.equal((await a.api(`session/${movable}`)).body.node, "a");
    for (const root of ["", movable])
      assert.ok(pair.wakes.includes(`portal_owner ${root}`), "that b was lost, and who has the session now");
  });

  test("gives up what waits for the node, which finds it ended when it comes back", async () => {
    const { a, b, puppet } = pair;
    assert.deepEqual((await a.api(`job/${pinnedJob}/stop`)).body, { result: "Closed" });
    assert.deepEqual((await a.api(`session/${there}/stop`)).body, { result: "Closed" });
    const [job, session] = [`job/${pinnedJob}/status`, `session/${there}`];
    assert.equal((await a.api(job)).body.status, "Canceled");
    assert.equal((await a.api(session)).body.status, "Closed");
    await pair.restartB();
    for (const node of [a, b]) {
      const row = (await node.api(job)).body;
      assert.deepEqual([row.status, row.node, row.waitingFor], ["Canceled", "b", undefined]);
      assert.deepEqual(
        [(await node.api(session)).body.status, (await node.api(session)).body.node],
        ["Closed", "b"],
      );
    }
    assert.equal(
      puppet.prompts.filter(prompt => prompt.startsWith("held")).length,
      4,
      "nothing is sent again",
    );
    // Its folder is there, so it goes on there, whoever is asked.
    assert.deepEqual((await a.api(`session/${there}/reopen`, "")).body, { sessionId: there });
    assert.equal((await b.api(session)).body.status, "Idle");
  });
});
