import type { SessionConfig } from "@github/copilot-sdk";
import type { StartupSwitches } from "../../permissions/startup/startup.js";

const nothing: StartupSwitches = { hooks: false, languageServers: false };

/** For creating and for resuming a session: the runtime remembers none of it. Sub-agents follow. */
export function startupConfig({ hooks, languageServers }: StartupSwitches = nothing) {
  return {
    enableFileHooks: hooks,
    // MCP servers, extensions, skills and agents that stand in the repository.
    enableConfigDiscovery: false,
    requestExtensions: false,
    excludedTools: languageServers ? [] : ["lsp"],
  } satisfies Partial<SessionConfig>;
}
