/**
 * Files of a repository that agents, editors or git hooks run or obey by themselves: paths from the repository's
 * folder, with `/` between names. A folder stands for everything in it.
 */
const startupFilePatterns: readonly RegExp[] = [
  // The Copilot runtime and Copilot CLI.
  /(^|\/)\.github\/(hooks|copilot|lsp|mcp|extensions|agents|skills|plugins?)(\/|\.json$|$)/i,
  /(^|\/)\.copilot(\/|$)/i,
  // Other agents: their settings name hooks, programs and MCP servers.
  /(^|\/)\.(claude|gemini|codex|cursor|opencode|qwen|kiro|windsurf|continue|agents)(\/|$)/i,
  /(^|\/)opencode\.jsonc?$/i,
  /(^|\/)\.?mcp\.json$/i,
  // Editors and shells that run what a folder says when it is opened or entered.
  /(^|\/)\.(vscode|idea|zed|devcontainer)(\/|$)/i,
  /(^|\/)\.(envrc|direnv|mise\.toml|tool-versions)$/i,
  // Hooks of git that live in the repository.
  /(^|\/)\.(husky|githooks|git-hooks)(\/|$)/i,
  /(^|\/)\.?(lefthook|pre-commit-config)\.ya?ml$/i,
];

export function isStartupFile(path: string): boolean {
  return startupFilePatterns.some(pattern => pattern.test(path));
}
