import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Owners, ownedOf, wantedOf } from "./proxyOwners.js";
import { wayOf } from "./proxyRouting.js";

const row = {
  root: "j",
  kind: "job" as const,
  closed: false,
  boot: "7",
  node: "b",
  movable: false,
  living: "7",
  name: "b",
  url: "http://b:1",
};

/** Nobody answers for it. */
const gone = { living: null, name: null, url: null };

const ownership = (boot: number) => ({
  boot: async () => boot,
  owns: (_root: string) => false,
});

describe("Whose a root is", () => {
  test("it is this portal's, a living node's, or nobody's", () => {
    assert.deepEqual(ownedOf(row, 7).owner, { at: "here" });
    assert.deepEqual(ownedOf(row, 8).owner, { at: "peer", peer: { name: "b", url: "http://b:1" } });
    const nobody = { at: "nobody", node: "b", isMovable: false };
    assert.deepEqual(ownedOf({ ...row, ...gone }, 8).owner, nobody, "its lease is over");
    assert.deepEqual(ownedOf({ ...row, boot: null, ...gone }, 8).owner, nobody);
    assert.deepEqual(
      ownedOf({ ...row, ...gone }, 7).owner,
      { at: "here" },
      "the lease of this portal is over",
    );
    assert.deepEqual(
      ownedOf({ ...row, living: "9" }, 9).owner,
      { at: "here" },
      "an earlier life of this node had it",
    );
    assert.deepEqual(ownedOf({ ...row, url: null }, 8).owner, nobody, "it has no address");
  });

  test("it is found by what the call names", () => {
    assert.deepEqual(wantedOf({ to: "session", param: "id" }, { id: "s" }, undefined), {
      to: "session",
      id: "s",
    });
    assert.deepEqual(wantedOf({ to: "request" }, {}, { requestId: "r" }), { to: "request", id: "r" });
    assert.equal(wantedOf({ to: "request" }, {}, undefined), undefined);
  });

  test("the store is asked once a second, and again when it is announced or wanted", async () => {
    let nowMs = 0;
    let asked = 0;
    let announce: (root: string) => void = () => {};
    const store = {
      query: async () => {
        asked++;
        return [row] as never[];
      },
      listen: (_channel: string, callback: (root: string) => void) => {
        announce = callback;
      },
    };
    const owners = new Owners({ store, ownership: ownership(8), nowMs: () => nowMs });
    const find = (anew = false) => owners.find({ to: "job", id: "j" }, { anew });
    await Promise.all([find(), find()]);
    assert.equal(asked, 1);
    nowMs = 999;
    await find();
    assert.equal(asked, 1);
    nowMs = 1000;
    await find();
    assert.equal(asked, 2);
    let heard = 0;
    const unwatch = owners.watch("j", () => heard++);
    announce("j");
    announce("other");
    assert.equal(heard, 1);
    announce("");
    assert.equal(heard, 2, "an announcement without an id may mean any root");
    unwatch();
    announce("j");
    assert.equal(heard, 2);
    await find();
    assert.equal(asked, 3);
    await find(true);
    assert.equal(asked, 4);
  });

  test("what this portal has just adopted is its own, whatever was remembered", async () => {
    const mine: string[] = [];
    const store = { query: async () => [{ ...row, ...gone }] as never[], listen: () => {} };
    const owns = (root: string) => mine.includes(root);
    const owners = new Owners({ store, ownership: { ...ownership(8), owns } });
    const find = async () => (await owners.find({ to: "job", id: "j" }))?.owner.at;
    assert.equal(await find(), "nobody");
    mine.push("j");
    assert.equal(await find(), "here");
  });

  test("what does not exist, and an error, are not remembered", async () => {
    const answers = [async () => [], async () => Promise.reject(new Error("away")), async () => [row]];
    const store = { query: async () => ((await answers.shift()?.()) ?? []) as never[], listen: () => {} };
    const owners = new Owners({ store, ownership: ownership(7) });
    const find = () => owners.find({ to: "job", id: "j" });
    assert.equal(await find(), undefined);
    await assert.rejects(find(), /away/);
    assert.equal((await find())?.owner.at, "here");
    assert.equal(await owners.find({ to: "job", id: "a\0b" }), undefined, "no row has such an id");
  });
});

describe("What becomes of a call", () => {
  const here = { at: "here" } as const;
  const peer = { at: "peer", peer: { name: "b", url: "http://b:1" } } as const;
  const nobody = (node: string, isMovable: boolean) => ({ at: "nobody", node, isMovable }) as const;
  const acts = { fromStore: false, whenClosed: false };
  const reads = { fromStore: true, whenClosed: true };
  const live = { fromStore: true, whenClosed: false };
  const open = { root: { id: "r", kind: "session" }, isClosed: false } as const;
  const closed = { ...open, isClosed: true };
  const asked = { node: "a", wasSentOn: false };
  const sent = { node: "a", wasSentOn: true };

  for (const [name, place, owned, from, expected] of [
    ["what does not exist is answered here", acts, undefined, asked, "here"],
    ["what this node owns is answered here", acts, { ...open, owner: here }, asked, "here"],
    ["what another node owns is sent to it", acts, { ...open, owner: peer }, asked, "peer"],
    ["so is a read of it", reads, { ...open, owner: peer }, asked, "peer"],
    ["a read of what is closed comes from the store", reads, { ...closed, owner: peer }, asked, "store"],
    ["a cursor stays with its owner", live, { ...closed, owner: peer }, asked, "peer"],
    ["nothing is sent on twice", acts, { ...open, owner: peer }, sent, "sender"],
    [
      "a read of what nobody owns comes from the store",
      reads,
      { ...open, owner: nobody("b", false) },
      asked,
      "store",
    ],
    ["so does the next response", live, { ...open, owner: nobody("b", true) }, asked, "store"],
    ["what can move is adopted by a write", acts, { ...open, owner: nobody("b", true) }, asked, "adopt"],
    ["what cannot move waits for its node", acts, { ...open, owner: nobody("b", false) }, asked, "nowhere"],
    ["and is used at its node", acts, { ...open, owner: nobody("a", false) }, asked, "here"],
  ] as const) {
    test(name, () => assert.equal(wayOf(place, owned, from).to, expected));
  }
});
