import type { AvailableCommand } from "@agentclientprotocol/sdk";

/** A command that lists tasks or jobs, or runs one. */
export type Command =
  | { kind: "tasks" }
  | { kind: "jobs" }
  | { kind: "task" | "job"; name: string; input: string };

/** The commands that the portal itself understands at the start of a prompt. */
export const portalCommands: readonly AvailableCommand[] = [
  { name: "task", description: "Run a task of the portal in this session", input: { hint: "NAME input" } },
  { name: "job", description: "Run a job of the portal in this folder", input: { hint: "NAME input" } },
  { name: "tasks", description: "List the tasks of the portal" },
  { name: "jobs", description: "List the jobs of the portal" },
];

export function parseCommand(text: string): Command | undefined {
  const [, kind, name = "", input = ""] = /^\/(task|job|tasks|jobs)(?:\s+(\S+)\s*(.*))?$/s.exec(text) ?? [];
  if (kind === "task" || kind === "job") return { kind, name, input };
  return (kind === "tasks" || kind === "jobs") && name === "" ? { kind } : undefined;
}

/** The portal's commands first; an agent's command with the same name could not be reached. */
export function withPortalCommands(commands: readonly AvailableCommand[]): AvailableCommand[] {
  const own = new Set(portalCommands.map(({ name }) => name));
  return [...portalCommands, ...commands.filter(({ name }) => !own.has(name))];
}
