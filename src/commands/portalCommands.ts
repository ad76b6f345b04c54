import { randomUUID } from "node:crypto";
import { endOwnedProcesses, movablePart, ownerVariable } from "../backends/orphans.js";
import { checkWorkingDirectory } from "../base/workingDirectory.js";
import { type CommandInFolder, type Sandboxes, sandboxFolder } from "../sandbox/sandboxes.js";
import { type CommandEnd, runCommand } from "./runCommand.js";

/** A command as an entry or an agent names it. */
export interface NamedCommand {
  /** A program and its arguments; one line if a shell reads it. */
  run: readonly string[];
  shell?: boolean | undefined;
  timeoutMs: number;
  /** Who wrote it: in a sandbox, a user's command makes the files that it names visible. */
  by: CommandInFolder["by"];
}

export interface WhereToRun {
  workingDirectory: string;
  /** Absent: as the portal's options say. */
  sandbox?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onOutput?: ((text: string) => void) | undefined;
}

/** Runs the commands that the portal itself has to run. */
export interface Commands {
  /** Rejects when the folder or its sandbox is not there; everything else is an end. */
  run(command: NamedCommand, where: WhereToRun): Promise<CommandEnd>;
}

export interface PortalCommandsOptions {
  /** Without the portal's secrets. */
  env: NodeJS.ProcessEnv;
  /** Identifies this portal, so that a later one ends what a killed one left. */
  marker: string;
  sandboxes: Pick<Sandboxes, "wrap">;
  sandbox: boolean;
  /** Whether what works in this folder can move to another node. */
  isMovable?(folder: string): Promise<boolean>;
}

export function portalCommands({
  env,
  marker,
  sandboxes,
  sandbox,
  isMovable,
}: PortalCommandsOptions): Commands {
  return {
    async run(command, { workingDirectory, sandbox: isSandboxed = sandbox, signal, onOutput }) {
      await checkWorkingDirectory(workingDirectory);
      const [program = "", ...args] = command.shell ? shellCommand(command.run) : command.run;
      const moves = (await isMovable?.(workingDirectory)) ?? false;
      const owner = `${marker}/command-${moves ? movablePart : ""}${randomUUID()}`;
      const common = { timeoutMs: command.timeoutMs, signal, onOutput };
      if (isSandboxed) {
        const cwd = await sandboxFolder(workingDirectory);
        const inside = await sandboxes.wrap(cwd, { command: program, args, by: command.by });
        return runCommand({ ...common, ...inside, cwd, env: { ...env, [ownerVariable]: owner } });
      }
      return runCommand({
        ...common,
        program,
        args,
        cwd: workingDirectory,
        env: { ...env, [ownerVariable]: owner },
        endStrays: () => endOwnedProcesses(other => other === owner),
      });
    },
  };
}

function shellCommand(run: readonly string[]): string[] {
  const line = run.join(" ");
  if (process.platform === "win32") return [process.env.ComSpec ?? "cmd.exe", "/d", "/s", "/c", line];
  return ["/bin/sh", "-c", line];
}
