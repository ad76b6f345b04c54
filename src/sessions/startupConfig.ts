import type { SessionConfig } from "@github/copilot-sdk";

/** What the runtime may run of a repository by itself. */
export interface StartupSwitches {
  /** Commands of `.github/hooks` and of the settings beside it, at each session, request and tool call. */
  hooks: boolean;
  /** Programs of `.github/lsp.json`. Their tool asks nobody, not even before it renames. */
  languageServers: boolean;
}

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
