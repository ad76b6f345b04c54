import type { Entry, Work } from "../../jobsDef.js";
import type { EngineParts, ResponseListener } from "../../tasks/engineParts.js";
import type { JobRecord, JobRecords } from "../jobRecords.js";
import type { TakenWork } from "../takeover.js";
import { JobDiary } from "./jobDiary.js";

/** A job as its flows need it. It never changes, so every replay of a flow decides the same. */
export interface LoadedJob {
  readonly record: JobRecord;
  readonly entry: Entry;
  readonly work: Work<number>;
  readonly diary: JobDiary;
  /** The works that it took over from an earlier job. */
  readonly taken: readonly TakenWork[];
  /** The tasks whose reported line a command of the entry runs. */
  readonly reporters: ReadonlySet<string>;
}

/** The jobs that this process runs. */
export class LoadedJobs {
  readonly #store: EngineParts["store"];
  readonly #records: JobRecords;
  readonly #logs: EngineParts["logs"];
  readonly #listeners: ReadonlyMap<string, ResponseListener>;
  readonly #loaded = new Map<string, Promise<LoadedJob>>();

  constructor(
    { store, logs }: Pick<EngineParts, "store" | "logs">,
    records: JobRecords,
    listeners: ReadonlyMap<string, ResponseListener>,
  ) {
    this.#store = store;
    this.#records = records;
    this.#logs = logs;
    this.#listeners = listeners;
  }

  get(jobId: string): Promise<LoadedJob> {
    const known = this.#loaded.get(jobId);
    if (known) return known;
    const loading = this.#store.patiently(() => this.#load(jobId));
    this.#loaded.set(jobId, loading);
    loading.catch(() => this.#loaded.delete(jobId));
    return loading;
  }

  forget(jobId: string): void {
    this.#loaded.delete(jobId);
  }

  async #load(jobId: string): Promise<LoadedJob> {
    const record = await this.#records.find(jobId);
    if (!record) throw new Error(`The store has no job ${jobId}`);
    const entry = await this.#records.entry(record.entryHash);
    const work = entry.jobs[record.name]?.work;
    if (!work) throw new Error(`The entry of job ${jobId} has no job ${record.name}`);
    const log = await this.#logs.openOrCreate("job", jobId);
    const diary = await JobDiary.open(log, this.#listeners.get(jobId));
    const taken = record.retryOf === null ? [] : await this.#records.taken(jobId);
    return { record, entry, work, diary, taken, reporters: reportersIn(entry) };
  }
}

function reportersIn({ tasks }: Entry): Set<string> {
  const commands = Object.values(tasks).flatMap(({ availability, criteria }) => [
    ...(availability?.commands ?? []),
    ...(criteria?.commands ?? []),
  ]);
  return new Set(commands.flatMap(({ reportedBy }) => reportedBy ?? []));
}
