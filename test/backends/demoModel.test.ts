import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CopilotClient, defineTool, type SessionConfig, type SessionEvent } from "@github/copilot-sdk";
import { pino } from "pino";
import { isAssignment } from "../../src/backends/demo/assignments.js";
import { type DemoModel, startDemoModel } from "../../src/backends/demo/demoModel.js";
import { topicOf } from "../../src/backends/demo/topics.js";
import { wishOf } from "../../src/backends/demo/wishes.js";
import { entry } from "../../src/jobsData.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { eventsOf, messageOf, runTurn, startBareSession, startRuntime } from "../support/portal/runtime.js";

const jobToolNames = [
  "job_prepare_document",
  "job_boolean_true",
  "job_boolean_false",
  "job_prerequisite_failed",
];

const parameters = {
  type: "object",
  properties: { argument: { type: "string" } },
  required: ["argument"],
} as const;

/** The job tools of a portal session; each returns its argument. */
const jobTools = jobToolNames.map(name =>
  defineTool<{ argument: string }>(name, {
    description: "Reports to a task",
    parameters,
    handler: ({ argument }) => argument,
  }),
);

function toolCalls(events: readonly SessionEvent[]) {
  const results = new Map(
    eventsOf(events, "tool.execution_complete").map(event => [event.data.toolCallId, event.data]),
  );
  return eventsOf(events, "tool.execution_start").map(({ data }) => ({
    name: data.toolName,
    arguments: data.arguments as Record<string, string>,
    success: results.get(data.toolCallId)?.success,
    content: results.get(data.toolCallId)?.result?.content ?? "",
  }));
}

function reportsOf(events: readonly SessionEvent[]) {
  return toolCalls(events)
    .filter(call => call.name.startsWith("job_"))
    .map(call => [call.name, call.arguments.argument] as const);
}

test("the demo model shows what the portal can do on the real runtime", async t => {
  const model = await startDemoModel({ log: pino({ level: "silent" }), pace: { chunkSize: 40, delayMs: 0 } });
  defer(t, () => model.close());
  const client = await startRuntime(t);
  for (const [promise, keep] of Object.entries(promises)) {
    await t.test(promise, async t => keep(t, await newSession(t, client, model)));
  }
});

function builtIn(task: string): string {
  return entry.tasks[task]?.prompt.join("\n").replace("$user-input", "Add a --version option") ?? "";
}

type Talk = Awaited<ReturnType<typeof newSession>>;

async function newSession(t: TestContext, client: CopilotClient, model: DemoModel) {
  const folder = await tempFolder(t);
  await writeFile(join(folder, "README.md"), "# A project\n\nIt has ```fences``` inside.\n");
  const start = async (config: Partial<SessionConfig> = {}) => {
    const session = await startBareSession(client, model, {
      model: "demo",
      workingDirectory: folder,
      tools: jobTools,
      ...config,
    });
    defer(t, () => session.disconnect());
    return (prompt: string) => runTurn(session, prompt);
  };
  return { folder, start, ask: await start() };
}

const promises: Record<string, (t: TestContext, talk: Talk) => Promise<void>> = {
  "the demo model says that it is a demo, reasons, and answers about the portal in Markdown": async (
    _t,
    { ask },
  ) => {
    const events = await ask("What is the portal?");
    assert.match(messageOf(events), /^## Copilot Portal/);
    assert.match(messageOf(events), /I am the demo model: a script/);
    assert.ok(eventsOf(events, "assistant.reasoning_delta").length > 0);
    assert.ok(eventsOf(events, "assistant.message_delta").length > 5);
    const second = messageOf(await ask("How do I sign in or bring my own key?"));
    assert.match(second, /GH_TOKEN/);
    assert.match(second, /COPILOT_PROVIDER_BASE_URL/);
    assert.match(second, /Demo model: a scripted reply/);
  },

  "the demo model lists the files of the working directory with a real tool": async (_t, { ask, folder }) => {
    const events = await ask("list the files");
    const [call] = toolCalls(events);
    assert.deepEqual([call?.name, call?.arguments.path, call?.success], ["view", folder, true]);
    assert.match(messageOf(events), /- `README.md`/);
  },

  "the demo model reads a file and quotes it safely, whatever it contains": async (_t, { ask }) => {
    const events = await ask("Please read README.md");
    assert.deepEqual(
      toolCalls(events).map(call => call.content),
      ["# A project\n\nIt has ```fences``` inside.\n"],
    );
    assert.match(messageOf(events), /````\n# A project/);
  },

  "the demo model says when a file does not exist": async (_t, { ask }) => {
    const events = await ask("read none.txt");
    assert.equal(toolCalls(events)[0]?.success, false);
    assert.match(messageOf(events), /does not exist/);
  },

  "the demo model runs harmless commands and no others": async (_t, { ask, folder }) => {
    const ran = await ask("run pwd");
    assert.deepEqual(
      toolCalls(ran).map(call => [call.name, call.arguments.command]),
      [["bash", "pwd"]],
    );
    assert.match(messageOf(ran), new RegExp(`\n${folder}\n`));
    const refused = await ask("run rm -rf .");
    assert.deepEqual(toolCalls(refused), []);
    assert.match(messageOf(refused), /only commands that change nothing/);
    assert.deepEqual(await readdir(folder), ["README.md"]);
  },

  "the demo model writes a file only on request, and never overwrites another": async (
    _t,
    { ask, folder },
  ) => {
    await ask("How do I write a file?");
    assert.deepEqual(await readdir(folder), ["README.md"]);
    const events = await ask("Create a demo file");
    assert.deepEqual(
      toolCalls(events).map(call => [call.name, call.success]),
      [["create", true]],
    );
    assert.match(await readFile(join(folder, "portal-demo.md"), "utf8"), /demo model/);
    const again = await ask("write README.md");
    assert.equal(toolCalls(again)[0]?.success, false);
    assert.match(await readFile(join(folder, "README.md"), "utf8"), /A project/);
  },

  "the demo model lets a sub-agent look around": async (_t, { ask }) => {
    const events = await ask("use a sub-agent");
    const calls = toolCalls(events).map(call => [call.name, call.success]);
    assert.deepEqual(calls.sort(), [
      ["task", true],
      ["view", true],
    ]);
    assert.equal(eventsOf(events, "subagent.completed").length, 1);
    assert.match(messageOf(events), /sub-agent reported:[\s\S]*README\.md/);
  },

  "the demo model answers an unknown request with a list of what it can do": async (_t, { ask }) => {
    assert.match(messageOf(await ask("Compose a sonnet")), /only a demo[\s\S]*list the files/);
  },

  "a task of a job is looked at, left undone, and said to be left undone by a script": async (
    _t,
    { ask, folder },
  ) => {
    const events = await ask(builtIn("plan-feature"));
    assert.deepEqual(
      toolCalls(events).map(call => [call.name, call.success]),
      [
        ["view", true],
        ["bash", true],
        ["job_prerequisite_failed", true],
      ],
    );
    assert.match(messageOf(events), /^I am a script, so nothing was done about this:/);
    assert.deepEqual(await readdir(folder), ["README.md"]);
  },

  "a condition is never met, and the reason is that a script cannot judge it": async (_t, { ask }) => {
    for (const prompt of [
      "Verify the change. Call job_boolean_true when all tests pass, otherwise job_boolean_false.",
      builtIn("checks-pass"),
    ]) {
      const [report, ...more] = reportsOf(await ask(prompt));
      assert.equal(report?.[0], "job_boolean_false");
      assert.match(report?.[1] ?? "", /is a script: it cannot do or judge this/);
      assert.deepEqual(more, []);
    }
  },

  "the demo model uses no tokens": async (_t, { ask }) => {
    const used = eventsOf(await ask("hello"), "assistant.usage").map(({ data }) => data);
    assert.ok(used.length > 0);
    for (const { inputTokens, outputTokens } of used) assert.deepEqual([inputTokens, outputTokens], [0, 0]);
  },

  "a tool that ends the turn is enough of a report": async (_t, { start }) => {
    const ask = await start({ tools: jobTools.map(tool => ({ ...tool, isTerminal: true })) });
    const events = await ask("Call job_prerequisite_failed now.");
    assert.deepEqual(
      reportsOf(events).map(([name]) => name),
      ["job_prerequisite_failed"],
    );
    assert.equal(eventsOf(events, "session.error").length, 0);
  },

  "the demo model reports even when it has no other tools": async (_t, { start }) => {
    const ask = await start({ availableTools: [] });
    const events = await ask("Is it done? Call job_boolean_true or job_boolean_false.");
    assert.deepEqual(
      toolCalls(events).map(call => call.name),
      ["job_boolean_false"],
    );
  },

  "the demo model says when it lacks a tool that it needs": async (_t, { start }) => {
    const ask = await start({ availableTools: [] });
    assert.match(messageOf(await ask("list the files")), /needs `view`, which this session does not offer/);
  },
};

test("a question about a job tool is not taken for an order", () => {
  assert.equal(isAssignment("What is job_boolean_true?"), false);
  assert.equal(isAssignment("Which is right? Call job_boolean_true or job_boolean_false."), true);
});

test("the demo model recognises wishes by their wording", () => {
  assert.deepEqual(wishOf("what is in this folder?"), { kind: "list" });
  assert.deepEqual(wishOf("explain the repository"), { kind: "list" });
  assert.deepEqual(wishOf("show me src/index.ts, please"), { kind: "read", file: "src/index.ts" });
  assert.deepEqual(wishOf("what does the README say?"), { kind: "read", file: "README.md" });
  assert.deepEqual(wishOf("run a harmless command"), { kind: "run", command: "git status --short" });
  assert.deepEqual(wishOf("run git log"), { kind: "run", command: "git log --oneline -5" });
  assert.deepEqual(wishOf("run npm install"), { kind: "refuseToRun" });
  assert.deepEqual(wishOf("create ../../etc/notes.md"), { kind: "write", file: "notes.md" });
  assert.deepEqual(wishOf("create a file index.ts"), { kind: "write", file: "portal-demo.md" });
  assert.deepEqual(wishOf("make a Markdown file"), { kind: "write", file: "portal-demo.md" });
  assert.deepEqual(wishOf("show me Markdown"), { kind: "markdown" });
  assert.equal(wishOf("how do I write a file?"), undefined);
  assert.equal(wishOf("hello"), undefined);
});

test("every topic of the portal has an answer", () => {
  const questions = {
    "What is a session?": /^## Sessions/,
    "How do tasks work?": /^## Tasks/,
    "what are jobs": /^## Jobs/,
    "Which models are there?": /^## Models/,
    "how do I log in?": /^## Getting a real model/,
    "Can I use curl?": /^## From a script/,
    "How do I read the live log?": /^## Live logs/,
    "What survives a crash?": /^## Nothing is lost/,
    "Is it safe?": /^## Safety/,
    hello: /^## Copilot Portal/,
  };
  for (const [question, answer] of Object.entries(questions)) {
    assert.match(topicOf(question) ?? "", answer, question);
  }
});
