import assert from "node:assert/strict";
import { test } from "node:test";
import { accepts, type Loose, readEntry, refuses, smallEntry } from "../../../test/support/jobs/entries.js";
import { validateEntry } from "../../jobsDef.js";

const ref = (taskId: string) => ({ kind: "Ref", taskId });

test("a complete entry is returned with expanded prompts, simplified and numbered works, and requireUserInput set", () => {
  const entry = validateEntry(readEntry("complete.json"), "complete.json: ");
  assert.equal(
    entry.tasks.write?.prompt[0],
    "Work in the current directory.\nBe brief.\nWrite $user-input.\nReport the file with job_prepare_document.",
  );
  assert.deepEqual(entry.tasks.write?.criteria?.condition, [
    "Is $reported-document complete?\nAnswer by calling job_boolean_true or job_boolean_false with the reason.",
  ]);
  assert.deepEqual(entry.tasks.write?.criteria?.failureAction.additionalPrompt, [
    "Found: $reported-false-reason",
  ]);
  assert.equal(entry.tasks.write?.criteria?.runConditionInSameSession, false);
  assert.match(
    entry.tasks.review?.availability?.condition?.[0] ?? "",
    /^Is there something.*job_boolean_true/s,
  );
  assert.equal(entry.jobs.everything?.requireUserInput, true);
  assert.equal(entry.jobs["check only"]?.requireUserInput, false);
  assert.deepEqual(entry.jobs.everything?.work, {
    kind: "Seq",
    works: [
      { kind: "Ref", taskId: "write", workIdInJob: 0 },
      {
        kind: "Loop",
        preCondition: [false, { kind: "Ref", taskId: "check", workIdInJob: 1 }],
        body: { kind: "Seq", works: [{ kind: "Ref", taskId: "write", workIdInJob: 2 }] },
        postCondition: [false, { kind: "Ref", taskId: "check", workIdInJob: 3 }],
      },
      {
        kind: "Par",
        works: [
          { kind: "Ref", taskId: "review", modelOverride: { category: "reviewing" }, workIdInJob: 4 },
          { kind: "Ref", taskId: "review", modelOverride: { id: "gpt-5.1-mini" }, workIdInJob: 5 },
        ],
      },
      {
        kind: "Alt",
        condition: {
          kind: "Seq",
          works: [
            { kind: "Ref", taskId: "check", workIdInJob: 6 },
            { kind: "Ref", taskId: "check", workIdInJob: 7 },
          ],
        },
        falseWork: { kind: "Ref", taskId: "write", workIdInJob: 8 },
      },
    ],
  });
  assert.ok(!("$schema" in entry));
});

test("validation does not change its input", () => {
  const given = readEntry("complete.json");
  validateEntry(given, "");
  assert.deepEqual(given, readEntry("complete.json"));
});

test("a validated entry is still valid, and validating it again changes nothing", () => {
  const once = validateEntry(readEntry("complete.json"), "");
  assert.deepEqual(validateEntry(once, ""), once);
});

test("an entry must have models.driving", () => {
  refuses(e => {
    e.models = { other: "x" };
  }, "entry.models.driving: Is missing.");
});

test("drivingSessionRetries must begin with the driving model and have whole budgets", () => {
  const retries = (items: unknown) => (entry: Loose) => {
    entry.drivingSessionRetries = items;
  };
  const driving = "gpt-5.1-mini";
  const good = [
    { modelId: driving, retries: 0 },
    { modelId: "m", retries: 3 },
  ];
  assert.deepEqual(accepts(retries(good)).drivingSessionRetries, good);
  refuses(retries([]), "entry.drivingSessionRetries: Must have at least one item.");
  refuses(
    retries([{ modelId: "m", retries: 0 }]),
    'entry.drivingSessionRetries[0].modelId: Must be models.driving, which is "gpt-5.1-mini".',
  );
  const place = "entry.drivingSessionRetries[1].retries";
  refuses(
    retries([good[0], { modelId: "m", retries: -1 }]),
    `${place}: Must be a whole number from 0 on, not -1.`,
  );
  refuses(
    retries([good[0], { modelId: "m", retries: 0.5 }]),
    `${place}: Must be a whole number from 0 on, not 0.5.`,
  );
});

test("a cell of the grid must be a hole or name a job", () => {
  const cells =
    (...jobs: unknown[]) =>
    (entry: Loose) =>
      entry.grid.push({ keyword: "x", jobs });
  assert.deepEqual(accepts(cells(null, undefined, { name: "n", jobName: "j" })).grid[1]?.jobs, [
    null,
    null,
    { name: "n", jobName: "j" },
  ]);
  refuses(cells(null, { name: "n", jobName: "k" }), 'entry.grid[1].jobs[1].jobName: Cannot find job: "k".');
  refuses(
    cells({ name: "n", jobName: "toString" }),
    'entry.grid[1].jobs[0].jobName: Cannot find job: "toString".',
  );
});

test("the model of a task must be an id or a known category", () => {
  accepts(e => {
    e.tasks.a.model = { id: "whatever" };
  });
  refuses(e => {
    e.tasks["scrum-problem-task"] = { ...e.tasks.a, model: { category: "nobody" } };
  }, 'entry.tasks["scrum-problem-task"].model.category: Cannot find model category: "nobody".');
});

test("every prompt of a task is expanded, and its errors name the place", () => {
  const entry = (change: (task: Loose) => void) => (e: Loose) => {
    e.tasks.a.availability = { condition: ["job_boolean_true?"] };
    e.tasks.a.criteria = {
      condition: ["job_boolean_true?"],
      failureAction: { retryTimes: 1, additionalPrompt: ["x"] },
    };
    change(e.tasks.a);
  };
  accepts(entry(() => {}));
  const missing = "Cannot find prompt variable: $gone.";
  const place = 'entry.tasks["a"]';
  refuses(
    entry(t => t.prompt.push("$gone")),
    `${place}.prompt: ${missing}`,
  );
  refuses(
    entry(t => t.availability.condition.push("$gone")),
    `${place}.availability.condition: ${missing}`,
  );
  refuses(
    entry(t => t.criteria.condition.push("$gone")),
    `${place}.criteria.condition: ${missing}`,
  );
  const additional = `${place}.criteria.failureAction.additionalPrompt`;
  refuses(
    entry(t => t.criteria.failureAction.additionalPrompt.push("$gone")),
    `${additional}: ${missing}`,
  );
  const noTool = "Prompt must mention job_boolean_true or job_boolean_false.";
  refuses(
    entry(t => {
      t.availability.condition = ["Well?"];
    }),
    `${place}.availability.condition: ${noTool}`,
  );
  refuses(
    entry(t => {
      t.criteria.condition = ["Well?"];
    }),
    `${place}.criteria.condition: ${noTool}`,
  );
  refuses(
    entry(t => {
      t.prompt = [];
    }),
    `${place}.prompt: Prompt is empty.`,
  );
});

test("requireUserInput of a task says whether its expanded prompt uses $user-input", () => {
  const task = (prompt: string, requireUserInput: boolean) => (e: Loose) => {
    e.promptVariables.wish = ["I wish $user-input."];
    Object.assign(e.tasks.a, { prompt: [prompt], requireUserInput });
  };
  accepts(task("$wish", true));
  accepts(task("No $task-model", false));
  const place = 'entry.tasks["a"].requireUserInput';
  refuses(task("$wish", false), `${place}: Must be true, because the prompt uses $user-input.`);
  refuses(task("No input", true), `${place}: Must be false, because the prompt does not use $user-input.`);
});

test("previous tasks must exist", () => {
  const previous =
    (...previousTasks: string[]) =>
    (e: Loose) => {
      e.tasks.a.availability = { previousTasks };
    };
  assert.deepEqual(accepts(previous("a")).tasks.a?.availability, { previousTasks: ["a"] });
  refuses(previous("a", "b"), 'entry.tasks["a"].availability.previousTasks[1]: Cannot find task: "b".');
});

test("criteria must name tools that exist", () => {
  const tools =
    (...toolExecuted: string[]) =>
    (e: Loose) => {
      e.tasks.a.criteria = { toolExecuted, failureAction: { retryTimes: 0 } };
    };
  accepts(tools("job_prepare_document", "job_boolean_true", "job_boolean_false", "job_prerequisite_failed"));
  refuses(
    tools("job_boolean_true", "bash"),
    'entry.tasks["a"].criteria.toolExecuted[1]: Cannot find tool: "bash"; known: job_prepare_document, job_boolean_true, job_boolean_false, job_prerequisite_failed.',
  );
});

test("a command has a program, or one line for a shell, or a task that reports it", () => {
  for (const [place, change] of [
    ["availability", (e: Loose, commands: Loose) => (e.tasks.a.availability = { commands })],
    [
      "criteria",
      (e: Loose, commands: Loose) => (e.tasks.a.criteria = { commands, failureAction: { retryTimes: 0 } }),
    ],
  ] as const) {
    const commands =
      (...list: Loose[]) =>
      (e: Loose) =>
        change(e, list);
    const good = [
      { run: ["npm", "test"], timeoutSeconds: 1800, name: "tests" },
      { run: ["make && make check"], shell: true },
      { run: ["./$name", "$user-input", ""], shell: false },
      { reportedBy: "a", timeoutSeconds: 0.5 },
    ];
    assert.deepEqual(accepts(commands(...good)).tasks.a?.[place]?.commands, good);
    const wrong = (command: Loose, message: string) =>
      refuses(commands(good[0], command), `entry.tasks["a"].${place}.commands[1]${message}`);
    wrong({}, ": Must have either run or reportedBy.");
    wrong({ run: ["a"], reportedBy: "a" }, ": Must have either run or reportedBy.");
    wrong({ run: [] }, ".run: Must have at least one text, the program.");
    wrong({ run: [" "] }, ".run[0]: Is empty.");
    wrong({ run: ["a", "b\0"] }, ".run[1]: Must not have a NUL character.");
    wrong({ run: ["a", "b"], shell: true }, ".run: Must have exactly one text, because shell is true.");
    wrong({ run: "npm test" }, ".run: Must be array.");
    wrong({ run: [1] }, ".run[0]: Must be string.");
    wrong({ reportedBy: "b" }, '.reportedBy: Cannot find task: "b".');
    wrong({ reportedBy: "a", shell: true }, ".shell: Must be absent: a shell always reads a reported line.");
    wrong(
      { run: ["a"], timeoutSeconds: 0 },
      ".timeoutSeconds: Must be a number above 0, up to 86400, not 0.",
    );
    wrong(
      { run: ["a"], timeoutSeconds: 1e6 },
      ".timeoutSeconds: Must be a number above 0, up to 86400, not 1000000.",
    );
    wrong({ run: ["a"], name: "" }, ".name: Is empty.");
  }
});

test("a setup has commands, each with a program or one line for a shell", () => {
  const setup = [
    { run: ["npm", "ci"], timeoutSeconds: 60, name: "install" },
    { run: ["make && make check"], shell: true },
  ];
  assert.deepEqual(accepts((e: Loose) => (e.setup = setup)).setup, setup);
  const wrong = (command: Loose, message: string) =>
    refuses((e: Loose) => (e.setup = [setup[0], command]), `entry.setup[1]${message}`);
  wrong({}, ".run: Is missing.");
  wrong({ run: [] }, ".run: Must have at least one text, the program.");
  wrong({ run: [" "] }, ".run[0]: Is empty.");
  wrong({ run: ["a", "b\0"] }, ".run[1]: Must not have a NUL character.");
  wrong({ run: ["a", "b"], shell: true }, ".run: Must have exactly one text, because shell is true.");
  wrong({ run: ["a"], timeoutSeconds: 0 }, ".timeoutSeconds: Must be a number above 0, up to 86400, not 0.");
  wrong({ run: ["a"], name: "" }, ".name: Is empty.");
});

test("a job keeps its description", () => {
  const work = { kind: "Ref", taskId: "t" };
  const entry = accepts(e => {
    e.tasks = { t: { prompt: ["t"], requireUserInput: false, model: { category: "driving" } } };
    e.jobs = { j: { work, description: "Mends it." } };
  });
  assert.equal(entry.jobs.j?.description, "Mends it.");
});

test("a job, and only a branch of a Par, can be isolated", () => {
  const ref = { kind: "Ref", taskId: "a" };
  const withWork = (work: Loose, isolate?: boolean) => (e: Loose) => {
    e.tasks.a.model = { category: "driving" };
    e.jobs = { j: { work, ...(isolate !== undefined && { isolate }) } };
    e.grid = [];
  };
  assert.equal(accepts(withWork(ref, true)).jobs.j?.isolate, true);
  const inner = { kind: "Par", isolate: true, works: [ref, ref] };
  const par = {
    kind: "Par",
    works: [{ ...ref, isolate: true }, inner, { kind: "Seq", works: [ref], isolate: true }],
  };
  const { work } = accepts(withWork(par)).jobs.j ?? {};
  assert.ok(work?.kind === "Par");
  // A Par in a Par is dissolved, unless it has a worktree of its own.
  assert.deepEqual(
    work.works.map(({ kind, isolate }) => [kind, isolate]),
    [
      ["Ref", true],
      ["Par", true],
      ["Seq", true],
    ],
  );
  const only = "Only a branch of a Par can be isolated.";
  refuses(withWork({ ...ref, isolate: true }), `entry.jobs["j"].work.isolate: ${only} Write it beside work.`);
  const seq = { kind: "Seq", works: [ref, { ...ref, isolate: true }] };
  refuses(withWork(seq), `entry.jobs["j"].work.works[1].isolate: ${only}`);
});

test("retryTimes must be a whole number from 0 on", () => {
  const times = (retryTimes: number) => (e: Loose) => {
    e.tasks.a.criteria = { failureAction: { retryTimes } };
  };
  accepts(times(0));
  accepts(times(7));
  const place = 'entry.tasks["a"].criteria.failureAction.retryTimes: Must be a whole number from 0 on, not';
  refuses(times(-1), `${place} -1.`);
  refuses(times(1.5), `${place} 1.5.`);
  refuses(times(1e300), `${place} 1e+300.`);
});

test("works must name tasks that exist, at any depth", () => {
  const places = {
    "works[1]": { kind: "Seq", works: [ref("a"), ref("b")] },
    "works[0]": { kind: "Par", works: [ref("b")] },
    "preCondition[1]": { kind: "Loop", preCondition: [true, ref("b")], body: ref("a") },
    body: { kind: "Loop", body: ref("b") },
    "postCondition[1]": { kind: "Loop", body: ref("a"), postCondition: [true, ref("b")] },
    condition: { kind: "Alt", condition: ref("b") },
    trueWork: { kind: "Alt", condition: ref("a"), trueWork: ref("b") },
    falseWork: { kind: "Alt", condition: ref("a"), falseWork: ref("b") },
  };
  for (const [place, work] of Object.entries(places)) {
    refuses(e => {
      e.jobs.j.work = work;
    }, `entry.jobs["j"].work.${place}.taskId: Cannot find task: "b".`);
    accepts(e => {
      e.jobs.j.work = work;
      e.tasks.b = e.tasks.a;
    });
  }
});

test("a model override must be an id or a known category", () => {
  const override = (modelOverride: unknown) => (e: Loose) => {
    e.jobs.j.work = { kind: "Ref", taskId: "a", modelOverride };
  };
  accepts(override({ id: "whatever" }));
  accepts(override({ category: "driving" }));
  refuses(
    override({ category: "x" }),
    'entry.jobs["j"].work.modelOverride.category: Cannot find model category: "x".',
  );
});

test("a task without a model needs an override in every job", () => {
  refuses(e => {
    delete e.tasks.a.model;
  }, 'entry.jobs["j"].work.modelOverride: Is missing, and the task "a" names no model.');
  accepts(e => {
    delete e.tasks.a.model;
    e.jobs.j.work.modelOverride = { category: "driving" };
  });
});

test("Seq and Par must have works", () => {
  const work = (value: unknown) => (e: Loose) => {
    e.jobs.j.work = value;
  };
  refuses(work({ kind: "Seq", works: [] }), 'entry.jobs["j"].work.works: Seq must have at least one work.');
  refuses(
    work({ kind: "Par", works: [ref("a"), { kind: "Par", works: [] }] }),
    'entry.jobs["j"].work.works[1].works: Par must have at least one work.',
  );
});

test("a job requires user input when one of its tasks does", () => {
  const job = (input: boolean | undefined, needed: boolean) => (e: Loose) => {
    if (needed) Object.assign(e.tasks.a, { prompt: ["$user-input"], requireUserInput: true });
    if (input !== undefined) e.jobs.j.requireUserInput = input;
  };
  for (const needed of [true, false]) {
    assert.equal(accepts(job(undefined, needed)).jobs.j?.requireUserInput, needed);
    assert.equal(accepts(job(needed, needed)).jobs.j?.requireUserInput, needed);
  }
  const place = 'entry.jobs["j"].requireUserInput';
  refuses(job(false, true), `${place}: Must be true, because a task of the job requires user input.`);
  refuses(job(true, false), `${place}: Must be false, because no task of the job requires user input.`);
});

test("checks run in the documented order, so that the first problem is always the same", () => {
  // Each step repairs the problem of the previous message; everything else is still wrong.
  const entry = smallEntry(e => {
    e.models = { other: "m" };
    e.drivingSessionRetries = [{ modelId: "n", retries: -1 }];
    e.grid = [{ keyword: "k", jobs: [{ name: "n", jobName: "gone" }] }];
    e.tasks.a = {
      model: { category: "gone" },
      prompt: ["$gone"],
      requireUserInput: true,
      availability: { previousTasks: ["gone"], condition: ["?"] },
      criteria: {
        toolExecuted: ["gone"],
        condition: ["?"],
        failureAction: { retryTimes: -1, additionalPrompt: [] },
      },
    };
    e.jobs.j = {
      requireUserInput: true,
      work: {
        kind: "Seq",
        works: [
          { kind: "Seq", works: [] },
          { kind: "Ref", taskId: "b" },
          { kind: "Ref", taskId: "b", modelOverride: { category: "gone" } },
          { kind: "Ref", taskId: "gone" },
        ],
      },
    };
    e.tasks.b = { prompt: ["b"], requireUserInput: false };
  });
  const { a } = entry.tasks;
  const { works } = entry.jobs.j.work;
  const steps: [path: string, repair: () => void][] = [
    ["models.driving", () => Object.assign(entry.models, { driving: "m" })],
    [
      "drivingSessionRetries[0].modelId",
      () => Object.assign(entry.drivingSessionRetries[0], { modelId: "m" }),
    ],
    ["drivingSessionRetries[0].retries", () => Object.assign(entry.drivingSessionRetries[0], { retries: 0 })],
    ["grid[0].jobs[0].jobName", () => Object.assign(entry.grid[0].jobs[0], { jobName: "j" })],
    ['tasks["a"].model.category', () => Object.assign(a.model, { category: "other" })],
    ['tasks["a"].prompt', () => Object.assign(a, { prompt: ["x"] })],
    [
      'tasks["a"].availability.condition',
      () => Object.assign(a.availability, { condition: ["job_boolean_true"] }),
    ],
    ['tasks["a"].criteria.condition', () => Object.assign(a.criteria, { condition: ["job_boolean_true"] })],
    [
      'tasks["a"].criteria.failureAction.additionalPrompt',
      () => a.criteria.failureAction.additionalPrompt.push("x"),
    ],
    ['tasks["a"].requireUserInput', () => Object.assign(a, { requireUserInput: false })],
    ['tasks["a"].availability.previousTasks[0]', () => Object.assign(a.availability, { previousTasks: [] })],
    ['tasks["a"].criteria.toolExecuted[0]', () => Object.assign(a.criteria, { toolExecuted: [] })],
    [
      'tasks["a"].criteria.failureAction.retryTimes',
      () => Object.assign(a.criteria.failureAction, { retryTimes: 1 }),
    ],
    ['jobs["j"].work.works[3].taskId', () => Object.assign(works[3], { taskId: "a" })],
    [
      'jobs["j"].work.works[2].modelOverride.category',
      () => Object.assign(works[2].modelOverride, { category: "other" }),
    ],
    ['jobs["j"].work.works[1].modelOverride', () => Object.assign(works[1], { modelOverride: { id: "m" } })],
    ['jobs["j"].work.works[0].works', () => works.shift()],
    ['jobs["j"].requireUserInput', () => Object.assign(entry.jobs.j, { requireUserInput: false })],
  ];
  for (const [path, repair] of steps) {
    assert.throws(
      () => validateEntry(entry, ""),
      (error: Error) => {
        assert.equal(error.message.split(": ")[0], `entry.${path}`);
        return true;
      },
    );
    repair();
  }
  validateEntry(entry, "");
});
