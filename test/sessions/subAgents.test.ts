import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  byPrompt,
  callTool,
  fault,
  runShell,
  type Script,
  type Step,
} from "../support/model/scriptedModel.js";
import { sharedRuntime } from "../support/portal/session.js";

const benchOf = sharedRuntime();
const delegate = (prompt: string, mode: "sync" | "background" = "sync") =>
  callTool("task", { name: "helper", prompt, agent_type: "general-purpose", description: "Help", mode });

/** The sub-agent's request carries its own prompt, so one script serves both agents. */
function script(inner: Step[][], mode?: "sync" | "background"): Script {
  return byPrompt({
    delegate: [
      [delegate("do the inner work", mode)],
      request =>
        request.reason === "notification" ? [{ text: "it has finished" }] : [{ text: "told the user" }],
    ],
    "inner work": inner,
  });
}

describe("a sub-agent", { concurrency: 3 }, () => {
  test("a sub-agent's text appears as output of the tool that started it, with its own tools below", async t => {
    const inner = [
      [{ text: "I look around." }, runShell("echo found")],
      [{ text: "It is there.", chunkSize: 4 }],
    ];
    const bench = await benchOf(t, script(inner));
    const { session, record } = await bench.start();
    await session.sendRequest("delegate");
    record.check(1);
    const [task, shell] = record.tools;
    assert.equal(task?.name, "task");
    assert.match(task?.streamed ?? "", /^I look around\./, "its last text may come with the result");
    assert.equal(task?.result?.content, "It is there.");
    assert.equal(
      task?.result?.detailedContent,
      "I look around.\n\nIt is there.",
      "the same holds for a late reader",
    );
    assert.deepEqual([shell?.name, shell?.parent], ["bash", task?.id]);
    assert.match(shell?.result?.content ?? "", /^found/);
    assert.deepEqual(
      record.messages.map(({ content }) => content),
      ["told the user"],
    );
    assert.equal(record.usages[0]?.modelCalls, 4, "its calls are part of the request");
  });

  test("a background sub-agent may outlive its tool, and the request waits for it", async t => {
    const bench = await benchOf(
      t,
      script([[runShell("echo found")], [{ text: "It is there." }]], "background"),
    );
    const { session, record } = await bench.start();
    await session.sendRequest("delegate");
    record.check(1);
    const [task, shell] = record.tools;
    assert.match(task?.result?.content ?? "", /background/);
    assert.deepEqual([shell?.name, shell?.parent], ["bash", task?.id]);
    assert.match(shell?.result?.content ?? "", /^found/);
    assert.deepEqual(
      record.messages.map(({ content }) => content),
      ["told the user", "it has finished"],
    );
  });

  test("a failing sub-agent fails its tool, not the request", async t => {
    const bench = await benchOf(t, script([[fault.http(400)]]));
    const { session, record } = await bench.start();
    await session.sendRequest("delegate");
    record.check(1);
    assert.ok(record.tools[0]?.error ?? record.tools[0]?.result, "the tool says what happened");
    assert.equal(record.messages.at(-1)?.content, "told the user");
  });
});
