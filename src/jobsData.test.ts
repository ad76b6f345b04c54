import assert from "node:assert/strict";
import { test } from "node:test";
import { accepts } from "../test/support/jobs/entries.js";
import { refusalFor } from "./backends/demo/assignments.js";
import { resolveModels } from "./jobs/definition/modelFallback.js";
import { walkWork } from "./jobs/definition/workTree.js";
import { generateChartNodes } from "./jobsChart.js";
import { entry, modelAlternatives } from "./jobsData.js";
import { availableTools, validateEntry } from "./jobsDef.js";

const named = [
  ...Object.values(entry.models),
  ...(entry.drivingSessionRetries ?? []).map(({ modelId }) => modelId),
];

test("the built-in entry is valid", () => {
  assert.deepEqual(validateEntry(entry, ""), entry);
});

test("the built-in grid offers every job once, a row for each phase", () => {
  const cells = entry.grid.flatMap(row => row.jobs.filter(cell => !!cell));
  assert.deepEqual(cells.map(cell => cell.jobName).sort(), Object.keys(entry.jobs).sort());
  assert.equal(new Set(cells.map(cell => cell.name)).size, cells.length);
  assert.deepEqual(
    entry.grid.map(row => row.keyword),
    ["Understand", "Plan", "Build", "Fix", "Test", "Review", "Document"],
  );
});

test("every built-in task is used by a job, and every task can be started alone", () => {
  const used = new Set<string>();
  for (const { work } of Object.values(entry.jobs)) {
    for (const { work: part } of walkWork(work)) if (part.kind === "Ref") used.add(part.taskId);
  }
  assert.deepEqual([...used].sort(), Object.keys(entry.tasks).sort());
  for (const [name, { model }] of Object.entries(entry.tasks)) assert.ok(model, `${name} names its model`);
});

test("a built-in prompt names every tool that its criteria require", () => {
  for (const [name, { prompt, criteria }] of Object.entries(entry.tasks)) {
    for (const tool of criteria?.toolExecuted ?? []) assert.ok(prompt[0]?.includes(tool), `${name}: ${tool}`);
    const mentioned = new Set(prompt[0]?.match(/job_[a-z_]+/g));
    for (const tool of mentioned) assert.ok(availableTools.includes(tool), `${name}: ${tool}`);
  }
});

test("every built-in job has a chart with one node for each of its tasks", () => {
  for (const [name, { work }] of Object.entries(entry.jobs)) {
    const refs = [...walkWork(work)].flatMap(({ work }) => (work.kind === "Ref" ? [work.workIdInJob] : []));
    const { nodes } = generateChartNodes(work);
    const shown = nodes.flatMap(({ hint }) => (Array.isArray(hint) ? [hint[1]] : []));
    assert.deepEqual(shown.sort(), refs.sort(), name);
  }
});

test("every built-in loop ends when the answer to its question is yes, and asks whether another round is needed", () => {
  const loops = Object.values(entry.jobs).flatMap(({ work }) =>
    [...walkWork(work)].flatMap(({ work }) => (work.kind === "Loop" ? [work] : [])),
  );
  assert.ok(loops.length >= 2);
  for (const { body, postCondition } of loops) {
    assert.equal(postCondition?.[0], false);
    const [first] = body.kind === "Seq" ? body.works : [];
    assert.ok(first?.kind === "Ref" && first.taskId === "limit-rounds");
  }
});

test("a built-in job requires user input when a person must describe the work", () => {
  const withInput = Object.entries(entry.jobs).filter(([, job]) => job.requireUserInput);
  assert.deepEqual(withInput.map(([name]) => name).sort(), [
    "answer-question",
    "fix-bug",
    "implement-feature",
    "plan-feature",
    "reproduce-bug",
    "write-tests",
  ]);
});

test("the built-in entry stays unchanged when all its models are available", () => {
  assert.deepEqual(resolveModels(entry, named, modelAlternatives), { entry, notices: [] });
});

test("the built-in entry runs on the demo model alone, and one notice says so", () => {
  const resolved = resolveModels(entry, ["demo"], modelAlternatives);
  assert.deepEqual(validateEntry(resolved.entry, ""), resolved.entry);
  assert.deepEqual(new Set(Object.values(resolved.entry.models)), new Set(["demo"]));
  assert.deepEqual(resolved.entry.drivingSessionRetries, [{ modelId: "demo", retries: 2 }]);
  assert.equal(resolved.notices.length, 1);
  assert.match(
    resolved.notices[0]?.message ?? "",
    /^gpt-5\.4-mini \(driving\), .* are not available: demo is used instead\.$/,
  );
});

test("every model of the built-in entry has alternatives, none of them itself", () => {
  for (const id of named) {
    const alternatives = modelAlternatives[id] ?? [];
    assert.ok(alternatives.length > 0, id);
    assert.ok(!alternatives.includes(id), id);
  }
});

test("a missing model is replaced by its first available alternative wherever it is named", () => {
  const small = accepts(e => {
    e.models = { driving: "gone", other: "here" };
    e.drivingSessionRetries = [
      { modelId: "gone", retries: 1 },
      { modelId: "here", retries: 2 },
    ];
    e.tasks.a.model = { id: "gone" };
    e.jobs.j.work.modelOverride = { id: "gone" };
  });
  const { entry: resolved, notices } = resolveModels(small, ["any", "here", "second"], {
    gone: ["first", "second"],
  });
  assert.deepEqual(resolved.models, { driving: "second", other: "here" });
  assert.deepEqual(resolved.drivingSessionRetries, [
    { modelId: "second", retries: 1 },
    { modelId: "here", retries: 2 },
  ]);
  assert.deepEqual(resolved.tasks.a?.model, { id: "second" });
  assert.deepEqual(resolved.jobs.j?.work, {
    kind: "Ref",
    taskId: "a",
    modelOverride: { id: "second" },
    workIdInJob: 0,
  });
  assert.deepEqual(notices, [
    { level: "warning", message: "gone (driving, task a, job j) is not available: second is used instead." },
  ]);
  assert.equal(small.models.driving, "gone", "the given entry is unchanged");
});

test("a model without a listed alternative is replaced by any available one", () => {
  const small = accepts(() => {});
  const { entry: resolved, notices } = resolveModels(small, ["demo"], {});
  assert.equal(resolved.models.driving, "demo");
  assert.equal(notices[0]?.message, "gpt-5.1-mini (driving) is not available: demo is used instead.");
});

test("without any model the entry stays unchanged, and the notice says that nothing can run", () => {
  assert.deepEqual(resolveModels(entry, [], modelAlternatives), {
    entry,
    notices: [{ level: "error", message: "No model is available, so no task or job can run." }],
  });
});

test("a built-in task fails with the demo model unless nothing but the checks of the repository could tell", () => {
  const passing = Object.entries(entry.tasks).filter(([, { prompt, criteria }]) => {
    const reported = refusalFor(prompt.join("\n"));
    const isJudged = criteria?.condition !== undefined;
    if (isJudged) assert.equal(refusalFor(criteria.condition?.join("\n") ?? ""), "job_boolean_false");
    return !isJudged && (criteria?.toolExecuted ?? []).every(tool => tool === reported);
  });
  assert.deepEqual(
    passing.map(([name]) => name),
    ["answer-question", "repair-checks", "fix-bug"],
  );
});
