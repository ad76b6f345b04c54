/**
 * Files of a repository that agents, editors or git hooks run or obey by themselves: paths relative to the
 * repository's folder, with `/` between names. A folder stands for everything in it.
 */
const startupFilePatterns: readonly RegExp[] = [
  // The Copilot runtime and Copilot CLI.
  /(^|\/)\.github\/(hooks|copilot|lsp|mcp|extensions|agents|skills|plugins?)(\/|\.json$|$)/i,
  /(^|\/)\.copilot(\/|$)/i,
  // Other agents: their settings name hooks, programs and MCP servers.
  /(^|\/)\.(claude|claude-plugin|gemini|codex|cursor|opencode|qwen|kiro|windsurf|continue|agents)(\/|$)/i,
  /(^|\/)\.(cline|clinerules|roo|kilocode|amazonq|junie|factory|trae|augment|crush)(\/|$)/i,
  /(^|\/)(opencode\.jsonc?|\.?crush\.json|\.aider\.conf\.ya?ml)$/i,
  /(^|\/)\.?mcp\.json$/i,
  // Editors and shells that run what a folder says when it is opened or entered.
  /(^|\/)\.(vscode|vs|idea|fleet|zed|devcontainer)(\/|$)/i,
  /(^|\/)(\.devcontainer\.json|[^/]*\.code-workspace|\.dir-locals(-2)?\.el)$/i,
  /(^|\/)\.(exrc|nvimrc|vimrc|lvimrc|nvim\.lua)$/i,
  /(^|\/)\.(envrc|direnv|tool-versions|rtx\.toml|autoenv(_leave)?(\.zsh)?)$/i,
  /(^|\/)(\.config\/|\.)?mise(\.[\w-]+){0,2}\.toml$/i,
  /(^|\/)(\.config\/mise|\.?mise)\/(config|conf\.d)/i,
  // Git hooks that live in the repository.
  /(^|\/)(\.husky|\.hooks|\.?githooks|\.?git-hooks)(\/|$)/i,
  /(^|\/)\.?(lefthook(-local)?\.(ya?ml|toml|jsonc?)|pre-commit-config\.ya?ml|overcommit\.yml)$/i,
  /(^|\/)\.?(simple-git-hooks\.(json|[cm]?js)|rusty-hook\.toml)$/i,
];

export function isStartupFile(path: string): boolean {
  return startupFilePatterns.some(pattern => pattern.test(path));
}
