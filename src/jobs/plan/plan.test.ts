import assert from "node:assert/strict";
import { test } from "node:test";
import { accepts, type Loose, readEntry } from "../../../test/support/jobs/entries.js";
import { entry as builtin } from "../../jobsData.js";
import { type Entry, validateEntry } from "../../jobsDef.js";
import { type JobPlan, type PlanInput, planJob } from "./plan.js";

const models = [
  { id: "gpt-5.1-mini", multiplier: 0 },
  { id: "big", multiplier: 3 },
  { id: "small", multiplier: 0.33 },
];

function plan(entry: Entry, jobName: string, input: Partial<PlanInput> = {}): JobPlan {
  return planJob({ entry, jobName, models, hasUserInput: true, ...input });
}

/** The plan of a job with one task. */
function planTask(task: Loose, change: (entry: Loose) => void = () => {}): JobPlan {
  const entry = accepts(e => {
    Object.assign(e.tasks.a, task);
    change(e);
  });
  return plan(entry, "j");
}

const condition = ["job_boolean_true or job_boolean_false?"];

test("a task without criteria needs one attempt in one session, and five when every session crashes", () => {
  const { tasks, withoutCrashes, atMost, missing, unbounded } = planTask({ model: { id: "big" } });
  assert.deepEqual(tasks, [
    {
      workIdInJob: 0,
      taskId: "a",
      places: [],
      always: true,
      unbounded: false,
      modelId: "big",
      multiplier: 3,
      drivingModelIds: [],
      withoutCrashes: { attempts: 1, prompts: 1, sessions: 1, premiumRequests: 3 },
      atMost: { attempts: 5, prompts: 5, sessions: 5, premiumRequests: 15 },
    },
  ]);
  assert.deepEqual(
    { withoutCrashes, atMost },
    { withoutCrashes: tasks[0]?.withoutCrashes, atMost: tasks[0]?.atMost },
  );
  assert.deepEqual(missing, []);
  assert.equal(unbounded, false);
});

test("retries count only when the criteria can fail", () => {
  const attempts = (criteria: Loose) => planTask({ criteria }).withoutCrashes.attempts;
  const failureAction = { retryTimes: 3 };
  assert.equal(attempts({ failureAction }), 1);
  assert.equal(attempts({ failureAction, toolExecuted: [] }), 1);
  assert.equal(attempts({ failureAction, toolExecuted: ["job_boolean_true"] }), 4);
  assert.equal(attempts({ failureAction, condition }), 4);
});

test("in one session the conditions are checked by the task's own model", () => {
  const { tasks, withoutCrashes, atMost } = planTask({
    model: { id: "small" },
    availability: { condition },
    criteria: { condition, failureAction: { retryTimes: 2 } },
  });
  assert.deepEqual(tasks[0]?.drivingModelIds, []);
  // One availability check, three attempts, three checks of the result.
  assert.deepEqual(withoutCrashes, { attempts: 3, prompts: 7, sessions: 1, premiumRequests: 2.31 });
  assert.deepEqual(atMost, { attempts: 15, prompts: 35, sessions: 1 + 7 * 4 + 1, premiumRequests: 11.55 });
});

test("the driving model pays for conditions that run in their own sessions", () => {
  const task = {
    model: { id: "big" },
    availability: { condition },
    criteria: { condition, runConditionInSameSession: false, failureAction: { retryTimes: 1 } },
  };
  const one = planTask(task, e => {
    e.models.driving = "small";
  });
  assert.deepEqual(one.tasks[0]?.drivingModelIds, ["small"]);
  assert.deepEqual(one.withoutCrashes, { attempts: 2, prompts: 5, sessions: 5, premiumRequests: 6.99 });
  assert.deepEqual(one.atMost, { attempts: 10, prompts: 25, sessions: 25, premiumRequests: 34.95 });
  assert.deepEqual(one.models, [
    { id: "big", multiplier: 3, runs: [0], checks: [] },
    { id: "small", multiplier: 0.33, runs: [], checks: [0] },
  ]);

  const several = planTask(task, e => {
    e.models.driving = "small";
    e.drivingSessionRetries = [
      { modelId: "small", retries: 0 },
      { modelId: "big", retries: 1 },
    ];
  });
  assert.deepEqual(several.tasks[0]?.drivingModelIds, ["small", "big"]);
  assert.deepEqual(several.withoutCrashes, one.withoutCrashes);
  // Three checks, each sent once to small and twice to big.
  assert.deepEqual(several.atMost, {
    attempts: 10,
    prompts: 19,
    sessions: 19,
    premiumRequests: 48.99,
  });
});

test("a task that checks nothing needs no driving model", () => {
  const { models, missing } = planTask(
    {
      model: { id: "big" },
      criteria: {
        toolExecuted: ["job_boolean_true"],
        runConditionInSameSession: false,
        failureAction: { retryTimes: 0 },
      },
    },
    e => {
      e.models.driving = "gone";
    },
  );
  assert.deepEqual(
    models.map(model => model.id),
    ["big"],
  );
  assert.deepEqual(missing, []);
});

test("the plan says where each task is, and which tasks a condition may skip", () => {
  const { tasks, work, unbounded } = plan(validateEntry(readEntry("complete.json"), ""), "everything");
  assert.equal(work.kind, "Seq");
  assert.equal(unbounded, true);
  const loop = (part: string) => ({ kind: "Loop", part, unbounded: true });
  assert.deepEqual(
    tasks.map(({ workIdInJob, taskId, places, always, unbounded }) => [
      workIdInJob,
      taskId,
      places,
      always,
      unbounded,
    ]),
    [
      [0, "write", [], true, false],
      [1, "check", [loop("preCondition")], true, true],
      [2, "write", [loop("body")], false, true],
      [3, "check", [loop("postCondition")], false, true],
      [4, "review", [{ kind: "Par", branch: 1, branches: 2 }], true, false],
      [5, "review", [{ kind: "Par", branch: 2, branches: 2 }], true, false],
      [6, "check", [{ kind: "Alt", part: "condition" }], true, false],
      [7, "check", [{ kind: "Alt", part: "condition" }], true, false],
      [8, "write", [{ kind: "Alt", part: "falseWork" }], false, false],
    ],
  );
});

test("a loop without a post-condition runs once", () => {
  const { unbounded, tasks } = planTask({}, e => {
    const ref = { kind: "Ref", taskId: "a" };
    e.jobs.j.work = { kind: "Loop", preCondition: [true, ref], body: ref };
  });
  assert.equal(unbounded, false);
  assert.deepEqual(
    tasks.map(task => [task.always, task.unbounded]),
    [
      [true, false],
      [false, false],
    ],
  );
});

test("of two branches only the larger one counts", () => {
  const { withoutCrashes, atMost } = planTask({ model: { id: "big" } }, e => {
    const ref = { kind: "Ref", taskId: "a" };
    e.jobs.j.work = {
      kind: "Alt",
      condition: ref,
      trueWork: { kind: "Seq", works: [ref, ref, ref] },
      falseWork: { kind: "Par", works: [ref, ref] },
    };
  });
  assert.deepEqual(withoutCrashes, { attempts: 4, prompts: 4, sessions: 4, premiumRequests: 12 });
  assert.deepEqual(atMost, { attempts: 20, prompts: 20, sessions: 20, premiumRequests: 60 });
});

test("an override decides the model, by id or category", () => {
  const modelIds = (modelOverride: Loose) =>
    planTask({ model: { id: "big" } }, e => {
      e.models.cheap = "small";
      e.jobs.j.work.modelOverride = modelOverride;
    }).tasks.map(task => task.modelId);
  assert.deepEqual(modelIds({ id: "small" }), ["small"]);
  assert.deepEqual(modelIds({ category: "cheap" }), ["small"]);
  assert.deepEqual(modelIds({ category: "driving" }), ["gpt-5.1-mini"]);
});

test("the plan lists the commands that the portal runs, and counts the retries that they may cause", () => {
  const entry = accepts(e => {
    e.tasks.a.availability = { commands: [{ run: ["git", "status"] }] };
    e.tasks.a.criteria = {
      commands: [{ run: ["npm test"], shell: true, name: "tests" }],
      failureAction: { retryTimes: 2 },
    };
  });
  assert.equal(plan(entry, "j").setup, undefined);
  entry.setup = [{ run: ["npm", "ci"] }];
  assert.deepEqual(plan(entry, "j").setup, entry.setup);
  const [task] = plan(entry, "j").tasks;
  assert.deepEqual(task?.commands, [
    { when: "before", run: ["git", "status"] },
    { when: "after", run: ["npm test"], shell: true, name: "tests" },
  ]);
  assert.equal(task?.withoutCrashes.attempts, 3);
});

test("the plan names what is missing with the errors of a start", () => {
  const entry = accepts(e => {
    Object.assign(e.tasks.a, { model: { id: "gone" }, prompt: ["$user-input"], requireUserInput: true });
  });
  const missing = (input: Partial<PlanInput>) => plan(entry, "j", input).missing.map(part => part.error);
  assert.deepEqual(missing({}), ["ModelIdNotFound"]);
  assert.deepEqual(missing({ hasUserInput: false }), ["ModelIdNotFound", "UserInputRequired"]);
  for (const directoryProblem of ["WorkingDirectoryNotAbsolutePath", "WorkingDirectoryNotExists"] as const) {
    assert.deepEqual(missing({ directoryProblem }), ["ModelIdNotFound", directoryProblem]);
  }
  assert.deepEqual(plan(entry, "j").missing, [
    { error: "ModelIdNotFound", message: "No backend has the model gone.", modelId: "gone" },
  ]);
  assert.deepEqual(plan(entry, "j").models, [{ id: "gone", multiplier: null, runs: [0], checks: [] }]);
  assert.deepEqual(missing({ models: [{ id: "gone", multiplier: 1 }] }), []);
});

test("a job that does not exist has no plan", () => {
  for (const jobName of ["nobody", "toString", "__proto__"]) {
    assert.throws(() => plan(builtin, jobName), { code: "JobNotFound", status: 200 });
  }
});

test("every built-in job has a plan that is plain JSON", () => {
  for (const jobName of Object.keys(builtin.jobs)) {
    const made = plan(builtin, jobName, {
      models: Object.values(builtin.models).map(id => ({ id, multiplier: 1 })),
    });
    assert.deepEqual(JSON.parse(JSON.stringify(made)), made);
    assert.ok(made.withoutCrashes.attempts > 0 && made.atMost.attempts > made.withoutCrashes.attempts);
  }
  assert.equal(plan(builtin, "implement-feature").unbounded, true);
  assert.equal(plan(builtin, "review-changes").unbounded, false);
});
