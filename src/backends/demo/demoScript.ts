import { tmpdir } from "node:os";
import { isAbsolute, join, sep } from "node:path";
import type { ModelRequest, ToolResult } from "../scripted/modelRequest.js";
import type { ScriptedToolCall, Step } from "../scripted/steps.js";
import { asksForReport, chooseReports, documentPath, titleOf } from "./jobPrompt.js";
import { abilities, markdownSample, topicOf } from "./topics.js";
import { harmlessCommands, type Wish, wishOf } from "./wishes.js";

const delegatedPrompt = "List the files of the working directory.";
const maxQuotedLines = 20;
const maxListedNames = 40;

/** The demo model: what it does next, chosen from the conversation alone. */
export function demoScript(request: ModelRequest): Step[] {
  if (request.reason === "compaction") return [{ text: summary(request) }];
  if (request.reason === "notification") return [{ text: signed(request, "The background work has ended.") }];
  if (asksForReport(request.userText) || isAssignment(request.userText)) return workAndReport(request);
  const question = /^(how|why|what (is|are)|do i|tell me about|explain)\b/i.test(request.userText);
  const topic = topicOf(request.userText);
  const wish = wishOf(request.userText);
  if (topic && (question || !wish) && wish?.kind !== "read") {
    return [{ reasoning: think("It is a question about the portal, so I answer it.") }, say(request, topic)];
  }
  return wish ? fulfil(request, wish) : [{ reasoning: think("There is no script for this.") }, lost(request)];
}

/** Each wish is a few tool calls and then an answer; the results so far say how far it has come. */
function fulfil(request: ModelRequest, wish: Wish): Step[] {
  const [result] = request.toolResults;
  switch (wish.kind) {
    case "list":
      if (!result)
        return useTools("I look into the working directory.", request, [viewOf(folderOf(request))]);
      return [say(request, listing(result.content))];
    case "read":
      if (!result) return useTools(`I read ${wish.file}.`, request, [viewOf(inFolder(request, wish.file))]);
      return [say(request, `Here is how \`${wish.file}\` begins:\n\n${quote(result.content)}`)];
    case "run":
      if (!result)
        return useTools(`\`${wish.command}\` changes nothing.`, request, [shell(request, wish.command)]);
      return [say(request, `\`${wish.command}\` answered:\n\n${quote(withoutShellNote(result.content))}`)];
    case "write":
      if (!result) return useTools("I was asked for a file.", request, [create(request, wish.file)]);
      return [
        say(
          request,
          `I asked the \`create\` tool for \`${wish.file}\`. It answered:\n\n${quote(result.content)}`,
        ),
      ];
    case "delegate":
      if (!result) return useTools("I let another agent look.", request, [delegate()]);
      return [say(request, `The sub-agent reported:\n\n${result.content}`)];
    case "refuseToRun": {
      const known = harmlessCommands.map(command => `- \`${command}\``).join("\n");
      return [say(request, `As a demo I run only commands that change nothing:\n\n${known}`)];
    }
    case "markdown":
      return [{ reasoning: think("I show what the page can render.") }, say(request, markdownSample)];
  }
}

/** Longer than what people ask a demo: the prompt of a task that wants no report. */
function isAssignment(text: string): boolean {
  return text.length > 200 || text.trim().split("\n").length > 3;
}

/** A task or a condition of a job: look around, write what was asked for, report. */
function workAndReport(request: ModelRequest): Step[] {
  const prompt = request.userText;
  const called = (name: string) => request.toolResults.some(result => result.name === name);
  const offered = (call: ScriptedToolCall) => request.tools.includes(call.name);
  const looks = [viewOf(folderOf(request)), shell(request, harmlessCommands[0])].filter(offered);
  if (request.toolResults.length === 0 && looks.length > 0) {
    return useTools("I look at the working directory first.", request, looks);
  }
  const document = request.tools.includes("create") ? documentOf(request) : undefined;
  if (document && !called("create")) {
    return useTools("The task names a file for its document.", request, [create(request, document)]);
  }
  const earlierPrompts = request.userTexts.slice(0, -1);
  const reports = chooseReports({ prompt, earlierPrompts, judgedBefore: judgedBefore(request), document });
  const next = reports.find(report => !called(report.tool));
  if (next) {
    const call = { name: next.tool, arguments: { argument: next.argument } };
    return useTools(`The work is done as far as a demo can do it. I report with ${next.tool}.`, request, [
      call,
    ]);
  }
  if (reports.length === 0) {
    return [say(request, `As a demo I stop here. An AI would now work on this:\n\n> ${titleOf(prompt)}`)];
  }
  const made = reports.map(({ tool, argument }) => `- \`${tool}\`: ${argument}`).join("\n");
  return [say(request, `I have reported:\n\n${made}`)];
}

/** Where the task wants its document, if that is in the working directory or among temporary files. */
function documentOf(request: ModelRequest): string | undefined {
  const named = asksForReport(request.userText) ? documentPath(request.userText) : undefined;
  if (named === undefined) return undefined;
  const path = inFolder(request, named);
  return [folderOf(request), tmpdir()].some(folder => path.startsWith(folder + sep)) ? path : undefined;
}

/** Whether an earlier turn of this session has given a verdict. */
function judgedBefore(request: ModelRequest): boolean {
  const verdicts = request.messages
    .flatMap(message => message.toolCalls)
    .filter(call => call.name.startsWith("job_boolean_")).length;
  const inThisTurn = request.toolResults.filter(result => result.name.startsWith("job_boolean_")).length;
  return verdicts > inThisTurn;
}

function useTools(thought: string, request: ModelRequest, calls: ScriptedToolCall[]): Step[] {
  const missing = calls.filter(call => !request.tools.includes(call.name));
  if (missing.length === 0) return [{ reasoning: think(thought) }, { toolCalls: calls }];
  const names = missing.map(call => `\`${call.name}\``).join(" and ");
  return [say(request, `This needs ${names}, which this session does not offer to me.`)];
}

function viewOf(path: string): ScriptedToolCall {
  return { name: "view", arguments: { path } };
}

function shell(request: ModelRequest, command: string): ScriptedToolCall {
  const name = request.tools.includes("powershell") ? "powershell" : "bash";
  return { name, arguments: { command, description: "A harmless command of the demo" } };
}

function create(request: ModelRequest, file: string): ScriptedToolCall {
  const text = `# Written by the demo model

Copilot Portal's demo model was asked for this file. It means nothing and may be deleted.
`;
  return { name: "create", arguments: { path: inFolder(request, file), file_text: text } };
}

function delegate(): ScriptedToolCall {
  const work = { name: "look-around", description: "Look around", prompt: delegatedPrompt };
  return { name: "task", arguments: { ...work, agent_type: "explore", mode: "sync" } };
}

function folderOf(request: ModelRequest): string {
  return request.workingDirectory ?? ".";
}

function inFolder(request: ModelRequest, file: string): string {
  return isAbsolute(file) ? file : join(folderOf(request), file);
}

function listing(content: string): string {
  const names = content.split("\n").filter(name => name !== "");
  const shown = names.slice(0, maxListedNames).map(name => `- \`${name}\``);
  if (names.length > shown.length) shown.push(`- and ${names.length - shown.length} more`);
  return `The working directory has:\n\n${shown.join("\n")}\n\nSay \`read NAME\` and I show you a file.`;
}

/** In a fence that is longer than any in the text. */
function quote(content: string): string {
  const lines = content.trimEnd().split("\n");
  const longest = Math.max(2, ...(content.match(/`+/g) ?? []).map(run => run.length));
  const fence = "`".repeat(longest + 1);
  const more = lines.length > maxQuotedLines ? `\n\n(${lines.length - maxQuotedLines} more lines)` : "";
  return `${fence}\n${lines.slice(0, maxQuotedLines).join("\n") || "(nothing)"}\n${fence}${more}`;
}

function withoutShellNote(content: ToolResult["content"]): string {
  return content.replace(/\n?<shellId: [^>]*>\s*$/, "");
}

function think(thought: string): string {
  return `${thought} I am a script, so there is not much to think about.`;
}

function say(request: ModelRequest, text: string): Step {
  return { text: signed(request, text) };
}

/** Nobody may take it for an AI: the first answer says so at length, each later one in a line. */
function signed(request: ModelRequest, text: string): string {
  if (request.subAgent) return text;
  const note =
    request.userTexts.length > 1
      ? "Demo model: a scripted reply."
      : "I am the demo model: a script inside the portal, not an AI. My tools are real, my wits are not. " +
        "Ask me `how do I sign in?` to get a real model.";
  return `${text}\n\n---\n*${note}*\n`;
}

function lost(request: ModelRequest): Step {
  return say(request, `I am only a demo and have no answer to that.\n\n${abilities}`);
}

function summary(request: ModelRequest): string {
  const asked = request.userTexts.map(text => `- ${text.split("\n")[0]}`).join("\n");
  return `The user talked to the demo model of Copilot Portal and asked:\n${asked}`;
}
