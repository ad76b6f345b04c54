import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { packageRoot } from "../../src/base/paths.js";
import { tempFolder } from "../support/cleanup.js";
import { byPrompt, startScriptedModel } from "../support/model/scriptedModel.js";
import { mcpEnvironment } from "../support/orchestrator/mcp.js";
import { callTool, connectClient, startModule } from "../support/orchestrator/orchestrator.js";
import { agentRepo, agentText, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";
import { startReal } from "../support/orchestrator/realOrchestrator.js";
import { processesWith } from "../support/processes.js";

const source = (path: string) => pathToFileURL(join(packageRoot, "dist", "src", path)).href;

/** A program that uses the module as a library and ends only when nothing keeps it alive. */
const program = `
import { pino } from "${import.meta.resolve("pino")}";
import { createOrchestrator } from "${source("orchestrator/createOrchestrator.js")}";
import { readOrchestratorConfig } from "${source("orchestrator/orchestratorConfig.js")}";
const log = pino({ level: "silent" });
const module = createOrchestrator({ config: readOrchestratorConfig(process.env), log });
const { finalOutput } = await module.orchestrator.runWithAuto("Write tests");
await Promise.all([module.close(), module.close()]);
process.stdout.write(finalOutput.split("\\n")[0]);
`;

describe("The orchestrator as a library", () => {
  test("runs agents on its own runtime, and leaves nothing that keeps its program alive", async t => {
    const model = await startScriptedModel(t, byPrompt({}));
    const home = await tempFolder(t, "mcp-copilot");
    const env = mcpEnvironment({ repoRoot: await agentRepo(t, referenceFiles()), model }, home);
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { env });
    assert.equal((await run).stdout, "You said: Write tests");
    assert.deepEqual(await processesWith("COPILOT_HOME", home), []);
  });

  test("leaves its host's client running when it closes", async t => {
    const { open } = await startReal(t, byPrompt({}));
    const [one, two] = [await open(), await open()];
    const run = ({ module }: typeof one) => module.orchestrator.runAgent("code-reviewer", "Review auth.go");
    assert.equal((await run(one)).agent, "code-reviewer");
    await one.module.close();
    assert.equal((await run(two)).output?.text, "You said: Review auth.go");
    assert.equal(await two.module.invoker.isAvailable(), true);
  });

  test("has a registry, an evaluator and an invoker that work without MCP", async t => {
    const { module } = await startModule(t);
    await module.registry.current();
    assert.deepEqual(
      module.registry.all().map(({ name }) => name),
      Object.keys(referenceFiles()).map(file => file.replace(".md", "")),
    );
    assert.equal(module.registry.get("Test-Generator").name, "test-generator");
    assert.throws(() => module.registry.get("nobody"), { code: "AGENT_NOT_FOUND" });
    assert.deepEqual(
      module.registry.matchKeywords(["docker"], 1).map(({ name }) => name),
      ["devops-engineer"],
    );
    const known = module.registry.get("code-reviewer");
    assert.throws(() => module.registry.add(known), /already/);
    assert.throws(() => module.registry.add({ ...known, name: " " }), /name/);
    const { evaluate, extractKeywords, suggestRefinement } = module.evaluator;
    assert.equal(evaluate("hello").confidence, 0);
    assert.deepEqual(extractKeywords("Review code quality"), ["review", "code", "quality"]);
    assert.equal(suggestRefinement("Review the auth module"), "Review the auth module");
    await module.invoker.checkAuth();
    await assert.rejects(module.orchestrator.runWithExplicitChain("hello", []), {
      code: "ORCHESTRATION_FAILED",
    });
  });

  test("keeps two repositories in one program apart", async t => {
    const one = await startModule(t, { files: { "a.md": agentText("name: one\ndescription: x") } });
    const two = await startModule(t, { files: { "a.md": agentText("name: two\ndescription: x") } });
    const names = async ({ module }: typeof one) =>
      (await callTool(await connectClient(t, module), "list_agents")).data.agents.map(
        (agent: { name: string }) => agent.name,
      );
    assert.deepEqual(await Promise.all([names(one), names(two)]), [["one"], ["two"]]);
    await one.module.close();
    await one.module.close();
    assert.deepEqual(await names(two), ["two"]);
  });
});
