import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Scope, tempFolder } from "../cleanup.js";
import { type AgentSettings, sharedKey } from "./copilotCli.js";
import { opencodeCommand } from "./testAgents.js";

const config = {
  model: "scripted/plain-model",
  small_model: "scripted/plain-model",
  enabled_providers: ["scripted"],
  permission: { bash: "ask" },
  share: "disabled",
  provider: {
    scripted: {
      npm: "@ai-sdk/openai-compatible",
      name: "Scripted",
      // Its own way to read its environment.
      options: { baseURL: "{env:COPILOT_PROVIDER_BASE_URL}", apiKey: "{env:COPILOT_PROVIDER_API_KEY}" },
      models: { "plain-model": { name: "Plain" } },
    },
  },
};

/** The environment of an opencode with its own home folder, where it finds the scripted provider and downloads nothing. */
export async function opencodeHome(
  t: Scope,
): Promise<Record<"HOME" | "TMPDIR" | `OPENCODE_${string}`, string>> {
  const home = await tempFolder(t, "portal-opencode");
  const folder = join(home, ".config", "opencode");
  await mkdir(join(folder, "node_modules"), { recursive: true });
  await writeFile(join(folder, "opencode.json"), JSON.stringify(config));
  // It installs a package for plugins in the background, unless this file says that the package is there.
  const packages = { "": { dependencies: { "@opencode-ai/plugin": "*" } } };
  await writeFile(join(folder, "package-lock.json"), JSON.stringify({ packages }));
  return {
    HOME: home,
    TMPDIR: home,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  };
}

/** opencode as an ACP agent of a portal, with the portal's provider. */
export async function opencode(t: Scope): Promise<AgentSettings> {
  return {
    title: "opencode",
    command: opencodeCommand,
    args: ["acp"],
    policy: "ask",
    env: { ...sharedKey, ...(await opencodeHome(t)) },
  };
}
