import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { packageRoot } from "../../../src/base/paths.js";
import { defer, tempFolder } from "../cleanup.js";
import type { ScriptedModel } from "../model/scriptedModel.js";
import { newClient } from "./orchestrator.js";

export const mcpProgram = join(packageRoot, "dist", "src", "mcp.js");

/** A model name of the family that gets `create`, `edit` and `grep` from the runtime. */
export const mcpModelId = "claude-sonnet-4.6";

export interface McpOptions {
  repoRoot: string;
  model?: Pick<ScriptedModel, "baseUrl" | "apiKey">;
  env?: Record<string, string>;
}

/** Leaves out the developer's own settings of models, sign-in and this server. */
export function mcpEnvironment({ repoRoot, model, env }: McpOptions, home: string): Record<string, string> {
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR && { TMPDIR }),
    REPO_ROOT: repoRoot,
    COPILOT_HOME: home,
    GH_CONFIG_DIR: join(home, "gh"),
    ...(model && {
      COPILOT_PROVIDER_BASE_URL: model.baseUrl,
      COPILOT_PROVIDER_API_KEY: model.apiKey,
      COPILOT_MODEL: mcpModelId,
    }),
    ...env,
  };
}

/** The built server over stdio, as a client starts it, and a connected client. */
export async function startMcp(
  t: TestContext,
  options: McpOptions,
): Promise<{ client: Client; home: string; pid: number; stderr(): string }> {
  const home = await tempFolder(t, "mcp-copilot");
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [mcpProgram],
    env: mcpEnvironment(options, home),
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", chunk => {
    stderr += chunk;
  });
  const client = newClient();
  defer(t, () => client.close());
  await client.connect(transport);
  await client.listTools();
  return { client, home, pid: transport.pid ?? 0, stderr: () => stderr };
}
