import type { Log } from "../base/log.js";
import type { Changes } from "../changes/changes.js";
import type { Commands } from "../commands/portalCommands.js";
import type { Adoption } from "../live/adoption.js";
import type { LiveResponse, LogKind } from "../live/liveResponse.js";
import type { OwnerRow } from "../live/logTable.js";
import type { Ownership } from "../store/ownership.js";
import type { Store } from "../store/store.js";
import type { Worktrees } from "../worktrees/worktrees.js";
import type { TaskCommands } from "./taskCommands.js";
import type { DiaryLog } from "./taskDiary.js";
import type { TaskSessions } from "./taskSessions.js";

export interface EngineParts {
  store: Store;
  logs: {
    openOrCreate(kind: LogKind, id: string, owner?: OwnerRow): Promise<DiaryLog>;
    /** The same for what begins; `takenBack` resolves when nothing is left of what failed to. */
    begin(kind: LogKind, id: string, owner: OwnerRow): Promise<DiaryLog>;
    takenBack(): Promise<void>;
    open(kind: LogKind, id: string): Promise<DiaryLog | undefined>;
    openOwned(kind: LogKind, id: string): Promise<DiaryLog | undefined>;
    delete(kind: LogKind, id: string): Promise<void>;
    /** The ids with this prefix. */
    idsBelow(kind: LogKind, prefix: string): Promise<string[]>;
    readonly ownership: Pick<
      Ownership,
      "owner" | "onLost" | "node" | "boot" | "pin" | "owns" | "isMovable" | "canMove" | "handOver"
    >;
    readonly adoption: Pick<Adoption, "start" | "mendsWith">;
  };
  sessions: TaskSessions;
  commands: TaskCommands;
  /** Records what each attempt changes in the folder. */
  changes: Pick<Changes, "begin">;
  worktrees: Pick<Worktrees, "records" | "in" | "create" | "confirm" | "abandon" | "apply">;
  /** For the setup of an entry. */
  setupCommands: Commands;
  stopNote: { readonly isThere: boolean; write(): void; remove(): void };
  log: Log;
  /** How many tasks may have a session at once. */
  maxTasks?: number | undefined;
  /** How many jobs may run at once; without it, as many as are started. */
  maxJobs?: number | undefined;
}

/** Called once for every response of a job or task while this process runs it. */
export type ResponseListener = (response: LiveResponse) => void;
