import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { byPrompt, failFirst, fault, type Step } from "../support/model/scriptedModel.js";
import { sharedRuntime } from "../support/portal/session.js";

const benchOf = sharedRuntime();
const recovered = [{ text: "here it is" }];

/** Sends a request to a provider that fails each time; the session must be usable afterwards. */
async function failsEachTime(t: TestContext, steps: Step[], message: RegExp) {
  const bench = await benchOf(t, byPrompt({ go: steps }));
  const { session, record } = await bench.start();
  const failure = { name: "SessionCrashedError", kind: "turn-failed", message };
  await assert.rejects(session.sendRequest("go"), failure);
  record.check(1);
  await session.sendRequest("hello");
  record.check(2);
  assert.equal(record.messages.at(-1)?.content, "You said: hello");
  return { record, attempts: bench.model.requests.length - 1, model: bench.model };
}

/** Sends a request to a provider that fails once: the runtime retries, and the user sees one whole answer. */
async function failsOnce(t: TestContext, failure: Step[]) {
  const bench = await benchOf(t, byPrompt({ go: failFirst(1, failure, recovered) }));
  const { session, record } = await bench.start();
  await session.sendRequest("go");
  record.check(1);
  assert.equal(record.messages.at(-1)?.content, "here it is");
  assert.equal(record.messages.at(-1)?.interrupted, false);
  assert.equal(record.notices.length, 1);
  assert.equal(bench.model.requests.length, 2);
  return record;
}

describe("a request to a failing provider", { concurrency: 6 }, () => {
  test("a refusal (400) fails the request at once", async t => {
    const { record, attempts } = await failsEachTime(t, [fault.http(400)], /scripted 400/);
    assert.equal(attempts, 1);
    assert.deepEqual(record.notices, [], "nothing is retried");
  });

  test("a refused key (401) fails the request without naming keys or addresses", async t => {
    const { record, attempts, model } = await failsEachTime(
      t,
      [fault.http(401)],
      /Check the key of the provider/,
    );
    assert.equal(attempts, 3);
    assert.equal(record.notices.length, 2);
    const shown = JSON.stringify(record.calls);
    assert.ok(!shown.includes("COPILOT_PROVIDER"));
    assert.ok(!shown.includes(model.apiKey));
  });

  test("a permanent overload (429) fails the request after the retries", async t => {
    const { record, attempts } = await failsEachTime(
      t,
      [fault.http(429, { "retry-after": "1" })],
      /429|rate/i,
    );
    assert.equal(attempts, 6);
    assert.equal(record.notices.length, 5);
    assert.match(record.notices[0] ?? "", /The provider answered 429, trying again/);
  });

  test("the request is retried after one overload (429)", async t => {
    await failsOnce(t, [fault.http(429, { "retry-after": "1" })]);
  });

  test("a permanent server error (500) fails the request after the retries", async t => {
    const { attempts } = await failsEachTime(t, [fault.http(500)], /500/);
    assert.equal(attempts, 6);
  });

  test("the request is retried after one server error (500)", async t => {
    const record = await failsOnce(t, [fault.http(500)]);
    assert.match(record.notices[0] ?? "", /The provider answered 500, trying again/);
  });

  test("the request is retried after a cut stream, and the cut message is marked", async t => {
    const record = await failsOnce(t, [{ text: "here it" }, fault.destroy]);
    assert.deepEqual(
      record.messages.map(({ content, interrupted }) => [content, interrupted]),
      [
        ["here it", true],
        ["here it is", false],
      ],
    );
  });

  test("the request is retried after a stream is cut mid-reasoning, and the cut block is marked", async t => {
    const record = await failsOnce(t, [{ reasoning: "hmm" }, fault.destroy]);
    assert.deepEqual(
      record.reasoning.map(({ content, interrupted }) => [content, interrupted]),
      [["hmm", true]],
    );
  });

  test("the request is retried after a stream is cut mid-tool-call, and the tool does not run", async t => {
    const record = await failsOnce(t, fault.cutToolArguments("bash"));
    assert.deepEqual(record.tools, []);
  });

  test("the request is retried after a malformed stream", async t => {
    await failsOnce(t, [{ text: "here" }, fault.malformedChunk]);
  });

  test("the request is retried after an error inside the stream", async t => {
    await failsOnce(t, [{ text: "here" }, fault.sseError]);
  });

  test("the request is retried after a stream that ends without a finish", async t => {
    await failsOnce(t, [{ text: "here" }, fault.endWithoutFinish]);
  });

  test("a provider whose streams never finish fails the request after the retries", async t => {
    const { attempts, record } = await failsEachTime(t, [{ text: "here" }, fault.endWithoutFinish], /./);
    assert.equal(attempts, 6);
    assert.equal(record.messages.filter(({ interrupted }) => interrupted).length, 6);
  });

  test("an empty answer fails the request", async t => {
    await failsEachTime(t, [{ text: "" }], /no response/i);
  });
});
