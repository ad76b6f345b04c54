/** Programs that read files of a repository by themselves; `copilot` is the runtime behind the portal's own sessions. */
export type StartupReader =
  | "copilot"
  | "copilot-cli"
  | "claude"
  | "opencode"
  | "gemini"
  | "qwen"
  | "codex"
  | "cursor";

/** A file, or a folder of files, from which an agent runs something before anyone is asked. */
export interface StartupPlace {
  /** Relative to the folder of a repository, with `/`. */
  readonly path: string;
  readonly readers: readonly StartupReader[];
  /** For a folder: which of its files count, at any depth. */
  readonly names?: RegExp;
  /** When a file that is itself a program runs, for people to read. */
  readonly when?: string;
}

const copilots: readonly StartupReader[] = ["copilot", "copilot-cli"];
const scripts = /\.[cm]?[jt]sx?$/i;

/** Observed for Copilot and opencode; taken from the documentation of the others. */
export const startupPlaces: readonly StartupPlace[] = [
  { path: ".github/hooks", readers: copilots, names: /\.json$/i },
  { path: ".github/copilot/settings.json", readers: copilots },
  { path: ".github/copilot/settings.local.json", readers: copilots },
  { path: ".github/lsp.json", readers: copilots },
  { path: ".claude/settings.json", readers: [...copilots, "claude"] },
  { path: ".claude/settings.local.json", readers: [...copilots, "claude"] },
  { path: ".mcp.json", readers: ["copilot-cli", "claude"] },
  { path: ".github/mcp.json", readers: ["copilot-cli"] },
  { path: ".vscode/mcp.json", readers: ["copilot-cli"] },
  { path: ".github/extensions", readers: ["copilot-cli"], names: scripts, when: "as an extension" },
  { path: "opencode.json", readers: ["opencode"] },
  { path: "opencode.jsonc", readers: ["opencode"] },
  { path: ".opencode/opencode.json", readers: ["opencode"] },
  { path: ".opencode/opencode.jsonc", readers: ["opencode"] },
  ...["plugin", "plugins"].map(name => opencodeFolder(name, scripts, "as a plugin")),
  ...["tool", "tools"].map(name => opencodeFolder(name, scripts, "as a tool")),
  ...["agent", "agents", "mode", "modes", "command", "commands"].map(name =>
    opencodeFolder(name, /\.md$/i, "as an agent or command with permissions of its own"),
  ),
  { path: ".gemini/settings.json", readers: ["gemini"] },
  { path: ".gemini/.env", readers: ["gemini"], when: "as environment of the agent" },
  { path: ".gemini/extensions", readers: ["gemini"], names: /\.json$/i },
  { path: ".qwen/settings.json", readers: ["qwen"] },
  { path: ".qwen/.env", readers: ["qwen"], when: "as environment of the agent" },
  { path: ".codex/config.toml", readers: ["codex"], when: "as settings of the agent" },
  { path: ".codex/hooks.json", readers: ["codex"] },
  { path: ".codex/rules", readers: ["codex"], names: /\.rules$/i, when: "as permissions of the agent" },
  { path: ".cursor/mcp.json", readers: ["cursor"] },
  { path: ".cursor/hooks.json", readers: ["cursor"] },
  { path: ".cursor/cli.json", readers: ["cursor"] },
];

function opencodeFolder(name: string, names: RegExp, when: string): StartupPlace {
  return { path: `.opencode/${name}`, readers: ["opencode"], names, when };
}

/** The program that starts each agent, by the last part of a path or of a package's name. */
const programs: Readonly<Record<string, StartupReader>> = {
  copilot: "copilot-cli",
  opencode: "opencode",
  claude: "claude",
  "claude-code": "claude",
  "claude-code-acp": "claude",
  "claude-agent-acp": "claude",
  gemini: "gemini",
  "gemini-cli": "gemini",
  qwen: "qwen",
  "qwen-code": "qwen",
  codex: "codex",
  "codex-acp": "codex",
  "cursor-agent": "cursor",
};

/** Which agent a command starts; undefined when that is unclear, and then the agent may read every startup file. */
export function readerOf(command: string | undefined, args: readonly string[]): StartupReader | undefined {
  const words = [command ?? "", ...args].map(word =>
    (word.split(/[\\/]/).at(-1) ?? "").replace(/(?:@[^@]*|\.(?:exe|cmd|[cm]?js))$/i, "").toLowerCase(),
  );
  const readers = new Set(words.filter(word => Object.hasOwn(programs, word)).map(word => programs[word]));
  return readers.size === 1 ? [...readers][0] : undefined;
}
