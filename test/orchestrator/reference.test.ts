import assert from "node:assert/strict";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../support/cleanup.js";
import { byPrompt } from "../support/model/scriptedModel.js";
import { callTool } from "../support/orchestrator/orchestrator.js";
import {
  agentRepo,
  agentText,
  referenceFiles,
  writeAgent,
} from "../support/orchestrator/orchestratorRepo.js";
import { referencePrompts, referenceSelections } from "../support/orchestrator/orchestratorTables.js";
import { agentOf, sharedReal } from "../support/orchestrator/realOrchestrator.js";

const real = sharedReal();

describe("The reference tables on the MCP tools and the real runtime", () => {
  test("evaluate_prompt judges each prompt as listed, and the agents that it names are the ones that run", async () => {
    const { model, open, sessionsOnDisk } = await real(byPrompt({}));
    const { client, repoRoot } = await open();
    for (const { prompt, confidence, isClear, issues } of referencePrompts) {
      const { data } = await callTool(client, "evaluate_prompt", { prompt });
      assert.deepEqual([data.originalPrompt, data.confidence, data.isClear], [prompt, confidence, isClear]);
      assert.deepEqual(data.issues, issues, prompt);
    }
    /** The agents that really ran: the runtime asked the model in their name. */
    const runs = async (of: typeof client, prompt: string) => {
      const before = model.requests.length;
      const run = await callTool(of, "run_with_orchestrator", { prompt });
      const ran = model.requests.slice(before).map(({ request }) => agentOf(request));
      assert.deepEqual(ran, run.data?.selectedAgents ?? [], prompt);
      return run;
    };
    for (const [prompt, agents] of referenceSelections) {
      const { data } = await callTool(client, "evaluate_prompt", { prompt });
      assert.deepEqual(data.selectedAgents, agents, prompt);
      const run = await runs(client, prompt);
      if (agents.length > 0) assert.deepEqual(run.data.selectedAgents, agents, prompt);
      else {
        assert.equal(run.error.code, "ORCHESTRATION_FAILED", prompt);
        assert.match(run.error.details, /^Available: architecture-advisor, .*test-generator$/);
      }
    }

    const poem = "Translate my poem to French";
    const { client: withDefault } = await open({ repoRoot, env: { DEFAULT_AGENT: "Devops-Engineer" } });
    assert.deepEqual((await runs(withDefault, poem)).data.selectedAgents, ["devops-engineer"]);
    const only = Object.entries(referenceFiles()).slice(1, 2);
    const { client: alone } = await open({ files: Object.fromEntries(only) });
    assert.deepEqual((await runs(alone, poem)).data.selectedAgents, ["code-reviewer"]);
    const { client: two } = await open({ repoRoot, env: { MAX_AGENTS: "2" } });
    const [most = ""] = referenceSelections[7] ?? [];
    assert.equal((await runs(two, most)).data.selectedAgents.length, 2);
    assert.deepEqual(await sessionsOnDisk(), []);
  });

  test("list_agents reports every kind of bad file, and the usable agents run", async t => {
    const agent = (name: string, more = "", body?: string) =>
      agentText(`name: ${name}\ndescription: x${more}`, body);
    const files: Record<string, string> = {
      "good.md": agent("good", "", "You are good."),
      "no-front-matter.md": "# Only text",
      "invalid-yaml.md": agentText("name: x\ndescription: this: breaks"),
      "invalid-field.md": agentText("name: 12\ndescription: x"),
      "file-too-large.md": agent("large", "", "x".repeat(256 * 1024)),
      "zz-duplicate-name.md": agent("GOOD"),
      "shadowed.md": agent("shadow"),
      "shadowed.agent.md": agent("casting", "", "You are casting."),
      "missing-description.md": agentText("name: undescribed", "You are undescribed."),
      "empty-prompt.md": "---\nname: empty\ndescription: y\n---\n",
      "prompt-too-long.md": agent("long", "", `You are long.${"x".repeat(30_000)}`),
      "unknown-tool.md": agent("telepath", "\ntools: [view, telepathy]", "You are telepath."),
      "mcp-servers-ignored.md": agent("served", "\nmcp-servers:\n  s: {command: x}", "You are served."),
    };
    const repoRoot = await agentRepo(t, files);
    await writeAgent(repoRoot, "unreadable.md", Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]));
    const outside = join(await tempFolder(t), "secret.md");
    await writeFile(outside, agent("secret"));
    await symlink(outside, join(repoRoot, ".github/agents/outside-folder.md"));

    const { model, open } = await real(byPrompt({}));
    const { client } = await open({ repoRoot });
    const { data } = await callTool(client, "list_agents");
    const told = data.problems.map(({ file, code }: { file: string; code: string }) => [file, code]);
    const expected = [...Object.keys(files), "unreadable.md", "outside-folder.md"]
      .filter(file => !["good.md", "shadowed.agent.md"].includes(file))
      .map(file => [`.github/agents/${file}`, file.replace(/^zz-/, "").replace(/\.md$/, "")])
      // Of the two files, `shadowed.agent.md` is the usable one.
      .toSorted();
    assert.deepEqual(told.toSorted(), expected);
    const names = data.agents.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.toSorted(), [
      "casting",
      "empty",
      "good",
      "long",
      "served",
      "telepath",
      "undescribed",
    ]);
    assert.equal(data.count, names.length);
    for (const agentName of names) {
      const { status } = await callTool(client, "run_agent", { agentName, prompt: "Say hello" });
      const request = model.requests.at(-1)?.request;
      assert.ok(status === "success" && request, agentName);
      if (agentName !== "empty") assert.equal(agentOf(request), agentName);
    }
  });
});
