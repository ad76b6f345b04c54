import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LiveResponse } from "./callbacks.js";
import { blockPartOf } from "./liveResponse.js";
import { storedResponse, writtenForm } from "./storedResponse.js";

describe("A response read from the store", () => {
  test("a response is typed when its callback is known and its arguments are present", () => {
    const known: LiveResponse[] = [
      { callback: "onUserRequest", requestId: "r", prompt: "p" },
      { callback: "onIdle" },
      { callback: "onUsage", used: 1, size: 2 },
      { callback: "workStarted", workId: 0, taskId: "t", time: 1 },
      { sessionError: "broken" },
    ];
    for (const response of known) assert.equal(storedResponse(response), response);
  });

  test("a response keeps arguments that this version does not know", () => {
    const newer = { callback: "onIdle", mood: "good" };
    assert.equal(storedResponse(newer), newer);
  });

  test("a response is passed on unchanged when this version does not know it", () => {
    const strange = [
      { callback: "somethingNew", value: 1 },
      { callback: "__proto__" },
      { callback: "constructor" },
      { callback: 7 },
      { callback: "onStartMessage" },
      { callback: "onMessage", messageId: "m", delta: 7 },
      { callback: "onPlan", entries: "none" },
      {
        callback: "onPermissionRequest",
        requestId: "r",
        title: "t",
        kind: "other",
        detail: null,
        options: [],
      },
      { sessionError: 7 },
      {},
    ];
    for (const written of strange) {
      const response = storedResponse(written);
      assert.equal(response.callback, undefined);
      assert.deepEqual(Object.keys(response), ["foreign"], JSON.stringify(written));
      assert.equal(writtenForm(response), written);
      assert.equal(blockPartOf(response), undefined);
    }
  });
});

test("An unknown callback or a wrong argument does not compile", () => {
  const wrong: LiveResponse[] = [
    // @ts-expect-error a misspelt callback
    { callback: "onIddle" },
    // @ts-expect-error a missing argument
    { callback: "onStartMessage" },
    // @ts-expect-error a misspelt argument
    { callback: "onMessage", messageId: "m", delta: "", mesage: "" },
    // @ts-expect-error an argument of a wrong type
    { callback: "workStarted", workId: "0", taskId: "t" },
    // @ts-expect-error a misspelt error
    { sesionError: "broken" },
  ];
  // The compiler rejects them; at run time all but the one with an extra argument are foreign.
  const known = wrong.filter(response => !("foreign" in storedResponse(response)));
  assert.equal(known.length, 1);
});
