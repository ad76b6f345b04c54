import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CopilotClient, defineTool, type SessionConfig, type SessionEvent } from "@github/copilot-sdk";
import { pino } from "pino";
import { type DemoModel, startDemoModel } from "../../src/backends/demo/demoModel.js";
import {
  asksForReport,
  chooseReports,
  documentPath,
  favourableVerdict,
} from "../../src/backends/demo/jobPrompt.js";
import { topicOf } from "../../src/backends/demo/topics.js";
import { wishOf } from "../../src/backends/demo/wishes.js";
import { entry } from "../../src/jobsData.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { eventsOf, messageOf, runTurn, startBareSession, startRuntime } from "../support/runtime.js";

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

  "a task that wants a document gets one, after visible work": async (_t, { ask, folder }) => {
    const events = await ask(
      "# Plan the feature\n\nWrite the plan to `plan.md`.\nThen call `job_prepare_document` with its path.",
    );
    assert.deepEqual(
      toolCalls(events).map(call => call.name),
      ["view", "bash", "create", "job_prepare_document"],
    );
    assert.deepEqual(reportsOf(events), [["job_prepare_document", join(folder, "plan.md")]]);
    assert.ok((await readdir(folder)).includes("plan.md"));
    assert.ok(toolCalls(events).every(call => call.success));
  },

  "a task that names no place for its document gets no file": async (_t, { ask, folder }) => {
    const [report] = reportsOf(await ask("Make a plan and report it with job_prepare_document."));
    assert.match(report?.[1] ?? "", /^Demo document for .*\(no file was written\)$/);
    assert.deepEqual(await readdir(folder), ["README.md"]);
  },

  "a condition in its own session is met": async (_t, { ask }) => {
    const prompt =
      "Verify the change. Call job_boolean_true when all tests pass, otherwise job_boolean_false.";
    assert.deepEqual(
      reportsOf(await ask(prompt)).map(([name]) => name),
      ["job_boolean_true"],
    );
  },

  "the demo model's review of its own work finds something at first and passes the second time": async (
    _t,
    { ask },
  ) => {
    const task = "# Implement the feature\n\nDo it well.\nTest it.\nReport nothing.";
    const review =
      "Review the work. Call job_boolean_true if it is complete, else job_boolean_false with the reason.";
    assert.match(messageOf(await ask(task)), /An AI would now work on this:\n\n> Implement the feature/);
    const [first] = reportsOf(await ask(review));
    assert.equal(first?.[0], "job_boolean_false");
    assert.match(first?.[1] ?? "", /^Demo finding:/);
    await ask(`${task}\n## You accidentally Stopped\nA check of the result found: ${first?.[1]}`);
    assert.deepEqual(
      reportsOf(await ask(review)).map(([name]) => name),
      ["job_boolean_true"],
    );
  },

  "the check of the built-in jobs finds something once and then passes, each time in its own session": async (
    _t,
    { start, folder },
  ) => {
    const check = async () => reportsOf(await (await start())(builtIn("checks-pass")));
    assert.match((await check()).join(), /^job_boolean_false,Demo finding:/);
    assert.deepEqual((await readdir(join(folder, ".copilot-portal"))).sort(), [".gitignore", "checks.md"]);
    assert.match((await check()).join(), /^job_boolean_true,/);
    await (await start())(builtIn("plan-feature"));
    assert.deepEqual((await readdir(join(folder, ".copilot-portal"))).sort(), [".gitignore", "plan.md"]);
    assert.match((await check()).join(), /^job_boolean_false,/);
  },

  "the review of the built-in jobs has findings until they are answered": async (_t, { start, folder }) => {
    const hasFindings = async () =>
      reportsOf(await (await start())(builtIn("review-has-findings"))).map(([tool]) => tool);
    assert.deepEqual(await hasFindings(), ["job_boolean_false"]);
    const reviewed = reportsOf(await (await start())(builtIn("review-design")));
    const path = join(folder, ".copilot-portal", "review-design.md");
    assert.deepEqual(reviewed, [["job_prepare_document", path]]);
    assert.deepEqual(await hasFindings(), ["job_boolean_true"]);
    const applied = toolCalls(await (await start())(builtIn("apply-review")));
    assert.deepEqual(
      applied.filter(call => call.name === "edit").map(call => call.success),
      [true],
    );
    assert.match(await readFile(path, "utf8"), /Demo finding:.*\n {3}Answer: /);
    assert.deepEqual(await hasFindings(), ["job_boolean_false"]);
  },

  "a plan exists once it has been made": async (_t, { start }) => {
    const condition = entry.tasks["implement-plan"]?.availability?.condition?.join("\n") ?? "";
    const isThere = async () => reportsOf(await (await start())(condition)).map(([tool]) => tool);
    assert.deepEqual(await isThere(), ["job_boolean_false"]);
    await (await start())(builtIn("plan-feature"));
    assert.deepEqual(await isThere(), ["job_boolean_true"]);
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
      ["job_boolean_true"],
    );
  },

  "the demo model says when it lacks a tool that it needs": async (_t, { start }) => {
    const ask = await start({ availableTools: [] });
    assert.match(messageOf(await ask("list the files")), /needs `view`, which this session does not offer/);
  },
};

const untouched = { document: undefined };

test("the demo model's verdict follows what the prompt calls good", () => {
  const good = {
    "Call job_boolean_true when all tests pass. Otherwise call job_boolean_false with what fails.": true,
    "If the work is complete, call job_boolean_true; if something is missing, call job_boolean_false.": true,
    "Answer with job_boolean_true or job_boolean_false.": true,
    "Is the document ready? Answer with job_boolean_true or job_boolean_false.": true,
    "Call job_boolean_true if no problems were found, else job_boolean_false.": true,
    "Call job_boolean_true if there are issues to fix, job_boolean_false if there are none.": false,
    "If findings remain, call `job_boolean_true`.\nIf nothing remains, call `job_boolean_false`.": false,
    "If problems remain, job_boolean_true, and job_boolean_false when all is done": false,
    "Are there open problems? If yes, call job_boolean_true, if no, call job_boolean_false.": false,
    "Call job_boolean_false when the review is clean, otherwise job_boolean_true.": false,
  };
  for (const [prompt, isTrue] of Object.entries(good)) {
    assert.equal(favourableVerdict(prompt), isTrue ? "job_boolean_true" : "job_boolean_false", prompt);
  }
});

test("each condition of the built-in jobs is met unless something contradicts it", () => {
  const conditions = Object.values(entry.tasks).flatMap(({ availability, criteria }) =>
    [availability?.condition, criteria?.condition].flatMap(prompt => (prompt ? [prompt.join("\n")] : [])),
  );
  assert.ok(conditions.length > 5);
  for (const prompt of conditions) assert.equal(favourableVerdict(prompt), "job_boolean_true", prompt);
});

test("a review in a fresh session finds something only while there is no earlier finding", () => {
  const prompt = (earlier: string) =>
    `Verify the fix. The previous check said: ${earlier}\nCall job_boolean_true when it works, else job_boolean_false.`;
  const verdict = (earlier: string) =>
    chooseReports({
      prompt: prompt(earlier),
      earlierPrompts: [],
      judgedBefore: false,
      ...untouched,
    })[0];
  const first = verdict("<MISSING>");
  assert.equal(first?.tool, "job_boolean_false");
  assert.equal(verdict(first?.argument ?? "")?.tool, "job_boolean_true");
});

test("a failed prerequisite is reported only when something is missing or the prompt plainly asks for it", () => {
  const tools = (prompt: string) =>
    chooseReports({ prompt, earlierPrompts: [], judgedBefore: false, ...untouched }).map(({ tool }) => tool);
  const plan =
    "Read the plan PLAN. If it is not there, call job_prerequisite_failed. Then call job_prepare_document.";
  assert.deepEqual(tools(plan.replace("PLAN", "plan.md")), ["job_prepare_document"]);
  assert.deepEqual(tools(plan.replace("PLAN", "<MISSING>")), ["job_prerequisite_failed"]);
  assert.deepEqual(tools("Call job_prerequisite_failed."), ["job_prerequisite_failed"]);
  assert.deepEqual(tools("Do not call job_prepare_document."), []);
});

test("a question about a job tool is not taken for an order", () => {
  assert.equal(asksForReport("What is job_boolean_true?"), false);
  assert.equal(asksForReport("Which is right? Call job_boolean_true or job_boolean_false."), true);
});

test("a document is written where the prompt says, but never outside", () => {
  assert.equal(documentPath("Save it as docs/plan.md and report"), "docs/plan.md");
  assert.equal(documentPath("Write it to ../plan.md"), undefined);
  assert.equal(documentPath("Save https://example.com/plan.md"), undefined);
  assert.equal(documentPath("Save it in your home: ~/plan.md"), undefined);
  assert.equal(documentPath("Read plan.md"), undefined);
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
