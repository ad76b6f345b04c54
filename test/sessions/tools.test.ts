import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { jobToolNames } from "../../src/sessions/jobTools.js";
import { byPrompt, callTool, runShell } from "../support/model/scriptedModel.js";
import { sharedRuntime } from "../support/portal/session.js";

const benchOf = sharedRuntime();
const done = [{ text: "done" }];

describe("a tool", { concurrency: 3 }, () => {
  test("a tool called without text appears as a block, without an empty message", async t => {
    const bench = await benchOf(t, byPrompt({ look: [[callTool("view", { path: "notes.txt" })], done] }));
    await writeFile(join(bench.folder, "notes.txt"), "remember the milk");
    const { session, record } = await bench.start();
    await session.sendRequest("look");
    record.check(1);
    const [tool] = record.tools;
    assert.deepEqual([tool?.name, tool?.args, tool?.parent], ["view", { path: "notes.txt" }, undefined]);
    assert.equal(tool?.error, undefined);
    assert.deepEqual(
      record.messages.map(({ content }) => content),
      ["done"],
    );
    assert.equal(record.usages[0]?.modelCalls, 2, "usage covers the whole request");
  });

  test("tools run in parallel, each with its own result", async t => {
    const toolCalls = ["one", "two", "three"].map(word => ({
      name: "bash",
      arguments: { command: `echo ${word}`, description: word },
    }));
    const bench = await benchOf(t, byPrompt({ go: [[{ toolCalls }], done] }));
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    record.check(1);
    const results = record.tools.map(({ args, result }) => [
      (args as { description: string }).description,
      result?.content.split("\n")[0],
    ]);
    assert.deepEqual(results, [
      ["one", "one"],
      ["two", "two"],
      ["three", "three"],
    ]);
  });

  test("a tool that does not exist ends with an error, and the agent continues", async t => {
    const bench = await benchOf(t, byPrompt({ go: [[callTool("no_such_tool", {})], done] }));
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    record.check(1);
    assert.equal(record.tools[0]?.name, "no_such_tool");
    assert.match(record.tools[0]?.error?.message ?? "", /no_such_tool/);
    assert.equal(record.messages[0]?.content, "done");
  });

  test("a tool called with broken arguments ends with an error, and the agent continues", async t => {
    const bench = await benchOf(t, byPrompt({ go: [[callTool("view", '{"path": ')], done] }));
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    record.check(1);
    assert.ok(record.tools[0]?.error?.message);
    assert.equal(record.messages[0]?.content, "done");
  });

  test("a running tool streams its output, which is the beginning of its result", async t => {
    const bench = await benchOf(
      t,
      byPrompt({ go: [[runShell("echo; echo one; sleep 0.7; echo two; false")], done] }),
    );
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    record.check(1);
    const [tool] = record.tools;
    assert.match(tool?.streamed ?? "", /^one\n/);
    assert.match(tool?.result?.content ?? "", /^one\ntwo\n.*exit code 1/);
    assert.equal(tool?.error, undefined, "a failing command is a result");
    assert.equal(tool?.result?.detailedContent, undefined, "nothing is sent twice");
  });

  test("a long output arrives whole and begins with what was streamed", async t => {
    const command = "for i in 1 2 3 4; do seq 1 2500; sleep 0.3; done; echo the end";
    const bench = await benchOf(t, byPrompt({ go: [[runShell(command)], done] }));
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    record.check(1);
    const [tool] = record.tools;
    assert.ok((tool?.result?.content.length ?? 0) > 40_000);
    assert.match(tool?.result?.content ?? "", /\nthe end\n/);
    assert.ok((tool?.streamed.length ?? 0) > 5000);
    assert.ok(tool?.result?.detailedContent === undefined, "nothing is sent twice");
  });

  test("an output too long for the conversation is saved in its folder", async t => {
    const bench = await benchOf(t, byPrompt({ go: [[runShell("seq 1 50000")], done] }));
    const toolOutputDirectory = join(bench.folder, "tool-output");
    const { session, record } = await bench.start({ toolOutputDirectory });
    await session.sendRequest("go");
    record.check(1);
    const content = record.tools[0]?.result?.content ?? "";
    assert.ok(content.includes(toolOutputDirectory), content);
  });

  test("a reused tool call id makes a new block", async t => {
    const call = (word: string) => ({
      toolCalls: [{ id: "call_0", name: "job_boolean_true", arguments: { argument: word } }],
    });
    const bench = await benchOf(t, byPrompt({ go: [[call("first")], [call("second")], done] }));
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    record.check(1);
    assert.deepEqual(
      record.tools.map(({ result }) => result?.content),
      ["first", "second"],
    );
  });

  test("a job tool returns its argument to the agent, and says what is wrong with a bad one", async t => {
    const reports = jobToolNames.map(name => callTool(name, { argument: `told by ${name}` }));
    const bench = await benchOf(
      t,
      byPrompt({ go: [reports, done], wrong: [[callTool("job_boolean_true", { reason: "x" })], done] }),
    );
    const { session, record } = await bench.start();
    await session.sendRequest("go");
    assert.deepEqual(
      record.tools.map(({ name, result }) => [name, result?.content]),
      jobToolNames.map(name => [name, `told by ${name}`]),
    );
    const told = bench.model.requests.at(-1)?.request.toolResults.map(({ content }) => content);
    assert.deepEqual(told?.sort(), jobToolNames.map(name => `told by ${name}`).sort());
    assert.deepEqual(
      jobToolNames.filter(name => !bench.model.requests[0]?.request.tools.includes(name)),
      [],
    );
    await session.sendRequest("wrong");
    record.check(2);
    assert.match(record.tools.at(-1)?.error?.message ?? "", /argument/);
  });
});
