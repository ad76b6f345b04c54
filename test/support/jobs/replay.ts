import { isDeepStrictEqual } from "node:util";
import { Error as DbosErrors } from "@dbos-inc/dbos-sdk";
import { Slots } from "../../../src/base/slots.js";
import { Snapshots } from "../../../src/changes/snapshots.js";
import { EngineControls } from "../../../src/jobs/engine/engineControls.js";
import { engineFlows } from "../../../src/jobs/engine/engineFlows.js";
import { JobEnds } from "../../../src/jobs/engine/jobEnds.js";
import { JobPlaces } from "../../../src/jobs/engine/jobPlaces.js";
import { LoadedJobs } from "../../../src/jobs/engine/loadedJobs.js";
import { JobRecords, jobRow } from "../../../src/jobs/jobRecords.js";
import type { LogKind } from "../../../src/live/liveResponse.js";
import type { StoredResponse } from "../../../src/live/storedResponse.js";
import type { LiveLogs } from "../../../src/sharedApi.js";
import type { Flow, Flows, RunningFlow } from "../../../src/store/durableJobs.js";
import type { Store } from "../../../src/store/store.js";
import { TaskRecords, taskRow } from "../../../src/tasks/taskRecords.js";
import type { TaskSessions } from "../../../src/tasks/taskSessions.js";
import { Worktrees } from "../../../src/worktrees/worktrees.js";
import { silent } from "../live/live.js";
import { type Call, comparable, type History, type RecordedFlow } from "./history.js";

/** Durable code did not do what was recorded; the code sees this as an error of the engine. */
export class Deviation extends DbosErrors.DBOSError {}

interface Waiting {
  at: number;
  goOn(): void;
}

/**
 * A durable engine that answers from a history. It runs no step; a call that was not recorded, or that comes in
 * another order, ends the replay. One flow continues at a time, in the order in which the recorded steps ended, so
 * that the flows write in that order too.
 */
class ReplayedFlows {
  readonly #recorded: Record<string, RecordedFlow>;
  readonly #code: Flows;
  readonly #callsMade = new Map<string, number>();
  readonly #ends = new Map<string, Promise<unknown>>();
  /** Flows that wait for the end of another flow, by the id of that flow. */
  readonly #parents = new Map<string, (() => void)[]>();
  readonly #waiting: Waiting[] = [];
  /** Flows that are running. */
  #running = 0;

  constructor(recorded: Record<string, RecordedFlow>, code: Flows) {
    this.#recorded = recorded;
    this.#code = code;
  }

  run(id: string): Promise<unknown> {
    const known = this.#ends.get(id);
    if (known) return known;
    this.#running++;
    const end = this.#run(id).finally(() => {
      for (const goOn of this.#parents.get(id) ?? []) goOn();
      this.#pause();
    });
    this.#ends.set(id, end);
    // Its parent may never ask for its result.
    end.catch(() => {});
    return end;
  }

  /** Throws when a recorded call did not happen. */
  checkComplete(): void {
    for (const [id, { calls }] of Object.entries(this.#recorded)) {
      const missing = calls[this.#callsMade.get(id) ?? 0];
      if (missing || !this.#ends.has(id))
        throw new Deviation(`${id} did not come to ${JSON.stringify(missing ?? "its start")}`);
    }
  }

  async #run(id: string): Promise<unknown> {
    const { kind, input, result } = this.#flow(id);
    const code = this.#code[kind];
    if (!code) throw new Deviation(`There is no code for the flow ${id} of the kind ${kind}`);
    const end = await code(this.#flowOf(id), input as never);
    same(`The result of ${id}`, end, result);
    return end;
  }

  #flow(id: string): RecordedFlow {
    const flow = this.#recorded[id];
    if (!flow) throw new Deviation(`The history has no flow ${id}`);
    return flow;
  }

  #flowOf(id: string): Flow {
    return {
      id,
      step: async <T>(name: string) => {
        const call = this.#next(id, "step", name);
        await this.#turn(call.at);
        return call.result as T;
      },
      start: async <T>(kind: string, childId: string, input: unknown): Promise<RunningFlow<T>> => {
        this.#next(id, "start", childId);
        const child = this.#flow(childId);
        same(`The start of ${childId}`, { kind, input }, { kind: child.kind, input: child.input });
        const end = this.run(childId);
        return {
          result: async () => {
            const { result } = this.#next(id, "resultOf", childId);
            await this.#endOf(childId);
            same(`The result of ${childId}`, await end, result);
            return result as T;
          },
        };
      },
    };
  }

  /** The recorded call at this place. */
  #next<Kind extends "step" | "start" | "resultOf">(id: string, kind: Kind, name: string) {
    const made = this.#callsMade.get(id) ?? 0;
    const call = this.#flow(id).calls[made];
    if (!isCall(call, kind, name))
      throw new Deviation(
        `Call ${made + 1} of ${id} is ${kind} ${name}; recorded is ${JSON.stringify(call ?? "no further call")}`,
      );
    this.#callsMade.set(id, made + 1);
    return call;
  }

  async #endOf(id: string): Promise<void> {
    let ended = false;
    const done = this.run(id).then(
      () => {},
      () => {},
    );
    const goesOn = new Promise<void>(resolve => {
      const goOn = () => {
        if (!ended) this.#running++;
        ended = true;
        resolve();
      };
      this.#parents.set(id, [...(this.#parents.get(id) ?? []), goOn]);
      // It may have ended already.
      void done.then(goOn);
    });
    this.#pause();
    await goesOn;
  }

  #turn(at: number): Promise<void> {
    const turn = new Promise<void>(resolve => {
      this.#waiting.push({ at, goOn: resolve });
    });
    this.#pause();
    return turn;
  }

  /** Called when a flow waits or has ended; when none runs, the flow whose step ended first continues. */
  #pause(): void {
    this.#running--;
    if (this.#running > 0) return;
    this.#waiting.sort((a, b) => a.at - b.at);
    const next = this.#waiting.shift();
    if (!next) return;
    this.#running++;
    next.goOn();
  }
}

function isCall<Kind extends "step" | "start" | "resultOf">(
  call: Call | undefined,
  kind: Kind,
  name: string,
): call is Extract<Call, Record<Kind, string>> {
  return call !== undefined && kind in call && (call as Record<string, unknown>)[kind] === name;
}

function same(what: string, actual: unknown, recorded: unknown): void {
  if (!isDeepStrictEqual(plain(actual), plain(recorded)))
    throw new Deviation(`${what} is ${JSON.stringify(actual)}; recorded is ${JSON.stringify(recorded)}`);
}

/** The value after a round trip through the store. */
const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

/** A replay knows the results of all sessions: there are none, and none may be opened. */
const noSessions: TaskSessions = {
  open: () => Promise.reject(new Deviation("A session is opened outside of a step")),
  find: async () => undefined,
  settings: async () => undefined,
  close: async () => {},
  closeAll: async () => {},
  of: async () => [],
  delete: async () => {},
};

/** Runs the current code over a history on a real store; returns the diaries that it writes. */
export async function replay(history: History, store: Store, logs: LiveLogs): Promise<History["diaries"]> {
  const jobs = new JobRecords(store, logs.ownership);
  const tasks = new TaskRecords(store, logs.ownership);
  const listeners = new Map();
  const loaded = new LoadedJobs({ store, logs }, jobs, listeners);
  const controls = new EngineControls();
  const code = engineFlows({
    store,
    sessions: noSessions,
    commands: { run: () => Promise.reject(new Deviation("A command runs outside of a step")) },
    // The folders of a history are gone: there is nothing to record.
    changes: { begin: () => ({ ready: Promise.resolve(), end: () => Promise.resolve() }) },
    // No recorded job is isolated.
    worktrees: new Worktrees({ dataDir: "", store, snapshots: new Snapshots(""), log: silent }),
    setupCommands: { run: () => Promise.reject(new Error("A replay runs no command")) },
    logs,
    jobs,
    tasks,
    loaded,
    ends: new JobEnds({ sessions: noSessions, logs, jobs, tasks, loaded, controls, listeners }),
    controls,
    places: new JobPlaces(Number.POSITIVE_INFINITY),
    slots: new Slots(8),
    listeners,
  });
  const keys = Object.keys(history.diaries).map(key => key.split("/") as [LogKind, string]);
  // An earlier replay of the same history may have left them.
  for (const [kind, id] of keys) await logs.delete(kind, id);
  const entryHash = await jobs.saveEntry(history.entry);
  const { job, task } = history;
  if (job) await logs.openOrCreate("job", job.id, jobRow({ ...job, entryHash }));
  if (task) await logs.openOrCreate("task", task.id, taskRow({ ...task, entryHash }));
  const flows = new ReplayedFlows(history.flows, code);
  await flows.run(Object.keys(history.flows)[0] ?? "");
  flows.checkComplete();
  const diaries: History["diaries"] = {};
  for (const [kind, id] of keys) {
    const written: StoredResponse[] = [];
    const log = await logs.open(kind, id);
    if (log) for await (const response of log.responses()) written.push(comparable(response));
    diaries[`${kind}/${id}`] = written;
  }
  return diaries;
}
