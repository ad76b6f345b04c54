import assert from "node:assert/strict";
import { test } from "node:test";
import { startAcp, textOf, toolUpdates } from "../support/acp/acpClient.js";
import { type EntryOfTest, portalWithEntry, task } from "../support/jobs/jobs.js";

const criteria = { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 2 } };
const cancelled = { stopReason: "cancelled" };
const ended = { stopReason: "end_turn" };

const model = { category: "driving" };
const entry: EntryOfTest = {
  tasks: {
    greet: { prompt: ["Say hello to $user-input"], model },
    checked: { prompt: ["@call job_boolean_true fine", "Check it"], model, criteria },
    never: { prompt: ["Do not check it"], model, criteria },
    held: { prompt: ["@wait $user-input", "Wait"], model },
    broken: { prompt: ["@crash", "Break"], model },
  },
  jobs: {
    both: { work: { kind: "Par", works: [task("checked"), task("greet")] } },
    failing: { work: { kind: "Seq", works: [task("checked"), task("never")] } },
    held: { work: task("held") },
  },
};

test("Tasks and jobs run from an editor", async t => {
  const { portal, puppet, model: scripted, workingDirectory } = await portalWithEntry(t, entry);
  const args = ["--server", portal.url];
  const editor = await startAcp(t, { args });
  const open = async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const said = () => textOf(editor.updates(sessionId), "agent_message_chunk");
    const thoughts = () => textOf(editor.updates(sessionId), "agent_thought_chunk");
    return { sessionId, said, thoughts };
  };

  await t.test("tasks and jobs are advertised and listed by name", async () => {
    const { sessionId, said } = await open();
    const update = await editor.waitFor(({ sessionUpdate }) => sessionUpdate === "available_commands_update");
    assert.match(JSON.stringify(update), /"task".*"job".*"tasks".*"jobs"/);
    assert.deepEqual(await editor.prompt(sessionId, "/tasks"), ended);
    assert.match(said(), /`\/task greet INPUT`.*`\/task checked`/s);
    assert.deepEqual(await editor.prompt(sessionId, "/jobs"), ended);
    assert.match(said(), /`\/job both INPUT`.*`\/job held INPUT`/s);
    assert.equal(scripted.requests.length, 0, "no agent was asked");
  });

  await t.test("a task that meets its criteria succeeds in the editor's session", async () => {
    const { sessionId, said, thoughts } = await open();
    assert.deepEqual(await editor.prompt(sessionId, "/task checked"), ended);
    const tools = toolUpdates(editor.updates(sessionId));
    const [work] = tools.filter(({ title }) => title === "Task checked");
    assert.equal(work?.status, "in_progress");
    const ends = tools.filter(({ toolCallId, status }) => toolCallId === work?.toolCallId && status);
    assert.equal(ends.at(-1)?.status, "completed");
    assert.ok(
      tools.some(({ name }) => name === "job_boolean_true"),
      "the agent's work is shown",
    );
    assert.match(said(), /Task checked succeeded\.$/);
    assert.match(thoughts(), /\[CRITERIA\]|\[TASK/);
    assert.deepEqual(await editor.prompt(sessionId, "what did you do?"), ended);
    const { request } = await scripted.waitForRequest(({ userText }) =>
      userText.includes("what did you do?"),
    );
    assert.match(JSON.stringify(request.body.messages), /Check it/, "the session remembers the task");
  });

  await t.test("a task that misses its criteria fails, with each decision as a thought", async () => {
    const { sessionId, said, thoughts } = await open();
    assert.deepEqual(await editor.prompt(sessionId, "/task never"), ended);
    assert.match(said(), /Task never failed/);
    assert.match(thoughts(), /job_boolean_true/);
    assert.deepEqual(await editor.prompt(sessionId, "/task broken"), ended);
    assert.match(said(), /Task broken failed/);
  });

  await t.test("a mistyped command is explained instead of failing", async () => {
    const { sessionId, said } = await open();
    for (const [text, answer] of [
      ["/task", /The tasks of the portal.*greet/s],
      ["/task nothing", /no such task.*greet/s],
      ["/task ../../x", /no such task/],
      ["/job", /The jobs of the portal.*both/s],
      ["/job nothing at all", /no such job.*both/s],
      ["/task greet", /needs an input.*\/task greet INPUT/s],
      ["/job held", /needs an input.*\/job held INPUT/s],
    ] as const) {
      const before = said().length;
      assert.deepEqual(await editor.prompt(sessionId, text), ended, text);
      assert.match(said().slice(before), answer);
    }
  });

  await t.test("a job shows each of its works and ends with its result", async () => {
    const { sessionId, said, thoughts } = await open();
    assert.deepEqual(await editor.prompt(sessionId, "/job both the world\nand you"), ended);
    const tools = toolUpdates(editor.updates(sessionId));
    const started = tools.filter(({ sessionUpdate }) => sessionUpdate === "tool_call");
    assert.deepEqual(started.map(({ title }) => title).toSorted(), ["checked", "greet"]);
    for (const { toolCallId } of started) {
      const own = tools.filter(update => update.toolCallId === toolCallId);
      assert.equal(own.findLast(({ status }) => status)?.status, "completed");
      assert.match(JSON.stringify(own.map(({ content }) => content)), /Done\./);
    }
    assert.match(thoughts(), /checked: \[/);
    assert.match(said(), /Job both succeeded\.\n\n\[What it did\]\(http.*jobTracking/);
    assert.ok(puppet.prompts.includes("Say hello to the world\nand you"));
  });

  await t.test("a failed job says so", async () => {
    const { sessionId, said } = await open();
    assert.deepEqual(await editor.prompt(sessionId, "/job failing"), ended);
    assert.match(said(), /Job failing failed\./);
    const statuses = toolUpdates(editor.updates(sessionId)).flatMap(({ status }) => status ?? []);
    assert.deepEqual(statuses, ["in_progress", "completed", "in_progress", "failed"]);
  });

  await t.test("cancel stops the job and everything it runs", async () => {
    const { sessionId } = await open();
    const running = editor.prompt(sessionId, "/job held job-gate");
    await puppet.arrived("job-gate");
    const turn = await scripted.waitForRequest(({ userText }) => userText.includes("@wait job-gate"));
    await editor.cancel(sessionId);
    assert.deepEqual(await running, cancelled);
    assert.equal(await turn.end, "hungUp");
    const { body } = await portal.api<{ jobs: { status: string }[] }>("copilot/job/history?search=job-gate");
    assert.deepEqual(
      body.jobs.map(({ status }) => status),
      ["Canceled"],
    );
    assert.equal(toolUpdates(editor.updates(sessionId)).at(-1)?.status, "failed");
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
  });

  await t.test("cancel ends a task with all its attempts", async () => {
    const { sessionId } = await open();
    const running = editor.prompt(sessionId, "/task held task-gate");
    await puppet.arrived("task-gate");
    const turn = await scripted.waitForRequest(({ userText }) => userText.includes("@wait task-gate"));
    await editor.cancel(sessionId);
    assert.deepEqual(await running, cancelled);
    assert.equal(await turn.end, "hungUp");
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
  });
});
