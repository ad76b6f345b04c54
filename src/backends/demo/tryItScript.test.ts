import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ModelRequest, ToolResult } from "../scripted/modelRequest.js";
import type { ScriptedToolCall, Step } from "../scripted/steps.js";
import { tryItScript } from "./tryItScript.js";
import { commitCommand, headings, lines } from "./tryItStory.js";

const folder = "/data/try-it/1";
const crashed = "The session crashed, please redo and here is the last request:\n";
const complaint = `## Check Failed: node --test (exit code 1)\n  '1: 5' !== '1:05'`;

function ask(userText: string, ...toolResults: ToolResult[]): Step[] | undefined {
  const tools = [
    "view",
    "create",
    "edit",
    "bash",
    "job_prepare_document",
    "job_boolean_true",
    "job_boolean_false",
  ];
  return tryItScript({
    userText,
    userTexts: [userText],
    toolResults,
    round: toolResults.length > 0 ? 1 : 0,
    tools,
    workingDirectory: folder,
  } as unknown as ModelRequest);
}

/** What a tool answered to the script's own call. */
const answered = ({ name, arguments: given }: ScriptedToolCall, content: string): ToolResult => ({
  name,
  arguments: JSON.stringify(given),
  content,
});

function calls(steps: Step[] | undefined): ScriptedToolCall[] {
  return (steps ?? []).flatMap(step => ("toolCalls" in step ? step.toolCalls : []));
}

function saidIn(steps: Step[] | undefined): string {
  return (steps ?? []).map(step => ("text" in step ? step.text : "")).join("");
}

/** What the script does when the file has this line. */
function mend(prompt: string, line: string): Step[] | undefined {
  const [view] = calls(ask(prompt));
  assert.ok(view);
  assert.equal(view.name, "view");
  return ask(prompt, answered(view, `export …\n${line}\n`));
}

function edits(steps: Step[] | undefined) {
  return calls(steps).map(({ name, arguments: given }) => {
    const { old_str, new_str } = given as Record<string, string>;
    return [name, old_str, new_str];
  });
}

describe("The script of Try it", () => {
  test("the first attempt makes an edit that is wrong, and believes in it", () => {
    assert.deepEqual(edits(mend(headings.mend, lines.bug)), [["edit", lines.bug, lines.wrong]]);
    const [view] = calls(ask(headings.mend));
    assert.ok(view);
    const edit = answered({ name: "edit", arguments: {} }, "done");
    assert.match(saidIn(ask(headings.mend, answered(view, lines.bug), edit)), /should pass/);
  });

  test("the retry reads the output of the failed test, mends the edit and quotes the output", () => {
    const prompt = `${headings.mend}\n${complaint}`;
    assert.deepEqual(edits(mend(prompt, lines.wrong)), [["edit", lines.wrong, lines.right]]);
    assert.match(saidIn(mend(prompt, lines.right)), /`'1: 5'` instead of `'1:05'`/);
    const silent = `${headings.mend}\n## Check Failed: node --test (exit code 1)`;
    assert.doesNotMatch(saidIn(mend(silent, lines.right)), /instead of/);
  });

  test("a request that is repeated after a crash goes on from what is in the file", () => {
    const first = crashed + headings.mend;
    assert.deepEqual(edits(mend(first, lines.wrong)), []);
    assert.deepEqual(edits(mend(first, lines.bug)), [["edit", lines.bug, lines.wrong]]);
    const retry = `${first}\n${complaint}`;
    assert.deepEqual(edits(mend(retry, lines.right)), []);
    // The user may have undone the first attempt meanwhile.
    assert.deepEqual(edits(mend(retry, lines.bug)), [["edit", lines.bug, lines.right]]);
  });

  test("the plan is written into the repository and reported with its path", () => {
    const views = calls(ask(headings.plan)).map(call => answered(call, "…"));
    assert.equal(views.length, 2);
    const [created] = calls(ask(headings.plan, ...views));
    assert.ok(created);
    assert.equal((created.arguments as { path: string }).path, `${folder}/plan.md`);
    // The runtime refuses to overwrite a plan from before a crash; the report follows all the same.
    const reported = calls(ask(headings.plan, ...views, answered(created, "The file exists")));
    assert.deepEqual(reported, [
      { name: "job_prepare_document", arguments: { argument: `${folder}/plan.md` } },
    ]);
  });

  test("the commit is the only command, and the answer quotes what came of it", () => {
    const [commit] = calls(ask(headings.commit));
    assert.ok(commit);
    assert.equal((commit.arguments as { command: string }).command, commitCommand);
    assert.match(saidIn(ask(headings.commit, answered(commit, "[main 1] Write"))), /\[main 1\] Write/);
  });

  test("the review says what the file shows", () => {
    const verdict = (line: string) => {
      const views = calls(ask(headings.review)).map(call => answered(call, line));
      return calls(ask(headings.review, ...views)).map(({ name }) => name);
    };
    assert.deepEqual(verdict(lines.right), ["job_boolean_true"]);
    assert.deepEqual(verdict(lines.wrong), ["job_boolean_false"]);
    assert.deepEqual(verdict(lines.bug), ["job_boolean_false"]);
  });

  test("another request is none of its business", () => {
    for (const text of ["hello", "# Plan the feature", `Say ${headings.plan}`])
      assert.equal(ask(text), undefined, text);
  });
});
