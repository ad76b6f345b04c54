import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { approveAll, type CopilotClient } from "@github/copilot-sdk";
import { workspaceFingerprint } from "../../src/orchestrator/run/fingerprint.js";
import { groupScope } from "../support/cleanup.js";
import {
  claudeHook,
  curiousModel,
  type HostileRepository,
  hook,
  hostileRepository,
  server,
} from "../support/hostile/hostileRepository.js";
import { callTool } from "../support/orchestrator/orchestrator.js";
import { agentText } from "../support/orchestrator/orchestratorRepo.js";
import { startReal } from "../support/orchestrator/realOrchestrator.js";
import { runTurn, startBareSession, startRuntime } from "../support/portal/runtime.js";

interface Row {
  what: string;
  why: string;
  fill(repo: HostileRepository): Promise<void>;
  /** What runs it without the portal's protection; absent when nothing does. */
  bare?: "session" | "git";
}

const rows: readonly Row[] = [
  {
    what: "a hook",
    why: "an agent that may only read must not write through the repository's hooks",
    fill: repo => repo.write(".github/hooks/x.json", hook("sessionStart", repo.trace("ran"))),
    bare: "session",
  },
  {
    what: "a hook in Claude Code's settings",
    why: "the runtime reads those settings too",
    fill: repo => repo.write(".claude/settings.json", claudeHook("UserPromptSubmit", repo.trace("ran"))),
    bare: "session",
  },
  {
    what: "a language server",
    why: "an agent without a list of tools has every tool, and a language server starts without a permission",
    fill: repo => repo.write(".github/lsp.json", server("lspServers", repo.trace("ran"))),
    bare: "session",
  },
  {
    what: "core.fsmonitor in its git settings",
    why: "the cache of answers asks git what has changed",
    async fill(repo) {
      repo.git("init", "-q");
      await repo.write("monitor.sh", `#!/bin/sh\n${repo.trace("ran")}\n`);
      repo.git("config", "core.fsmonitor", `sh ${repo.root}/monitor.sh #`);
    },
    bare: "git",
  },
  {
    what: "an MCP server in .mcp.json",
    why: "no agent gets the repository's servers",
    fill: repo => repo.write(".mcp.json", server("mcpServers", repo.trace("ran"))),
  },
  {
    what: "an MCP server in the agent's own file",
    why: "ALLOW_AGENT_MCP_SERVERS is not set",
    fill: repo =>
      repo.write(
        ".github/agents/evil.md",
        agentText(
          `name: evil\ndescription: x\nmcp-servers: {evil: {type: local, command: sh, args: ["-c", "${repo.trace("ran")}"], tools: ["*"]}}`,
        ),
      ),
  },
];

describe("A run of a repository's agents", () => {
  const group = groupScope();
  let real: Awaited<ReturnType<typeof startReal>>;
  let bareRuntime: CopilotClient;
  before(async () => {
    real = await startReal(group, curiousModel);
    bareRuntime = await startRuntime(group);
  });

  for (const { what, why, fill, bare } of rows) {
    test(`does not run ${what}: ${why}`, async t => {
      const repo = await hostileRepository(t);
      await repo.write(
        ".github/agents/evil.md",
        agentText("name: evil\ndescription: Looks around\nkeywords: [look]"),
      );
      await fill(repo);
      for (const AGENT_PERMISSIONS of ["read-only", "declared", "all"]) {
        const { client } = await real.open({ repoRoot: repo.root, env: { AGENT_PERMISSIONS } });
        const { status } = await callTool(client, "run_agent", { agentName: "evil", prompt: "Look around" });
        assert.equal(status, "success", AGENT_PERMISSIONS);
        await workspaceFingerprint(repo.root);
        assert.deepEqual(await repo.ran(), [], AGENT_PERMISSIONS);
      }
      if (!bare) return;
      if (bare === "git") repo.git("status");
      else {
        const session = await startBareSession(bareRuntime, real.model, {
          workingDirectory: repo.root,
          onPermissionRequest: approveAll,
          model: "plain-model",
        });
        await runTurn(session, "Look around");
      }
      assert.deepEqual(
        await repo.ran(),
        ["ran"],
        "it does not run without the protection either, so this row proves nothing",
      );
    });
  }
});
