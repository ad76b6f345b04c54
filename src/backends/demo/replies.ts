import { isAbsolute, join } from "node:path";
import type { ModelRequest } from "../scripted/modelRequest.js";
import type { ScriptedToolCall, Step } from "../scripted/steps.js";

const delegatedPrompt = "List the files of the working directory.";
const fileText = `# Written by the demo model

Copilot Portal's demo model was asked for this file. It means nothing and may be deleted.
`;

export function useTools(thought: string, request: ModelRequest, calls: ScriptedToolCall[]): Step[] {
  const missing = calls.filter(call => !request.tools.includes(call.name));
  if (missing.length === 0) return [{ reasoning: think(thought) }, { toolCalls: calls }];
  const names = missing.map(call => `\`${call.name}\``).join(" and ");
  return [say(request, `This needs ${names}, which this session does not offer to me.`)];
}

export function viewOf(path: string): ScriptedToolCall {
  return { name: "view", arguments: { path } };
}

export function shell(
  request: ModelRequest,
  command: string,
  description = "A command that changes nothing",
): ScriptedToolCall {
  const name = request.tools.includes("powershell") ? "powershell" : "bash";
  return { name, arguments: { command, description } };
}

/** The runtime's tool never overwrites an existing file. */
export function create(path: string, file_text = fileText): ScriptedToolCall {
  return { name: "create", arguments: { path, file_text } };
}

export function delegate(): ScriptedToolCall {
  const work = { name: "look-around", description: "Look around", prompt: delegatedPrompt };
  return { name: "task", arguments: { ...work, agent_type: "explore", mode: "sync" } };
}

export function folderOf(request: ModelRequest): string {
  return request.workingDirectory ?? ".";
}

export function inFolder(request: ModelRequest, file: string): string {
  return isAbsolute(file) ? file : join(folderOf(request), file);
}

export function think(thought: string): string {
  return `${thought} I am a script, so there is not much to think about.`;
}

export function say(request: ModelRequest, text: string): Step {
  return { text: signed(request, text) };
}

/** Nobody may mistake it for an AI: the first answer explains it, each later one says it in one line. */
export function signed(request: ModelRequest, text: string): string {
  if (request.subAgent) return text;
  const note =
    request.userTexts.length > 1
      ? "Demo model: a scripted reply."
      : "I am the demo model: a script inside the portal, not an AI. My tools are real, my wits are not. " +
        "Ask me `how do I sign in?` to get a real model.";
  return `${text}\n\n---\n*${note}*\n`;
}
