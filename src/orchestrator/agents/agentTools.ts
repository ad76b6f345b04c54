const shellTools = (platform: NodeJS.Platform): string[] => {
  const shell = platform === "win32" ? "powershell" : "bash";
  return [shell, `read_${shell}`, `write_${shell}`, `stop_${shell}`, `list_${shell}`];
};

/** The tools with which an agent starts other agents. */
export const subAgentTools = ["task", "read_agent", "list_agents", "write_agent"];

/** Some families of models know `apply_patch` and `rg` instead of `create`, `edit` and `grep`. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  read: ["view"],
  edit: ["create", "edit", "apply_patch"],
  write: ["create", "edit", "apply_patch"],
  create: ["create", "apply_patch"],
  apply_patch: ["create", "edit", "apply_patch"],
  search: ["grep", "rg", "glob"],
  grep: ["grep", "rg"],
  rg: ["grep", "rg"],
  web: ["web_fetch"],
  todo: ["update_todo"],
  agent: subAgentTools,
  task: subAgentTools,
};

const shellAliases = ["execute", "shell", "bash", "powershell"];

const runtimeTools = new Set([
  "view",
  "glob",
  "web_fetch",
  "update_todo",
  "sql",
  "skill",
  "ask_user",
  "read_agent",
  "list_agents",
  "write_agent",
  ...shellTools("linux"),
  ...shellTools("win32"),
]);

/** The permission that an agent requests by naming a tool. */
export type Grant = "write" | "shell" | "url" | "mcp";

export interface ToolList {
  /** The runtime's names. */
  names: string[];
  unknown: string[];
}

function grantOf(tool: string): Grant | undefined {
  if (tool === "create" || tool === "edit" || tool === "apply_patch") return "write";
  if (/^(?:(?:read|write|stop|list)_)?(?:bash|powershell)$/.test(tool)) return "shell";
  if (tool === "web_fetch") return "url";
  return runtimeTools.has(tool) || ["task", "grep", "rg"].includes(tool) ? undefined : "mcp";
}

/** Expands the names of an agent file to the runtime's names. */
export function expandTools(
  declared: readonly string[],
  platform: NodeJS.Platform = process.platform,
): ToolList {
  const names = new Set<string>();
  const unknown: string[] = [];
  for (const written of declared) {
    const name = written.toLowerCase();
    const expanded = shellAliases.includes(name) ? shellTools(platform) : aliases[name];
    if (expanded) for (const tool of expanded) names.add(tool);
    else if (runtimeTools.has(name)) names.add(name);
    else if (/^[^/\s]+\/[^/\s]+$/.test(written)) names.add(written.replace("/", "-"));
    else unknown.push(written);
  }
  return { names: [...names], unknown };
}

/** The permissions that the agent requests by naming its tools; an agent without a list names none. */
export function grantsOf(tools: readonly string[] | undefined): ReadonlySet<Grant> {
  return new Set((tools ?? []).map(grantOf).filter(grant => grant !== undefined));
}
