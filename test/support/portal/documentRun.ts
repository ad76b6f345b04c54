import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { packageRoot } from "../../../src/base/paths.js";
import { fakeAgent } from "../acp/acp.js";
import { barrier, byPrompt, callTool, runShell } from "../model/scriptedModel.js";
import { type DocumentedCall, documentedCalls, fillPlaceholders, placeholdersOf } from "./apiDocument.js";

const run = promisify(execFile);

interface Operation {
  deprecated?: boolean;
  responses: { 200: { content: Record<string, { schema: object } | undefined> } };
}
/** As `openapi.json` has them. */
export type Paths = Record<string, Record<string, Operation>>;

const curlTimedOut = 28;
/** How long to read a stream that does not end by itself. */
const streamSeconds = "2";

/** What the model of the document says: the job writes until it is stopped. */
export const documentScript = () =>
  byPrompt({
    Write: [barrier().step],
    "Run a command": [[runShell("git status")], [{ text: "Done." }]],
    "Ask me": [[callTool("ask_user", { question: "Which colour?" })], [{ text: "Thank you." }]],
  });

/** A config with an agent that knows one conversation. */
export async function configWithAgent(folder: string): Promise<string> {
  const memory = join(folder, "memory");
  await mkdir(memory);
  await writeFile(join(memory, "747c0a52.json"), JSON.stringify({ prompts: ["Fix the build"] }));
  const gemini = fakeAgent(
    {
      modes: { currentModeId: "default", availableModes: [{ id: "default" }, { id: "plan" }] },
      configOptions: [
        {
          type: "select",
          id: "model",
          category: "model",
          currentValue: "pro",
          options: [{ value: "flash" }, { value: "pro" }],
        },
      ],
    },
    { title: "Gemini" },
    memory,
  );
  const file = join(folder, "portal.config.json");
  await writeFile(file, JSON.stringify({ acpAgents: { gemini } }));
  return file;
}

/** Runs a documented line with the real curl; a stream is read for a moment. */
async function runCurl(command: string, folder: string) {
  const streams = command.startsWith("curl -N ");
  const file = join(folder, "answer");
  const extra = [
    "curl -sS",
    streams ? `--max-time ${streamSeconds}` : "",
    `-o '${file}'`,
    "-w '%{http_code} %{content_type}'",
  ];
  const line = command.replace(/^curl/, extra.join(" "));
  const { stdout } = await run("sh", ["-c", line], { cwd: packageRoot }).catch(error => {
    if (streams && error.code === curlTimedOut) return error as { stdout: string };
    throw error;
  });
  const [status = "", mediaType = ""] = stdout.split(/[ ;]+/);
  return { status: Number(status), mediaType, text: await readFile(file, "utf8") };
}

/** No wait that is documented ends sooner when nothing happens. */
const shortestWaitMs = 4_000;

/** On a slow machine an agent may ask for permission only after the wait has ended; a client then waits again. */
async function runUntilAsked(line: string, folder: string) {
  for (let calls = 0; ; calls++) {
    const startedAtMs = performance.now();
    const answer = await runCurl(line, folder);
    if (!line.includes("?wait=true") || answer.text !== '{"requests":[]}' || calls === 10) return answer;
    assert.ok(performance.now() - startedAtMs > shortestWaitMs, "the call waited");
  }
}

function findOperation(
  paths: Paths,
  { path, method }: DocumentedCall,
): { path: string; operation: Operation } {
  const fixedFirst = Object.keys(paths).sort((a, b) => a.split("{").length - b.split("{").length);
  const found = fixedFirst.find(candidate => {
    const pattern = candidate.replaceAll(/[.]/g, "\\.").replaceAll(/\{\w+\}/g, "[^/]+");
    return new RegExp(`^${pattern}$`).test(path);
  });
  const operation = found === undefined ? undefined : paths[found]?.[method.toLowerCase()];
  if (found === undefined || operation === undefined) throw new Error(`There is no ${method} ${path}`);
  return { path: found, operation };
}

/** The routes that are not only an older form of another one. */
export const currentRoutes = (paths: Paths) =>
  Object.keys(paths).filter(path => !Object.values(paths[path] ?? {}).every(each => each.deprecated));

/** A call as it was made, with what it was answered. */
export interface MadeCall {
  /** The route, as `openapi.json` names it. */
  readonly route: string;
  readonly call: DocumentedCall;
  /** The line without its host. */
  readonly command: string;
  readonly mediaType: string;
  readonly text: string;
}

export interface DocumentRun {
  readonly text: string;
  readonly paths: Paths;
  readonly folder: string;
  /** The origin of the portal that gets a call to this route. */
  urlOf(route: string, call: DocumentedCall): string;
  made?(call: MadeCall): Promise<void>;
  /** The errors that these routes answer here, unlike in the document. */
  readonly errors?: Readonly<Record<string, string>>;
}

/** Runs every curl line of API.md; each answer must be as its example and its schema say. Returns the routes. */
export async function runDocument(t: TestContext, document: DocumentRun): Promise<Set<string>> {
  const { paths, folder } = document;
  const values = new Map<string, string>();
  const ajv = new Ajv2020();
  const routes = new Set<string>();
  for (const call of documentedCalls(document.text)) {
    await t.test(`the call in line ${call.line} works: ${call.command}`, async () => {
      const { path: route, operation } = findOperation(paths, call);
      routes.add(route);
      const command = fillPlaceholders(call.command, values);
      const line = command.replaceAll("http://localhost:8888", document.urlOf(route, call));
      const { status, mediaType, text } = await runUntilAsked(line, folder);
      assert.equal(status, 200, text);
      const content = operation.responses[200].content[mediaType];
      assert.ok(content, `${mediaType} is not the media type in openapi.json`);
      await document.made?.({ route, call, command, mediaType, text });
      if (mediaType !== "application/json") return;
      const validate = ajv.compile(content.schema);
      assert.ok(validate(JSON.parse(text)), `${text}\n${JSON.stringify(validate.errors)}`);
      assert.ok(call.example !== undefined, "there is an example of the answer");
      assert.ok(validate(JSON.parse(call.example)), `example: ${JSON.stringify(validate.errors)}`);
      const expected = document.errors?.[route] ?? JSON.parse(call.example).error;
      assert.equal(JSON.parse(text).error, expected, text);
      for (const [name, value] of placeholdersOf(JSON.parse(text))) values.set(name, value);
    });
  }
  return routes;
}
