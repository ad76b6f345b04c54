import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { packageRoot } from "../../src/base/paths.js";
import { fakeAgent } from "../support/acp.js";
import {
  type DocumentedCall,
  documentedCalls,
  fillPlaceholders,
  placeholdersOf,
} from "../support/apiDocument.js";
import { tempFolder } from "../support/cleanup.js";
import { startPortal } from "../support/portal.js";
import { barrier, byPrompt, callTool, runShell, startScriptedModel } from "../support/scriptedModel.js";

const run = promisify(execFile);

/** Described there, but only agents call them: their addresses are secrets that no answer shows. */
const forAgentsOnly = ["/api/acp/mcp/{token}"];

interface Operation {
  deprecated?: boolean;
  responses: { 200: { content: Record<string, { schema: object } | undefined> } };
}
type Paths = Record<string, Record<string, Operation>>;

const curlTimedOut = 28;
/** How long to read a stream that does not end by itself. */
const streamSeconds = "2";

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

/** An agent that knows one conversation. */
async function configWithAgent(folder: string): Promise<string> {
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

describe("API.md", () => {
  test("every curl line in API.md works and answers as its example and its schema say", async t => {
    const text = await readFile(join(packageRoot, "API.md"), "utf8");
    const calls = documentedCalls(text);
    for (const path of forAgentsOnly) assert.ok(text.includes(`\n### ${path.slice("/api/".length)}\n`), path);
    const folder = await tempFolder(t);
    // The job writes until it is stopped.
    const model = await startScriptedModel(
      t,
      byPrompt({
        Write: [barrier().step],
        "Run a command": [[runShell("git status")], [{ text: "Done." }]],
        "Ask me": [[callTool("ask_user", { question: "Which colour?" })], [{ text: "Thank you." }]],
      }),
    );
    const portal = await startPortal(t, {
      model,
      args: ["--test", "--config", await configWithAgent(folder)],
    });
    const { paths } = (await portal.api<{ paths: Paths }>("openapi.json")).body;
    const values = new Map<string, string>();
    const ajv = new Ajv2020();
    const documented = new Set<string>();

    for (const call of calls) {
      await t.test(`the call in line ${call.line} works: ${call.command}`, async () => {
        const { path, operation } = findOperation(paths, call);
        documented.add(path);
        const command = fillPlaceholders(call.command, values).replaceAll(
          "http://localhost:8888",
          portal.url,
        );
        const { status, mediaType, text } = await runCurl(command, folder);
        assert.equal(status, 200, text);
        const content = operation.responses[200].content[mediaType];
        assert.ok(content, `${mediaType} is not the media type in openapi.json`);
        if (mediaType !== "application/json") return;
        const validate = ajv.compile(content.schema);
        assert.ok(validate(JSON.parse(text)), `${text}\n${JSON.stringify(validate.errors)}`);
        assert.ok(call.example !== undefined, "there is an example of the answer");
        assert.ok(validate(JSON.parse(call.example)), `example: ${JSON.stringify(validate.errors)}`);
        assert.equal(JSON.parse(text).error, JSON.parse(call.example).error, text);
        for (const [name, value] of placeholdersOf(JSON.parse(text))) values.set(name, value);
      });
    }

    const expected = Object.keys(paths).filter(
      path =>
        !forAgentsOnly.includes(path) && !Object.values(paths[path] ?? {}).every(each => each.deprecated),
    );
    assert.deepEqual([...documented].sort(), expected.sort(), "every route is documented");
    assert.equal(calls.at(-1)?.path, "/api/stop", "the call that stops the portal comes last");
    assert.equal((await portal.kill("SIGTERM")).code, 0);
  });
});
