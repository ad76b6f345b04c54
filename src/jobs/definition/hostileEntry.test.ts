import assert from "node:assert/strict";
import { test } from "node:test";
import { accepts, type Loose, refuses, smallEntry } from "../../../test/support/jobs/entries.js";
import { validateEntry } from "../../jobsDef.js";

const ref = { kind: "Ref", taskId: "a" };

/** The text of a work nested `depth` times, built without recursion: `{"kind":"Seq","works":[` … `]}`. */
function nested(depth: number, before: string, after: string): unknown {
  return JSON.parse(`${before.repeat(depth)}{"kind":"Ref","taskId":"a"}${after.repeat(depth)}`);
}

function withWork(work: unknown): Loose {
  return smallEntry(e => {
    e.jobs.j.work = work;
  });
}

test("a value that is not an entry is refused by name", () => {
  for (const value of [undefined, null, 1, "entry", true]) {
    assert.throws(() => validateEntry(value, "f: "), { message: "f: entry: Must be object." });
  }
  assert.throws(() => validateEntry([], "f: "), { message: "f: entry: Must be object." });
  assert.throws(() => validateEntry({}, "f: "), { message: "f: entry.models: Is missing." });
});

test("a wrong shape is reported at its place, in the same form as everything else", () => {
  refuses(e => {
    e.tasks = [];
  }, "entry.tasks: Must be object.");
  refuses(e => {
    e.models.driving = 5;
  }, 'entry.models["driving"]: Must be string.');
  refuses(e => {
    e.tasks.a.prompt = "Do it.";
  }, 'entry.tasks["a"].prompt: Must be array.');
  refuses(e => {
    e.tasks.a.prompt = ["x", 1];
  }, 'entry.tasks["a"].prompt[1]: Must be string.');
  refuses(e => {
    delete e.tasks.a.prompt;
  }, 'entry.tasks["a"].prompt: Is missing.');
  refuses(e => {
    e.tasks.a.model = {};
  }, 'entry.tasks["a"].model: Must have either category or id.');
  refuses(e => {
    e.tasks.a.model = { category: "driving", id: "m" };
  }, 'entry.tasks["a"].model: Must have either category or id.');
  refuses(e => {
    e.tasks.a.criteria = { toolExecuted: [] };
  }, 'entry.tasks["a"].criteria.failureAction: Is missing.');
  refuses(e => {
    e.tasks["a/b~c\n"] = 1;
  }, 'entry.tasks["a/b~c\\n"]: Must be object.');
  refuses(e => {
    e.tasks["7"] = 1;
  }, 'entry.tasks["7"]: Must be object.');
  refuses(e => {
    e.grid[0].jobs = [5];
  }, "entry.grid[0].jobs[0]: Must be object.");
  refuses(e => {
    e.grid[0].jobs = [null, { name: "J" }];
  }, "entry.grid[0].jobs[1].jobName: Is missing.");
  refuses(e => {
    e.grid[0].jobs[0].jobName = 5;
  }, "entry.grid[0].jobs[0].jobName: Must be string.");
});

test("a wrong shape inside a work is reported at its place", () => {
  const work = (value: unknown, path: string, reason: string) =>
    refuses(e => {
      e.jobs.j.work = value;
    }, `entry.jobs["j"].work${path}: ${reason}`);
  const kinds = "Must be one of Ref, Seq, Par, Loop, Alt.";
  work(null, "", "Must be object.");
  work({}, ".kind", kinds);
  work({ kind: "Nap" }, ".kind", kinds);
  work({ kind: ["Ref"], taskId: "a" }, ".kind", kinds);
  work({ kind: { toString: 1 } }, ".kind", kinds);
  work({ kind: "constructor" }, ".kind", kinds);
  work({ kind: "Ref" }, ".taskId", "Is missing.");
  work({ kind: "Seq", works: [ref, null] }, ".works[1]", "Must be object.");
  work({ kind: "Seq", works: [ref, { kind: "Par" }] }, ".works[1].works", "Is missing.");
  work({ kind: "Loop", body: ref, postCondition: [ref, true] }, ".postCondition[0]", "Must be boolean.");
  work(
    { kind: "Loop", body: ref, postCondition: [true] },
    ".postCondition",
    "Must NOT have fewer than 2 items.",
  );
  work({ kind: "Alt", condition: ref, trueWork: null }, ".trueWork", "Must be object.");
});

test("a prompt variable has a name that prompts can use", () => {
  const variable = (name: string) => (e: Loose) => {
    e.promptVariables[name] = ["x"];
  };
  accepts(variable("a-B-c"));
  accepts(variable("constructor"));
  for (const name of ["", "a1", "a_b", "-a", "a-", "a--b", "user-input", "reported-false-reason"]) {
    refuses(variable(name), `entry.promptVariables["${name}"]: This name cannot be used here.`);
  }
});

test("names that every object has are ordinary names, and __proto__ is not a name", () => {
  const text = JSON.stringify(smallEntry())
    .replaceAll('"a"', '"constructor"')
    .replaceAll('"j"', '"toString"');
  const entry = validateEntry(JSON.parse(text), "");
  assert.deepEqual(Object.keys(entry.tasks), ["constructor"]);
  assert.deepEqual(entry.jobs.toString, {
    requireUserInput: false,
    work: { ...ref, taskId: "constructor", workIdInJob: 0 },
  });

  for (const map of ["models", "promptVariables", "tasks", "jobs"]) {
    const hostile = JSON.stringify(smallEntry()).replace(
      `"${map}":{`,
      `"${map}":{"__proto__":{"polluted":true},`,
    );
    assert.throws(() => validateEntry(JSON.parse(hostile.replace(":{,", ":{").replace(",}", "}")), ""), {
      message: `entry.${map}["__proto__"]: This name cannot be used here.`,
    });
  }
  assert.equal(({} as Loose).polluted, undefined);
  assert.throws(
    () => accepts(e => Object.assign(e.jobs.j.work, { taskId: "__proto__" })),
    /Cannot find task: "__proto__"/,
  );
});

test("100,000 nested Seqs become one Seq", () => {
  const work = nested(100_000, '{"kind":"Seq","works":[{"kind":"Ref","taskId":"a"},', "]}");
  const { work: flat } = validateEntry(withWork(work), "").jobs.j ?? {};
  assert.ok(flat?.kind === "Seq");
  assert.equal(flat.works.length, 100_001);
  assert.deepEqual(flat.works[100_000], { ...ref, workIdInJob: 100_000 });
});

test("works too deep to be copied or printed are refused, and works 500 levels deep are not", () => {
  const kinds: [before: string, after: string][] = [
    ['{"kind":"Loop","body":', "}"],
    ['{"kind":"Loop","preCondition":[true,', '],"body":{"kind":"Ref","taskId":"a"}}'],
    ['{"kind":"Alt","condition":', "}"],
    ['{"kind":"Seq","works":[{"kind":"Par","works":[', "]}]}"],
  ];
  for (const [before, after] of kinds) {
    const entry = validateEntry(withWork(nested(249, before, after)), "");
    assert.deepEqual(structuredClone(entry), JSON.parse(JSON.stringify(entry)));
    assert.throws(() => validateEntry(withWork(nested(50_000, before, after)), ""), {
      message: 'entry.jobs["j"].work: Is nested more than 500 levels deep.',
    });
  }
});

test("an error inside deeply nested works has a readable message", () => {
  const work = nested(50_000, '{"kind":"Alt","condition":', "}");
  const entry = withWork(work);
  delete entry.tasks.a;
  entry.tasks.b = { model: { category: "driving" }, prompt: ["b"], requireUserInput: false };
  assert.throws(
    () => validateEntry(entry, "f: "),
    (error: Error) =>
      error.message.startsWith('f: entry.jobs["j"].work.condition.condition') &&
      error.message.endsWith('.condition.taskId: Cannot find task: "a".') &&
      error.message.length < 1500,
  );
});

test("an entry of 10 MB is checked like any other", () => {
  const many = smallEntry(e => {
    e.promptVariables.rules = ["Be careful."];
    for (let n = 0; n < 20_000; n++) {
      e.tasks[`task-${n}`] = { ...e.tasks.a, prompt: ["$rules", "x".repeat(350)] };
      e.jobs[`job-${n}`] = { work: { kind: "Par", works: [{ kind: "Ref", taskId: `task-${n}` }] } };
    }
  });
  const text = JSON.stringify(many);
  assert.ok(text.length > 10_000_000);
  const entry = validateEntry(JSON.parse(text), "");
  assert.ok(entry.tasks["task-19999"]?.prompt[0]?.startsWith("Be careful.\nx"));

  const dollars = smallEntry(e => {
    e.promptVariables.a = [""];
    e.tasks.a.prompt = ["$a".repeat(5_000_000), "."];
  });
  assert.deepEqual(validateEntry(dollars, "").tasks.a?.prompt, ["\n."]);
  refuses(
    e => {
      e.tasks.a.prompt = [`$${"a".repeat(10_000_000)}`];
    },
    `entry.tasks["a"].prompt: Cannot find prompt variable: $${"a".repeat(499)} … ${"a".repeat(500)}.`,
  );
});

test("a text that every task repeats is stopped before it fills the memory", () => {
  refuses(e => {
    e.promptVariables.big = ["x".repeat(1_000_000)];
    for (let n = 0; n < 1000; n++) e.tasks[`task-${n}`] = { ...e.tasks.a, prompt: ["$big"] };
  }, 'entry.tasks["task-48"].prompt: The expanded prompts are longer than 50000000 characters.');
});
