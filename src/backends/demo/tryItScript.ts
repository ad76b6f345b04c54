import { fenced } from "../../base/fence.js";
import type { ModelRequest } from "../scripted/modelRequest.js";
import type { ScriptedToolCall, Step } from "../scripted/steps.js";
import { create, inFolder, say, shell, useTools, viewOf } from "./replies.js";
import { commitCommand, files, headings, lines } from "./tryItStory.js";

const plan = `# Plan

1. \`${files.test}\` expects \`1:05\` for 65 seconds and gets \`1:5\`.
2. \`${files.code}\` writes the seconds without a leading zero: pad them.
3. Let the tests decide.
`;

/** The tasks of *Try it*: only the words are scripted, and what the tools answer decides. Undefined: not one of them. */
export function tryItScript(request: ModelRequest): Step[] | undefined {
  const heading = /^# .+$/m.exec(request.userText)?.[0];
  switch (heading) {
    case headings.plan:
      return planFix(request);
    case headings.mend:
      return mendBug(request);
    case headings.commit:
      return commitFix(request);
    case headings.review:
      return reviewFix(request);
    default:
      return undefined;
  }
}

function planFix(request: ModelRequest): Step[] {
  const document = inFolder(request, files.plan);
  if (request.round === 0)
    return look("First I read the code and its test.", request, files.code, files.test);
  if (!called(request, "create"))
    return useTools("The cause is clear, so I write the plan.", request, [create(document, plan)]);
  if (!called(request, "job_prepare_document"))
    return report(request, "job_prepare_document", document, "The next agent has to find the plan.");
  return [say(request, `The plan is in \`${files.plan}\`:\n\n${plan.replace("# Plan\n\n", "")}`)];
}

/** A repeated request finds what an interrupted one has done, so each step looks at the file first. */
function mendBug(request: ModelRequest): Step[] {
  const complaint = /## Check Failed:[\s\S]*/.exec(request.userText)?.[0];
  if (request.round === 0) {
    const thought = complaint
      ? "The test still fails. I read its output and the code."
      : "I follow the plan.";
    return look(thought, request, files.code);
  }
  const code = viewed(request, files.code);
  if (complaint === undefined) {
    if (code.includes(lines.bug) && !called(request, "edit"))
      return edit(request, "The seconds need a second digit: padStart does that.", lines.bug, lines.wrong);
    return [say(request, "`padStart(2)` makes the seconds two characters long. Now the tests should pass.")];
  }
  const found = [lines.bug, lines.wrong].find(line => code.includes(line));
  if (found && !called(request, "edit"))
    return edit(request, "padStart fills up with blanks unless it is told otherwise.", found, lines.right);
  return [say(request, `${whatFailed(complaint)}I had not said what to fill up with. Now it is a zero.`)];
}

/** Quotes what the portal told, as proof that it did. */
function whatFailed(complaint: string): string {
  const actual = /'1:\s*5'/.exec(complaint)?.[0];
  return actual ? `The output of the failed test shows \`${actual}\` instead of \`'1:05'\`. ` : "";
}

function commitFix(request: ModelRequest): Step[] {
  const [result] = request.toolResults;
  if (!result) {
    const call = shell(request, commitCommand, "Commit the fix");
    return useTools("The tests pass, so I commit. This needs your permission.", request, [call]);
  }
  return [say(request, `Git answered:\n\n${fenced(result.content.trim())}`)];
}

function reviewFix(request: ModelRequest): Step[] {
  if (request.round === 0)
    return look("I have not written this, so I read it afresh.", request, files.code, files.test);
  const isRight = viewed(request, files.code).includes(lines.right);
  const tool = isRight ? "job_boolean_true" : "job_boolean_false";
  const verdict = isRight
    ? "The seconds are filled up with a zero, and a test holds it."
    : `${files.code} does not fill the seconds up with a zero.`;
  if (!called(request, tool)) return report(request, tool, verdict, "I report what I found.");
  return [say(request, verdict)];
}

function look(thought: string, request: ModelRequest, ...names: string[]): Step[] {
  return useTools(
    thought,
    request,
    names.map(name => viewOf(inFolder(request, name))),
  );
}

function edit(request: ModelRequest, thought: string, old_str: string, new_str: string): Step[] {
  const call: ScriptedToolCall = {
    name: "edit",
    arguments: { path: inFolder(request, files.code), old_str, new_str },
  };
  return useTools(thought, request, [call]);
}

function report(request: ModelRequest, name: string, argument: string, thought: string): Step[] {
  return useTools(thought, request, [{ name, arguments: { argument } }]);
}

function called(request: ModelRequest, tool: string): boolean {
  return request.toolResults.some(({ name }) => name === tool);
}

/** What the agent has seen of a file in this turn. */
function viewed(request: ModelRequest, file: string): string {
  const path = JSON.stringify(inFolder(request, file));
  const seen = request.toolResults.find(result => result.name === "view" && result.arguments.includes(path));
  return seen?.content ?? "";
}
