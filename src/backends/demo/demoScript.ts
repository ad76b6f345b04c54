import { fenceFor } from "../../base/fence.js";
import type { ModelRequest, ToolResult } from "../scripted/modelRequest.js";
import type { Step } from "../scripted/steps.js";
import { declineAssignment, isAssignment } from "./assignments.js";
import {
  create,
  delegate,
  folderOf,
  inFolder,
  say,
  shell,
  signed,
  think,
  useTools,
  viewOf,
} from "./replies.js";
import { abilities, markdownSample, topicOf } from "./topics.js";
import { tryItScript } from "./tryItScript.js";
import { tryItModel } from "./tryItStory.js";
import { harmlessCommands, type Wish, wishOf } from "./wishes.js";

/** The demo model reads only the beginning of a request. */
const maxReadChars = 10_000;
const maxQuotedLines = 20;
const maxListedNames = 40;

/** A script uses no tokens, and figures that its length suggests would look like a bill. */
const nothingUsed: Step = { usage: { inputTokens: 0, outputTokens: 0 } };

/** Chooses what the demo model does next, from the conversation alone. */
export function demoScript(request: ModelRequest): Step[] {
  return [nothingUsed, ...stepsFor(request)];
}

function stepsFor(whole: ModelRequest): Step[] {
  const read = (text: string) => text.slice(0, maxReadChars);
  const request = { ...whole, userText: read(whole.userText), userTexts: whole.userTexts.map(read) };
  if (request.reason === "compaction") return [{ text: summary(request) }];
  if (request.reason === "notification") return [{ text: signed(request, "The background work has ended.") }];
  const tried = request.model === tryItModel ? tryItScript(request) : undefined;
  if (tried) return tried;
  if (isAssignment(request.userText)) return declineAssignment(request);
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
      if (!result)
        return useTools("I was asked for a file.", request, [create(inFolder(request, wish.file))]);
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

function listing(content: string): string {
  const names = content.split("\n").filter(name => name !== "");
  const shown = names.slice(0, maxListedNames).map(name => `- \`${name}\``);
  if (names.length > shown.length) shown.push(`- and ${names.length - shown.length} more`);
  return `The working directory has:\n\n${shown.join("\n")}\n\nSay \`read NAME\` and I show you a file.`;
}

/** Puts the text in a fence that is longer than any inside it. */
function quote(content: string): string {
  const lines = content.trimEnd().split("\n");
  const fence = fenceFor(content);
  const more = lines.length > maxQuotedLines ? `\n\n(${lines.length - maxQuotedLines} more lines)` : "";
  return `${fence}\n${lines.slice(0, maxQuotedLines).join("\n") || "(nothing)"}\n${fence}${more}`;
}

function withoutShellNote(content: ToolResult["content"]): string {
  return content.replace(/\n?<shellId: [^<>]*>\s*$/, "");
}

function lost(request: ModelRequest): Step {
  return say(request, `I am only a demo and have no answer to that.\n\n${abilities}`);
}

function summary(request: ModelRequest): string {
  const asked = request.userTexts.map(text => `- ${text.split("\n")[0]}`).join("\n");
  return `The user talked to the demo model of Copilot Portal and asked:\n${asked}`;
}
