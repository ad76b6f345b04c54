import assert from "node:assert/strict";
import { test } from "node:test";
import {
  availableTools,
  expandPromptDynamic,
  expandPromptStatic,
  retryFailed,
  retryFailedCondition,
  retryWithNewSessionCondition,
  runtimeVariables,
} from "../../jobsDef.js";

type Variables = { [name: string]: string[] };

function expand(promptVariables: Variables, prompt: string[], requiresBooleanTool?: boolean): string[] {
  return expandPromptStatic({ promptVariables }, "P", prompt, requiresBooleanTool);
}

test("the lines of a prompt become one text with all variables filled", () => {
  const variables = { who: ["you"], greet: ["Hello $who", "and $who!"], "two-words": ["2"] };
  assert.deepEqual(expand(variables, ["$greet", "$two-words$who."]), ["Hello you\nand you!\n2you."]);
});

test("a variable ends where its letters and single hyphens end", () => {
  const variables = { a: ["A"], "a-b": ["AB"] };
  assert.deepEqual(expand(variables, ["$a-", "$a--b", "$a1", "$a_b", "$a-b", "$$a", "$ 5 $5"]), [
    "A-\nA--b\nA1\nA_b\nAB\n$A\n$ 5 $5",
  ]);
});

test("runtime variables stay until a prompt is sent", () => {
  const text = runtimeVariables.join(" ");
  assert.deepEqual(expand({ all: [text] }, ["$all"]), [text]);
});

test("a variable's text is inserted unchanged, even when it looks like a replacement pattern", () => {
  assert.deepEqual(expand({ odd: ["$& $1 $$"] }, ["<$odd>"]), ["<$& $1 $$>"]);
});

test("a prompt must not be empty", () => {
  const message = "P: Prompt is empty.";
  assert.throws(() => expand({}, []), { message });
  assert.throws(() => expand({}, [""]), { message });
  assert.throws(() => expand({ blank: [" "] }, ["$blank", "\t"]), { message });
  assert.throws(() => expand({ none: [] }, ["$none"]), { message: "P/$none: Prompt is empty." });
  assert.deepEqual(expand({ blank: [""] }, ["a$blank"]), ["a"]);
});

test("an unknown variable is named together with the variables that lead to it", () => {
  assert.throws(() => expand({}, ["$HOME"]), { message: "P: Cannot find prompt variable: $HOME." });
  assert.throws(() => expand({ a: ["$b"], b: ["$c"] }, ["$a"]), {
    message: "P/$a/$b: Cannot find prompt variable: $c.",
  });
});

test("a property that every object has is not a prompt variable", () => {
  assert.throws(() => expand({}, ["$constructor"]), {
    message: "P: Cannot find prompt variable: $constructor.",
  });
  assert.throws(() => expand({}, ["$toString"]), { message: "P: Cannot find prompt variable: $toString." });
});

test("a variable that contains itself is reported with its chain", () => {
  assert.throws(() => expand({ a: ["$a"] }, ["$a"]), {
    message: "P/$a: Prompt variable contains itself: $a → $a.",
  });
  assert.throws(() => expand({ a: ["$b"], b: ["x $c"], c: ["$b"] }, ["$a"]), {
    message: "P/$a/$b/$c: Prompt variable contains itself: $b → $c → $b.",
  });
});

test("a variable may be used many times without being a cycle", () => {
  assert.deepEqual(expand({ a: ["$c$c"], b: ["$c$a"], c: ["."] }, ["$a$b$a"]), [".".repeat(7)]);
});

test("a condition must mention a boolean tool, directly or through a variable", () => {
  assert.deepEqual(expand({ t: ["job_boolean_true"] }, ["Call $t."], true), ["Call job_boolean_true."]);
  assert.deepEqual(expand({}, ["Call job_boolean_false."], true), ["Call job_boolean_false."]);
  assert.throws(() => expand({}, ["Call job_prepare_document."], true), {
    message: "P: Prompt must mention job_boolean_true or job_boolean_false.",
  });
});

test("a chain of 500 variables is accepted, a longer one is refused, and a long cycle has a short message", () => {
  const letters = (n: number) => [...String(n)].map(digit => "abcdefghij"[Number(digit)]).join("");
  const variables: Variables = {};
  for (let n = 0; n < 100_000; n++) variables[letters(n)] = [`$${letters(n + 1)}`];
  assert.throws(
    () => expand(variables, ["$a"]),
    (error: Error) =>
      error.message.endsWith(": Prompt variables are nested more than 500 levels deep.") &&
      error.message.length < 3000,
  );
  variables[letters(499)] = ["end"];
  assert.deepEqual(expand(variables, ["$a"]), ["end"]);
  variables[letters(499)] = ["$a"];
  assert.throws(
    () => expand(variables, ["$a"]),
    (error: Error) => error.message.includes("contains itself: $a → $b") && error.message.length < 3000,
  );
});

test("variables that double each other are stopped before they fill the memory", () => {
  const variables: Variables = { end: ["x".repeat(100)] };
  const name = (n: number) => "v".repeat(n + 1);
  for (let n = 0; n < 60; n++)
    variables[name(n)] = n === 0 ? ["$end$end"] : [`$${name(n - 1)}$${name(n - 1)}`];
  assert.throws(
    () => expand(variables, [`$${name(59)}`]),
    /: The expanded prompts are longer than 50000000 characters\.$/,
  );
});

test("sending fills every variable, and marks one without a value as missing", () => {
  const values = { "user-input": "a $task-model $& b", "task-model": "m" };
  assert.deepEqual(
    expandPromptDynamic({}, ["$user-input|$task-model|$reported-document|$toString"], values),
    ["a $task-model $& b|m|<MISSING>|<MISSING>"],
  );
});

test("sending accepts only an expanded prompt", () => {
  const code = "PromptNotExpanded";
  assert.throws(() => expandPromptDynamic({}, [], {}), { code });
  assert.throws(() => expandPromptDynamic({}, ["a", "b"], {}), { code });
});

test("the lists of job tools and runtime variables are complete", () => {
  assert.deepEqual(availableTools, [
    "job_prepare_document",
    "job_boolean_true",
    "job_boolean_false",
    "job_prerequisite_failed",
  ]);
  assert.deepEqual(runtimeVariables, [
    "$user-input",
    "$task-model",
    "$reported-document",
    "$reported-true-reason",
    "$reported-false-reason",
  ]);
});

test("ready-made retries try three times by default", () => {
  assert.deepEqual(retryWithNewSessionCondition(), { retryTimes: 3 });
  assert.deepEqual(retryWithNewSessionCondition(0), { retryTimes: 0 });
  assert.equal(retryFailed().retryTimes, 3);
  assert.equal(retryFailed(1).retryTimes, 1);
  assert.match(retryFailed().additionalPrompt?.join("\n") ?? "", /continue/);
  assert.equal(retryFailedCondition().retryTimes, 3);
  assert.equal(retryFailedCondition(5).retryTimes, 5);
  assert.match(
    retryFailedCondition().additionalPrompt?.join("\n") ?? "",
    /continue.*\$reported-false-reason/s,
  );
});
