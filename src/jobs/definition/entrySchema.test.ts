import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv } from "ajv";
import { readEntry, smallEntry } from "../../../test/support/jobs/entries.js";
import { entrySchema, validateEntry } from "../../jobsDef.js";

// The published schema, as an editor or a script would use it.
const matches = new Ajv({ strict: true, strictRequired: true }).compile(entrySchema);

test("the published schema accepts what validateEntry accepts", () => {
  for (const entry of [readEntry("complete.json"), smallEntry()]) {
    assert.ok(matches(entry), JSON.stringify(matches.errors));
    validateEntry(entry, "");
    assert.ok(matches(validateEntry(entry, "")), "even after validation");
  }
});

test("the published schema refuses wrong shapes, even deep inside works", () => {
  assert.ok(!matches(readEntry("wrong-shape.json")));
  const deep = (work: unknown) =>
    smallEntry(e => {
      e.jobs.j.work = { kind: "Loop", body: { kind: "Par", works: [{ kind: "Alt", condition: work }] } };
    });
  assert.ok(matches(deep({ kind: "Ref", taskId: "a" })));
  for (const wrong of [null, {}, { kind: "Nap" }, { kind: "Ref" }, { kind: "Seq", works: [{}] }]) {
    assert.ok(!matches(deep(wrong)), JSON.stringify(wrong));
    assert.throws(() => validateEntry(deep(wrong), ""));
  }
});

test("the published schema is plain JSON and explains the fields", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(entrySchema)), entrySchema);
  assert.equal(entrySchema.$schema, "http://json-schema.org/draft-07/schema#");
  assert.match(JSON.stringify(entrySchema), /job_prepare_document/);
});

test("the entry files of the tests are bad in the intended way", () => {
  assert.throws(() => readEntry("not-json.json.bad"), SyntaxError);
  assert.throws(() => validateEntry(readEntry("wrong-shape.json"), ""), {
    message: 'entry.tasks["a"].prompt: Must be array.',
  });
  assert.throws(() => validateEntry(readEntry("unknown-task.json"), ""), {
    message: 'entry.jobs["lost"].work.taskId: Cannot find task: "nowhere".',
  });
});
