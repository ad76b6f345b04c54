import type { SessionConfig } from "@github/copilot-sdk";
import type { StartupSwitches } from "../../permissions/startup/startup.js";

const nothing: StartupSwitches = { hooks: false, languageServers: false };

/** For creating and resuming a session, since the runtime remembers none of it. Applies to sub-agents too. */
export function startupConfig({ hooks, languageServers }: StartupSwitches = nothing) {
  return {
    enableFileHooks: hooks,
    // MCP servers, extensions, skills and agents in the repository.
    enableConfigDiscovery: false,
    requestExtensions: false,
    excludedTools: languageServers ? [] : ["lsp"],
  } satisfies Partial<SessionConfig>;
}
