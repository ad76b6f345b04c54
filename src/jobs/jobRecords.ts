import { createHash } from "node:crypto";
import type { Entry } from "../jobsDef.js";
import type { OwnerRow } from "../live/logTable.js";
import type { Ownership } from "../store/ownership.js";
import type { Store } from "../store/store.js";
import type { TakenWork } from "./takeover.js";

export type JobStatus = "Running" | "Paused" | "Succeeded" | "Failed" | "Canceled";

export interface JobRecord {
  id: string;
  name: string;
  entryHash: string;
  userInput: string;
  workingDirectory: string;
  status: JobStatus;
  /** Why a task crashed; from then on the job only ends its running tasks. */
  error: string | null;
  /** Why it failed, in one line. */
  reason: string | null;
  /** The job whose unfinished works it runs again. */
  retryOf: string | null;
  /** The job that it repeats. */
  againOf: string | null;
  createdAt: Date;
  endedAt: Date | null;
}

export interface JobHistoryQuery {
  limit: number;
  /** The id of the last job on the previous page. */
  before?: string;
  search?: string;
  jobName?: string;
}

const usageNames = ["inputTokens", "outputTokens", "cost", "premiumRequests"] as const;

export type JobUsage = Record<(typeof usageNames)[number], number>;

const usageSums = usageNames
  .map(name => `coalesce(sum((usage->>'${name}')::float8), 0)::float8 as "${name}"`)
  .join(", ");

const columns = `id, name, entry_hash as "entryHash", user_input as "userInput",
  working_directory as "workingDirectory", status, error, reason, retry_of as "retryOf", again_of as "againOf",
  created_at as "createdAt", ended_at as "endedAt"`;

/** The earlier job that a job comes from. */
export interface JobOrigin {
  retryOf?: string | undefined;
  againOf?: string | undefined;
  /** The works that it takes over, in the order in which they ended. */
  taken?: readonly TakenWork[] | undefined;
}

/** The jobs that came from a job, oldest first. */
export interface JobFollowers {
  retriedBy: string[];
  againBy: string[];
}

/** A new job, to be stored together with its log. */
export function jobRow(
  job: Pick<JobRecord, "id" | "name" | "entryHash" | "userInput" | "workingDirectory"> & JobOrigin,
): OwnerRow {
  return {
    id: job.id,
    name: job.name,
    entry_hash: job.entryHash,
    user_input: job.userInput,
    working_directory: job.workingDirectory,
    retry_of: job.retryOf ?? null,
    again_of: job.againOf ?? null,
    taken: job.taken ? JSON.stringify(job.taken) : null,
  };
}

/** The jobs and the entries that they were started with: a job keeps its own copy. */
export class JobRecords {
  readonly #store: Pick<Store, "query">;
  readonly #ownership: Pick<Ownership, "owner">;

  constructor(store: Pick<Store, "query">, ownership: Pick<Ownership, "owner">) {
    this.#store = store;
    this.#ownership = ownership;
  }

  /** The same entry is stored once for all its jobs; saving it again keeps it until a job names it. */
  async saveEntry(entry: Entry): Promise<string> {
    const text = JSON.stringify(entry);
    const hash = createHash("sha256").update(text).digest("hex");
    await this.#store.query(
      "insert into entries (hash, entry) values ($1, $2) on conflict (hash) do update set saved_at = now()",
      [hash, text],
    );
    return hash;
  }

  async entry(hash: string): Promise<Entry> {
    const [row] = await this.#store.query<{ entry: string }>("select entry from entries where hash = $1", [
      hash,
    ]);
    if (!row) throw new Error(`The store has no entry ${hash}`);
    return JSON.parse(row.entry) as Entry;
  }

  async find(id: string): Promise<JobRecord | undefined> {
    const [row] = await this.#store.query<JobRecord>(
      `select ${columns} from jobs where id = $1 and not deleting`,
      [id],
    );
    return row;
  }

  /** The works that the job took over when it was started. */
  async taken(id: string): Promise<TakenWork[]> {
    const [row] = await this.#store.query<{ taken: TakenWork[] | null }>(
      "select taken from jobs where id = $1",
      [id],
    );
    return row?.taken ?? [];
  }

  async followers(id: string): Promise<JobFollowers> {
    const rows = await this.#store.query<{ id: string; retryOf: string | null }>(
      `select id, retry_of as "retryOf" from jobs where (retry_of = $1 or again_of = $1) and not deleting
       order by created_at, id`,
      [id],
    );
    const ids = (isRetry: boolean) =>
      rows.filter(({ retryOf }) => (retryOf === id) === isRetry).map(({ id: follower }) => follower);
    return { retriedBy: ids(true), againBy: ids(false) };
  }

  withStatus(...status: JobStatus[]): Promise<JobRecord[]> {
    return this.#store.query<JobRecord>(
      `select ${columns} from jobs where status = any($1) and not deleting order by created_at, id`,
      [status],
    );
  }

  /** The same among the jobs of this portal, or for the one that is this root. */
  own(status: JobStatus, root?: string): Promise<JobRecord[]> {
    return this.#own(columns, "status = $2 and not deleting order by created_at, id", root, status);
  }

  /**
   * Decides for another portal, which has not been asked, that a job ends; that portal carries it out. The only write
   * to a job that is not its writer's own.
   */
  async cancelElsewhere(id: string): Promise<boolean> {
    const rows = await this.#store.query(
      "update jobs set status = 'Canceled' where id = $1 and status in ('Running', 'Paused') and not deleting returning id",
      [id],
    );
    return rows.length > 0;
  }

  /** Stopped by the user, but the server died before everything below them ended. */
  halfCanceled(root?: string): Promise<JobRecord[]> {
    return this.#own(columns, "status = 'Canceled' and ended_at is null and not deleting", root);
  }

  /** Their outcome is decided, but the server died before their logs said so. */
  halfEnded(root?: string): Promise<JobRecord[]> {
    const isOpen = "id in (select key from logs where kind = 'job' and not closed)";
    return this.#own(columns, `status in ('Succeeded', 'Failed') and not deleting and ${isOpen}`, root);
  }

  async #own<Row extends object>(
    what: string,
    condition: string,
    root: string | undefined,
    ...more: unknown[]
  ): Promise<Row[]> {
    const values = [root ?? null, ...more];
    const owned = await this.#ownership.owner("jobs.id", values);
    return this.#store.query<Row>(
      `select ${what} from jobs where ($1::text is null or id = $1) and ${owned} and ${condition}`,
      values,
    );
  }

  async #change<Row extends object>(set: string, values: unknown[], condition: string): Promise<Row[]> {
    const owned = await this.#ownership.owner("jobs.id", values);
    return this.#store.query<Row>(
      `update jobs set ${set} where ${condition} and ${owned} returning id`,
      values,
    );
  }

  /** Running, paused, or ended within the last hour. */
  recent(): Promise<JobRecord[]> {
    return this.#store.query<JobRecord>(
      `select ${columns} from jobs
       where (status in ('Running', 'Paused') or ended_at > now() - interval '1 hour') and not deleting
       order by created_at, id`,
    );
  }

  history({ limit, before, search, jobName }: JobHistoryQuery): Promise<JobRecord[]> {
    return this.#store.query<JobRecord>(
      `select ${columns} from jobs
       where ($2::text is null or (created_at, id) < (select created_at, id from jobs where id = $2))
         and ($3::text is null or strpos(lower(concat_ws(' ', name, working_directory, user_input)), lower($3)) > 0)
         and ($4::text is null or name = $4)
         and not deleting
       order by created_at desc, id desc limit $1`,
      [limit, before ?? null, search || null, jobName ?? null],
    );
  }

  /** The usage so far of the sessions below each job. */
  async usage(ids: readonly string[]): Promise<Map<string, JobUsage>> {
    const rows = await this.#store.query<JobUsage & { id: string }>(
      `select split_part(owner, '.', 1) as id, ${usageSums} from sessions
       where split_part(owner, '.', 1) = any($1) group by 1`,
      [ids],
    );
    return new Map(rows.map(({ id, ...usage }) => [id, usage]));
  }

  /** Hides the job at once; if its deletion is interrupted, the next start finishes it. */
  async markDeleting(id: string): Promise<void> {
    await this.#change("deleting = true", [id], "id = $1");
  }

  async halfDeleted(root?: string): Promise<string[]> {
    const rows = await this.#own<{ id: string }>("id", "deleting", root);
    return rows.map(({ id }) => id);
  }

  async delete(id: string): Promise<void> {
    await this.#store.query("delete from jobs where id = $1", [id]);
  }

  /** False when the job is no longer in one of these states. */
  async change(id: string, from: JobStatus[], to: JobStatus): Promise<boolean> {
    const rows = await this.#change("status = $3", [id, from, to], "id = $1 and status = any($2)");
    return rows.length > 0;
  }

  async pauseAll(exceptMovable = false): Promise<string[]> {
    const rows = await this.#change<{ id: string }>(
      "status = 'Paused'",
      [exceptMovable],
      "status = 'Running' and not ($1 and exists (select from owned o where o.root = jobs.id and o.movable))",
    );
    return rows.map(({ id }) => id);
  }

  /** The first error counts, and its reason is the job's. */
  async setError(id: string, error: string, reason?: string): Promise<void> {
    const values = [id, error, reason ?? null];
    await this.#change("error = $2, reason = $3", values, "id = $1 and error is null");
  }

  async end(id: string, status: JobStatus, reason?: string): Promise<void> {
    const values = [id, status, reason ?? null];
    await this.#change("status = $2, ended_at = coalesce(ended_at, now()), reason = $3", values, "id = $1");
  }
}
