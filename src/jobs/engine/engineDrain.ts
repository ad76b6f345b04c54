import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { shortReason } from "../../store/failure.js";
import type { TaskRecords } from "../../tasks/taskRecords.js";
import type { JobRecords } from "../jobRecords.js";
import type { EngineControls } from "./engineControls.js";
import type { JobPlaces } from "./jobPlaces.js";

export interface EngineDrainParts {
  jobs: Pick<JobRecords, "own">;
  tasks: Pick<TaskRecords, "running">;
  controls: EngineControls;
  places: JobPlaces;
  /** Whether only a portal of another version can go on with the job: it does not run here. */
  isForeign(jobId: string): boolean;
  /** False when the job cannot move. */
  handOver(jobId: string): Promise<boolean>;
  pause(jobId: string): Promise<void>;
  isClosing(): boolean;
  log: Log;
}

/** How often it looks whether the running tasks have ended. */
const lookMs = 500;

/** Empties a portal: jobs leave it after the tasks that run. Those that can move go on elsewhere, the others pause. */
export class EngineDrain {
  readonly #parts: EngineDrainParts;
  #draining: Promise<void> | undefined;

  constructor(parts: EngineDrainParts) {
    this.#parts = parts;
  }

  get isDraining(): boolean {
    return this.#draining !== undefined;
  }

  /** Resolves when nothing runs here any more. There is no way back but another start. */
  drain(): Promise<void> {
    const { places, controls } = this.#parts;
    places.close();
    controls.holdUp();
    this.#draining ??= new Promise(resolve => void this.#goOn(resolve));
    return this.#draining;
  }

  /** For who wants to start something that would have to stay here. */
  refusal(node: string): PortalError {
    return PortalError.domain(
      "NodeDraining",
      `The node ${node} is being drained, and starts nothing new: ask another one, or start this one again.`,
    );
  }

  /** Also when it is empty: a call may still bring a job here. */
  async #goOn(onEmpty: () => void): Promise<void> {
    const { isClosing, log } = this.#parts;
    while (!isClosing()) {
      try {
        if ((await this.#look()) === 0) onEmpty();
      } catch (error) {
        log.warn({ reason: shortReason(error) }, "cannot drain now");
      }
      await sleep(lookMs, undefined, { ref: false });
    }
  }

  /** How many jobs and tasks still run here. */
  async #look(): Promise<number> {
    const { jobs, tasks, controls, places, isForeign, handOver, pause } = this.#parts;
    let left = (await tasks.running()).length;
    for (const { id } of await jobs.own("Running")) {
      if (isForeign(id)) continue;
      if (!places.isWaiting(id) && !controls.isHeldUp(id)) left++;
      else if (!(await handOver(id))) await pause(id);
    }
    // Whoever continues one of these does it elsewhere.
    for (const { id } of await jobs.own("Paused")) await handOver(id);
    return left;
  }
}
