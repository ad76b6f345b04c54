import { tmpdir } from "node:os";
import { dirname, relative, sep } from "node:path";
import type { ModelRequest } from "../scripted/modelRequest.js";
import type { ScriptedToolCall, Step } from "../scripted/steps.js";
import { asksForReport, chooseReports, documentPath, finding, findingMark, titleOf } from "./jobPrompt.js";
import { create, folderOf, inFolder, say, shell, useTools, viewOf } from "./replies.js";
import { harmlessCommands } from "./wishes.js";

/** The file in which one step of a built-in job hands its work over to the next. */
const handoverFile = /\.copilot-portal[/\\][\w-]+\.md/g;
const maxDocumentsRead = 2;

/** A prompt longer than people's questions to a demo is a task that wants no report. */
export function isAssignment(text: string): boolean {
  return text.length > 200 || text.trim().split("\n").length > 3;
}

/** A task or a condition of a job: look around, write the document, report. The results show the progress so far. */
export function workAndReport(request: ModelRequest): Step[] {
  return lookAround(request) ?? writeDocument(request) ?? answerFindings(request) ?? report(request);
}

function lookAround(request: ModelRequest): Step[] | undefined {
  if (request.toolResults.length > 0) return undefined;
  const preparation = prepareFolder(request);
  const calls = [
    viewOf(folderOf(request)),
    shell(request, harmlessCommands[0]),
    ...documentsToRead(request.userText).map(name => viewOf(inFolder(request, name))),
    ...(preparation ? [shell(request, preparation, "Prepare the folder of the documents")] : []),
  ].filter(call => request.tools.includes(call.name));
  return calls.length > 0 ? useTools("I look at what is there first.", request, calls) : undefined;
}

/** The files that the prompt says belong to earlier work. */
function outdatedFiles(prompt: string): string[] {
  return /\bdelete\b[^\n]*/i.exec(prompt)?.[0].match(handoverFile) ?? [];
}

function documentsToRead(prompt: string): string[] {
  const others = [documentPath(prompt), ...outdatedFiles(prompt)];
  const named = new Set(prompt.match(handoverFile) ?? []);
  return [...named].filter(name => !others.includes(name)).slice(0, maxDocumentsRead);
}

/** The command that prepares the document's folder as the prompt wants it: ignored by git. */
function prepareFolder(request: ModelRequest): string | undefined {
  const document = documentOf(request);
  const folder = document && relative(folderOf(request), dirname(document));
  if (!folder || !/^[\w./-]+$/.test(folder)) return undefined;
  const ignore = `${folder}/.gitignore`;
  const outdated = outdatedFiles(request.userText).join(" ");
  return [
    `mkdir -p ${folder}`,
    ...(request.userText.includes(ignore) ? [`echo '*' > ${ignore}`] : []),
    ...(outdated ? [`rm -f ${outdated}`] : []),
  ].join(" && ");
}

function writeDocument(request: ModelRequest): Step[] | undefined {
  const document = documentOf(request);
  if (!document || called(request, "create")) return undefined;
  const named = documentPath(request.userText) ?? document;
  const order = request.userText.split("\n").find(line => line.includes(named)) ?? "";
  const listsFindings = /\b(findings?|wrong|failures?)\b/i.test(order);
  const call = create(document, listsFindings ? `\n1. minor, \`README.md:1\`. ${finding}\n` : "");
  return useTools("The task names a file for its document.", request, [call]);
}

/** Where the task wants its document, if that is in the working directory or a temporary folder. */
function documentOf(request: ModelRequest): string | undefined {
  if (!asksForReport(request.userText) || !request.tools.includes("create")) return undefined;
  const named = documentPath(request.userText);
  if (named === undefined) return undefined;
  const path = inFolder(request, named);
  return [folderOf(request), tmpdir()].some(folder => path.startsWith(folder + sep)) ? path : undefined;
}

/** Works through a review: writes an answer under each finding, if the task asks for one. */
function answerFindings(request: ModelRequest): Step[] | undefined {
  const asked = !asksForReport(request.userText) && request.userText.includes("`Answer:`");
  if (!asked || called(request, "edit") || !request.tools.includes("edit")) return undefined;
  const edits = openFindings(request).map((path): ScriptedToolCall => {
    const new_str = `${finding}\n   Answer: nothing changed, the finding was made up by the demo model.`;
    return { name: "edit", arguments: { path, old_str: finding, new_str } };
  });
  return edits.length > 0 ? useTools("Each finding gets its answer.", request, edits) : undefined;
}

/** The documents read so far that have an unanswered finding of the demo model. */
function openFindings(request: ModelRequest): string[] {
  return request.toolResults
    .filter(({ name, content }) => name === "view" && content.includes(findingMark))
    .filter(({ content }) => !content.includes("Answer:"))
    .map(result => (JSON.parse(result.arguments) as { path: string }).path);
}

function report(request: ModelRequest): Step[] {
  const document = documentOf(request);
  const reports = chooseReports({
    prompt: request.userText,
    earlierPrompts: request.userTexts.slice(0, -1),
    judgedBefore: judgedBefore(request),
    document,
    documentIsNew: request.toolResults.some(result => document !== undefined && isCreated(result, document)),
    findingsRead: openFindings(request).length > 0,
    fileIsMissing: request.toolResults.some(({ content }) => /^Path .* does not exist/.test(content)),
  });
  const next = reports.find(({ tool }) => !called(request, tool));
  if (next) {
    const call = { name: next.tool, arguments: { argument: next.argument } };
    return useTools(`More a demo cannot do, so I report with ${next.tool}.`, request, [call]);
  }
  if (reports.length === 0) {
    const title = titleOf(request.userText);
    return [say(request, `As a demo I stop here. An AI would now work on this:\n\n> ${title}`)];
  }
  const made = reports.map(({ tool, argument }) => `- \`${tool}\`: ${argument}`).join("\n");
  return [say(request, `I have reported:\n\n${made}`)];
}

function called(request: ModelRequest, tool: string): boolean {
  return request.toolResults.some(result => result.name === tool);
}

function isCreated({ name, content }: ModelRequest["toolResults"][number], path: string): boolean {
  return name === "create" && content.startsWith("Created file") && content.includes(path);
}

/** Whether an earlier turn of this session has given a verdict. */
function judgedBefore(request: ModelRequest): boolean {
  const verdicts = request.messages
    .flatMap(message => message.toolCalls)
    .filter(call => call.name.startsWith("job_boolean_")).length;
  const inThisTurn = request.toolResults.filter(result => result.name.startsWith("job_boolean_")).length;
  return verdicts > inThisTurn;
}
