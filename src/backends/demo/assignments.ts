import type { ModelRequest } from "../scripted/modelRequest.js";
import type { Step } from "../scripted/steps.js";
import { folderOf, say, shell, useTools, viewOf } from "./replies.js";
import { harmlessCommands } from "./wishes.js";

const cannot = "The demo model is a script: it cannot do or judge this. Choose a real model.";

/** A prompt longer than people's questions to a demo is a task, whether it wants a report or not. */
export function isAssignment(prompt: string): boolean {
  return asksForReport(prompt) || prompt.length > 200 || prompt.trim().split("\n").length > 3;
}

function asksForReport(prompt: string): boolean {
  if (!/\bjob_(prepare_document|boolean_true|boolean_false|prerequisite_failed)\b/.test(prompt)) return false;
  // "What is job_boolean_true?" is a question to answer, not an order.
  return !/^(what|how|why|which|where|explain|tell)\b/i.test(prompt) || /\b(call|report|use)\b/i.test(prompt);
}

/** A task of a job, or the question whether it is done: a script can do neither, so neither may end well. */
export function declineAssignment(request: ModelRequest): Step[] {
  const { userText, toolResults, tools } = request;
  const look = [viewOf(folderOf(request)), shell(request, harmlessCommands[0])];
  const known = look.filter(call => tools.includes(call.name));
  if (toolResults.length === 0 && known.length > 0)
    return useTools("I look at what is there first.", request, known);
  const tool = refusalFor(userText);
  if (tool && !toolResults.some(result => result.name === tool)) {
    const call = { name: tool, arguments: { argument: cannot } };
    return useTools(`I cannot do this, so I report it with ${tool}.`, request, [call]);
  }
  return [say(request, `I am a script, so nothing was done about this:\n\n> ${titleOf(userText)}`)];
}

/** The report that says no; there is none where only success is reported. */
export function refusalFor(prompt: string): string | undefined {
  if (/\bjob_boolean_(true|false)\b/.test(prompt)) return "job_boolean_false";
  return prompt.includes("job_prerequisite_failed") ? "job_prerequisite_failed" : undefined;
}

/** The heading, or the first line that says something, short enough for a title. */
function titleOf(prompt: string): string {
  const lines = prompt.split("\n").filter(line => /\w/.test(line) && !line.startsWith("The session crashed"));
  const title = (lines.find(line => line.startsWith("# ")) ?? lines[0] ?? "").replace(/^[#\s]+/, "").trim();
  return title.length > 60 ? `${title.slice(0, 57)}...` : title;
}
