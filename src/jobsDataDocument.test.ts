import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import type { Loose } from "../test/support/jobs/entries.js";
import { packageRoot } from "./base/paths.js";
import { planJob } from "./jobs/plan/plan.js";
import { generateChartNodes } from "./jobsChart.js";
import { entry as builtin } from "./jobsData.js";
import { availableTools, entrySchema, runtimeVariables, validateEntry } from "./jobsDef.js";

const document = readFileSync(join(packageRoot, "JobsData.md"), "utf8");

interface Example {
  kind: string;
  value: Loose;
  /** The text block directly after it. */
  message: string | undefined;
}

const blocks = document.matchAll(/^```json ?(\w*)\n(.*?)^```\n(?:```text\n(.*?)\n```)?/gms);
const examples = [...blocks].map(
  ([, kind = "", json = "", message]): Example => ({ kind, value: JSON.parse(json), message }),
);
const ofKind = (kind: string) => examples.filter(example => example.kind === kind).map(({ value }) => value);
const [first] = ofKind("entry");

/** The first entry of the page with an example in its place. */
function entryWith({ kind, value }: Example): Loose {
  const entry = structuredClone(first);
  const places: { [kind: string]: () => void } = {
    entry: () => Object.assign(entry, value),
    model: () => Object.assign(entry.tasks["write-changelog"], { model: value }),
    task: () => Object.assign(entry.tasks, { example: value }),
    work: () => Object.assign(entry.jobs, { example: { work: value } }),
    job: () => Object.assign(entry.jobs, { example: value }),
    drivingSessionRetries: () => Object.assign(entry, { drivingSessionRetries: value }),
    promptVariables: () => {
      Object.assign(entry.promptVariables, value);
      const prompt = Object.keys(value).map(name => `$${name}`);
      entry.tasks.example = { prompt, requireUserInput: false };
    },
    grid: () => Object.assign(entry, { grid: value }),
  };
  const place = places[kind];
  assert.ok(place, `an example says what it is: \`\`\`json ${Object.keys(places).join(" | ")}`);
  place();
  return entry;
}

test("every JSON example of JobsData.md is a part of a valid entry, and matches the published schema", () => {
  const matches = new Ajv({ strict: true }).compile(entrySchema);
  const parts = examples.filter(({ kind }) => !["wrong", "chart", "plan"].includes(kind));
  assert.ok(parts.length >= 15);
  for (const example of parts) {
    const entry = entryWith(example);
    validateEntry(entry, "");
    assert.ok(matches(entry), JSON.stringify(matches.errors));
  }
});

test("the examples show every kind of work", () => {
  const kinds = ofKind("work").map(work => work.kind);
  assert.deepEqual([...new Set(kinds)].sort(), ["Alt", "Loop", "Par", "Ref", "Seq"]);
});

test("every wrong example fails with the message that follows it", () => {
  const wrong = examples.filter(({ kind }) => kind === "wrong");
  assert.ok(wrong.length >= 3);
  for (const { value, message } of wrong) assert.throws(() => validateEntry(value, ""), { message });
});

test("the chart and the plan on the page are those of its first job", () => {
  const entry = validateEntry(first, "");
  const { work } = entry.jobs.changelog ?? {};
  assert.ok(work);
  assert.deepEqual(ofKind("chart"), [generateChartNodes(work)]);
  const models = [
    { id: "claude-sonnet-4.6", multiplier: 1 },
    { id: "gpt-5-mini", multiplier: 0 },
  ];
  assert.deepEqual(ofKind("plan"), [planJob({ entry, jobName: "changelog", models, hasUserInput: false })]);
});

test("the page names every tool, every runtime variable, and every row and document of the built-in entry", () => {
  for (const name of [...availableTools, ...runtimeVariables])
    assert.ok(document.includes(`| \`${name}\` `), name);
  for (const { keyword } of builtin.grid) assert.ok(document.includes(`| ${keyword} `), keyword);
  const files = new Set(JSON.stringify(builtin.tasks).match(/(?<=\.copilot-portal\/)[a-z-]+\.md/g));
  for (const file of files) assert.ok(document.includes(`\`${file}\``), file);
});
