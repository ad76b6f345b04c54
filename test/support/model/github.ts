import type { TestContext } from "node:test";
import type { Script } from "../../../src/backends/scripted/server.js";
import { type ScriptedModel, startScriptedModel } from "./scriptedModel.js";

/** The runtime accepts a token from the environment only with a prefix of GitHub's tokens. */
export const gitHubTokenForTest = "gho_for_tests_only";

export interface GitHubModel {
  id: string;
  name: string;
  multiplier: number;
}

export interface ScriptedGitHub extends ScriptedModel {
  /** These variables sign in the runtime, and with it the portal. */
  readonly env: {
    COPILOT_API_URL: string;
    COPILOT_DEBUG_GITHUB_API_URL: string;
    COPILOT_GITHUB_TOKEN: string;
  };
}

const quota = "ent=300&ov=0.0&ovPerm=false&rem=83.3&rst=2030-01-01T00:00:00Z";

/** The part of GitHub Copilot that the runtime needs, so that tests can sign in offline. */
export async function startScriptedGitHub(
  t: TestContext,
  options: { script?: Script; models: GitHubModel[] },
): Promise<ScriptedGitHub> {
  // The runtime calls the address in the answer, so the user's endpoint is set once it is known.
  const endpoints = { api: "" };
  const model = await startScriptedModel(t, {
    ...(options.script && { script: options.script }),
    apiKey: gitHubTokenForTest,
    models: options.models.map(({ id }) => id),
    headers: { "x-quota-snapshot-premium_interactions": quota },
    endpoints: {
      "/models": { data: options.models.map(gitHubModel) },
      "/copilot_internal/user": {
        login: "octocat",
        copilot_plan: "individual",
        is_mcp_enabled: false,
        endpoints,
        quota_snapshots: {
          premium_interactions: {
            entitlement: 300,
            remaining: 250,
            percent_remaining: 83.3,
            unlimited: false,
          },
        },
      },
    },
  });
  endpoints.api = model.origin;
  const env = {
    COPILOT_API_URL: model.origin,
    COPILOT_DEBUG_GITHUB_API_URL: model.origin,
    COPILOT_GITHUB_TOKEN: gitHubTokenForTest,
  };
  return { ...model, env };
}

/** The runtime drops a model that lacks any of these. */
function gitHubModel({ id, name, multiplier }: GitHubModel) {
  return {
    id,
    name,
    object: "model",
    vendor: "scripted",
    version: id,
    preview: false,
    model_picker_enabled: true,
    supported_endpoints: ["/chat/completions"],
    policy: { state: "enabled", terms: "" },
    billing: { is_premium: multiplier > 0, multiplier },
    capabilities: {
      type: "chat",
      family: id,
      object: "model_capabilities",
      tokenizer: "o200k_base",
      supports: { streaming: true, tool_calls: true, parallel_tool_calls: true, vision: false },
      limits: { max_context_window_tokens: 128_000, max_prompt_tokens: 128_000, max_output_tokens: 16_000 },
    },
  };
}
