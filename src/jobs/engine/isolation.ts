import { messageOf } from "../../base/messageOf.js";
import { commandLine, endingOf } from "../../commands/commandLine.js";
import { loggedCommand } from "../../commands/loggedCommand.js";
import type { CommandEnd } from "../../commands/runCommand.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import type { Flow } from "../../store/durableJobs.js";
import { isStoreUnavailable } from "../../store/failure.js";
import type { EngineParts } from "../../tasks/engineParts.js";
import { unlessInterrupted } from "../../tasks/interruption.js";
import { defaultTimeoutSeconds } from "../../tasks/taskChecks.js";
import type { WorktreeRecord } from "../../worktrees/worktreeRecords.js";
import type { EngineControls } from "./engineControls.js";
import type { Branch } from "./interpreter.js";
import type { LoadedJob } from "./loadedJobs.js";

/** The folder of each isolated branch by its path, or why there is none. */
export type BranchFolders = { folders: Record<string, string> } | { problem: string };

const ownerOf = (jobId: string, path: string) => `${jobId}.${path}`;

/** Makes a worktree of the folder for each of these branches of a Par. Can be repeated. */
export async function isolateBranches(
  { worktrees, logs }: Pick<EngineParts, "worktrees" | "logs">,
  job: LoadedJob,
  branches: readonly Branch[],
  target: string,
): Promise<BranchFolders> {
  const { id, name: jobName, retryOf } = job.record;
  const made: WorktreeRecord[] = [];
  const folders: Record<string, string> = {};
  try {
    // Worktrees are in the data folder, which no other node sees.
    await logs.ownership.pin(id);
    for (const { path } of branches) {
      const owner = ownerOf(id, path);
      // What the branch of the job before did is in its worktree.
      const earlier =
        retryOf === null ? undefined : await worktrees.records.adopt(ownerOf(retryOf, path), owner);
      let record = earlier ?? (await worktrees.records.of(owner));
      if (record?.state === "creating") {
        await worktrees.abandon(record);
        record = undefined;
      }
      if (!record) {
        record = await worktrees.create({ owner, name: `${jobName} ${path}`, target, fromChanges: true });
        made.push(record);
      }
      await worktrees.confirm(record);
      folders[path] = record.workingDirectory;
    }
    return { folders };
  } catch (error) {
    if (isStoreUnavailable(error)) throw error;
    for (const record of made) await worktrees.abandon(record);
    return { problem: `The branches cannot be isolated: ${messageOf(error)}` };
  }
}

/** Merges what these branches did, in their order. Answers with what is in the way; the worktrees are kept then. */
export async function mergeBranches(
  { worktrees }: Pick<EngineParts, "worktrees">,
  job: LoadedJob,
  branches: readonly Branch[],
): Promise<string | null> {
  try {
    const records: WorktreeRecord[] = [];
    for (const { path } of branches) {
      const record = await worktrees.records.of(ownerOf(job.record.id, path));
      if (record?.state === "waiting") records.push(record);
    }
    await worktrees.apply(records);
    return null;
  } catch (error) {
    if (isStoreUnavailable(error)) throw error;
    return `The branches cannot be merged: ${messageOf(error)}`;
  }
}

/**
 * Runs the entry's setup in a new worktree; its output is in the job's log. Answers with why it failed. Each command is
 * a step of its own.
 */
export async function setUp(
  flow: Flow,
  { setupCommands }: Pick<EngineParts, "setupCommands">,
  controls: EngineControls,
  { record, entry, diary }: LoadedJob,
  workingDirectory: string,
): Promise<string | undefined> {
  const id = `${flow.id}.setup`;
  const signal = controls.task(id, record.id);
  try {
    for (const { run, shell, name, timeoutSeconds = defaultTimeoutSeconds } of entry.setup ?? []) {
      const title = `Setup: ${name ?? commandLine(run)}`;
      const failure = await flow.step("setup", async () => {
        const command = { run, shell, timeoutMs: timeoutSeconds * 1000, by: "user" as const };
        const write = (response: LiveResponse) => diary.aside(response);
        const ended = await unlessInterrupted(signal, () =>
          loggedCommand({ run, title, write }, onOutput =>
            setupCommands
              .run(command, { workingDirectory, signal, onOutput })
              .catch(
                (error: unknown): CommandEnd => ({ problem: messageOf(error), durationMs: 0, tail: "" }),
              ),
          ),
        );
        if ("kind" in ended) return `${title}: stopped`;
        const how = `${title}: ${endingOf(ended)}`;
        const severity = ended.exitCode === 0 ? "info" : "error";
        await diary.add({ callback: "onNotice", severity, title: how });
        return ended.exitCode === 0 ? null : `${how}\n${ended.tail}`.trimEnd();
      });
      if (failure !== null) return failure;
    }
    return undefined;
  } finally {
    controls.forgetTask(id);
  }
}
