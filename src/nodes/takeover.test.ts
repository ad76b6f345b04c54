import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chooseRoots, type FreeRoot, type Taker } from "./takeover.js";

const free = (root: string, more: Partial<FreeRoot> = {}): FreeRoot => ({
  root,
  kind: "job",
  boot: 1,
  node: "a",
  needs: "same",
  takeovers: 0,
  progress: 0,
  ended: 0,
  ...more,
});
const taker: Taker = { settings: "same", freePlaces: 2 };
const names = (roots: FreeRoot[], by = taker) => chooseRoots(roots, by).map(({ root }) => root);

describe("Whatever a lost node has left", () => {
  test("a node takes as many jobs as it has places for, and all that only has to end", () => {
    const roots = [
      free("s", { kind: "session" }),
      free("1"),
      free("2"),
      free("3"),
      free("r", { kind: "run" }),
    ];
    assert.deepEqual(names(roots), ["s", "1", "2", "r"]);
    assert.deepEqual(names(roots, { ...taker, freePlaces: 0 }), ["s", "r"]);
    assert.deepEqual(names(roots, { ...taker, freePlaces: -1 }), ["s", "r"]);
  });

  test("a node with other models, agents or folders leaves it to the others, and takes no place for it", () => {
    const roots = [free("1", { needs: "other" }), free("2"), free("3"), free("4", { needs: null })];
    assert.deepEqual(names(roots, { ...taker, freePlaces: 3 }), ["2", "3", "4"]);
  });
});

describe("A job that is taken over again and again", () => {
  for (const [what, before, after] of [
    ["is counted when its node was lost", {}, { takeovers: 1, progress: 0, isPoison: false }],
    [
      "is not counted when its node has handed it over",
      { boot: null },
      { takeovers: 0, progress: 0, isPoison: false },
    ],
    ["goes on after the fourth time", { takeovers: 3 }, { takeovers: 4, progress: 0, isPoison: false }],
    ["ends after the fifth time", { takeovers: 4 }, { takeovers: 5, progress: 0, isPoison: true }],
    [
      "goes on when a task has ended in between",
      { takeovers: 4, progress: 2, ended: 3 },
      { takeovers: 1, progress: 3, isPoison: false },
    ],
    [
      "ends when the same tasks have ended as before",
      { takeovers: 4, progress: 3, ended: 3 },
      { takeovers: 5, progress: 3, isPoison: true },
    ],
  ] as const) {
    test(what, () => {
      const [taken] = chooseRoots([free("1", before)], taker);
      assert.ok(taken);
      const { takeovers, progress, isPoison } = taken;
      assert.deepEqual({ takeovers, progress, isPoison }, after);
    });
  }

  test("needs no place to end, and a session never ends so", () => {
    const none = { ...taker, freePlaces: 0 };
    assert.deepEqual(names([free("1", { takeovers: 4 })], none), ["1"]);
    const [session] = chooseRoots([free("s", { kind: "session", takeovers: 9 })], none);
    assert.equal(session?.isPoison, false);
  });
});
