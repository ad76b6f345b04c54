import type { Commands, NamedCommand, WhereToRun } from "../commands/portalCommands.js";
import type { CommandEnd } from "../commands/runCommand.js";
import type { LiveResponse } from "../live/liveResponse.js";
import type { Approvals, InboxItem, PermissionPolicy } from "../permissions/approvals.js";

/** For whom a command runs. */
export interface TaskPlace extends WhereToRun {
  taskId: string;
  taskName: string;
  /** Absent: as the portal's options say. */
  permissions?: PermissionPolicy | undefined;
  signal: AbortSignal;
  write(response: LiveResponse, item?: InboxItem): Promise<void>;
}

/** Runs the commands that check a task. */
export interface TaskCommands {
  run(command: NamedCommand, place: TaskPlace): Promise<CommandEnd>;
}

export interface TaskCommandsParts {
  commands: Commands;
  approvals: Pick<Approvals, "permission" | "turnEnded">;
  permissions: PermissionPolicy;
}

/**
 * A command in an entry is the user's own, so it needs no permission. A command that an agent reported is as hostile as
 * one that it runs itself: the same policy and the same rules decide.
 */
export function taskCommands({ commands, approvals, permissions }: TaskCommandsParts): TaskCommands {
  async function rejection({ run }: NamedCommand, place: TaskPlace): Promise<string | undefined> {
    const { taskId, taskName, workingDirectory, signal } = place;
    const line = run.join(" ");
    const asker = {
      id: taskId,
      source: "task" as const,
      permissions: place.permissions ?? permissions,
      record: { title: taskName, workingDirectory },
      push: place.write,
    };
    const giveUp = () => approvals.turnEnded(asker);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      const action = { kind: "execute", title: line.slice(0, 500), command: line } as const;
      const { allowed, reason } = await approvals.permission(asker, action);
      return allowed ? undefined : `It was not allowed. ${reason ?? ""}`.trim();
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  return {
    async run(command, place) {
      const problem = command.by === "agent" ? await rejection(command, place) : undefined;
      return problem === undefined ? commands.run(command, place) : { problem, durationMs: 0, tail: "" };
    },
  };
}
