import type { Log } from "../base/log.js";
import type { JobRecord } from "../jobs/jobRecords.js";
import type { LiveResponse } from "../live/callbacks.js";
import type { EventStream } from "../live/eventStream.js";
import type { LiveLog } from "../live/liveLog.js";
import type { FindWhereabouts, Whereabouts } from "../nodes/whereabouts.js";
import type { Approvals } from "../permissions/approvals.js";
import type { PortalSession } from "../sessions/portalSession.js";
import type { LiveLogs } from "../sharedApi.js";
import { shortReason } from "../store/failure.js";
import type { ActiveItem } from "./activeItem.js";
import { doingOf } from "./doing.js";
import type { Elsewhere, SessionElsewhere } from "./overviewElsewhere.js";

/** Changes are shown together after this time: soon enough for a reader, seldom enough to cost little. */
const quietMs = 200;
/** Of what happens at other portals only their requests are announced: while somebody looks, the store is asked this often. */
const lookElsewhereMs = 2_000;

export interface OverviewParts {
  logs: LiveLogs;
  sessions: { readonly open: readonly PortalSession[] };
  /** Running and paused. */
  jobs(): Promise<readonly JobRecord[]>;
  approvals: Pick<Approvals, "list">;
  /** What other portals on the same store do; undefined where there are none. */
  elsewhere?: (() => Promise<Elsewhere>) | undefined;
  /** Which portal has what, by root. */
  whereabouts: FindWhereabouts;
  log: Log;
}

interface Doing {
  readonly text: string;
  readonly since: number;
}

/** What is active and what waits for the user, as one answer and as a stream of changes. */
export class Overview {
  readonly #parts: OverviewParts;
  /** By session; kept while a request runs. */
  readonly #doing = new Map<string, Doing>();
  readonly #watchers = new Set<() => void>();
  #jobs: Promise<readonly JobRecord[]> | undefined;
  /** What the store said last: while it fails, users still have to see what waits for them. */
  #knownJobs: readonly JobRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #elsewhere: Elsewhere = { sessions: [], requests: [] };
  #dueMs = 0;
  #lookedElsewhereMs = Number.NEGATIVE_INFINITY;

  constructor(parts: OverviewParts) {
    this.#parts = parts;
    parts.logs.listen((log, response) => this.#heard(log, response));
  }

  /** Something may have changed at other portals. */
  lookElsewhereSoon(): void {
    this.#lookedElsewhereMs = Number.NEGATIVE_INFINITY;
    if (this.#watchers.size > 0) this.#changedIn(quietMs);
  }

  async now() {
    const { sessions, approvals } = this.#parts;
    const elsewhere = await this.#lookElsewhere();
    const requests = [...approvals.list(), ...elsewhere.requests];
    const waiting = new Set(
      requests.flatMap(({ sessionId, taskId = sessionId }) => [sessionId, jobOf(taskId)]),
    );
    const busy = sessions.open.filter(session => session.busy);
    const jobs = await this.#runningJobs();
    const items = [
      ...busy
        .filter(({ record }) => record.owner === null)
        .map(session => this.#sessionItem(session, waiting)),
      ...elsewhere.sessions
        .filter(({ owner }) => owner === null)
        .map(session => itemElsewhere(session, waiting)),
      ...jobs.map(job =>
        this.#jobItem(job, [...busy.map(({ record }) => record), ...elsewhere.sessions], waiting),
      ),
    ];
    const where = await this.#whereabouts(items.map(({ id }) => id));
    const active: ActiveItem[] = items.map(item => ({ ...item, ...where.get(item.id) }));
    // What needs someone comes first, then what changed last.
    active.sort((a, b) => needOf(a) - needOf(b) || b.since.localeCompare(a.since));
    const { node, nodes } = elsewhere;
    return { active, requests, ...(node !== undefined && { node, nodes }) };
  }

  /** Sends what is there now and after each change, until the client has gone. `mark` is a line in each event. */
  async follow(stream: EventStream, mark = ""): Promise<void> {
    let sent = "";
    for (;;) {
      const changed = this.#nextChange(stream);
      const text = JSON.stringify(await this.now());
      if (text !== sent) await stream.send(`${mark}data: ${text}\n\n`);
      sent = text;
      await changed;
      if (stream.isGone) return;
    }
  }

  #nextChange(stream: EventStream): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        this.#watchers.delete(done);
        unsubscribe();
        resolve();
      };
      const unsubscribe = stream.onGone(done);
      this.#watchers.add(done);
      if (this.#parts.elsewhere) this.#changedIn(lookElsewhereMs);
      if (stream.isGone) done();
    });
  }

  #heard({ kind, id }: LiveLog, response: LiveResponse | undefined): void {
    if (kind === "job") this.#jobs = undefined;
    if (kind === "session" && response) this.#note(id, response);
    if (this.#watchers.size === 0) return;
    this.#changedIn(quietMs);
  }

  /** The sooner of two times counts. */
  #changedIn(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (this.#timer && this.#dueMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      for (const changed of this.#watchers) changed();
    }, delayMs);
  }

  async #lookElsewhere(): Promise<Elsewhere> {
    const { elsewhere, log } = this.#parts;
    const nowMs = performance.now();
    if (!elsewhere || nowMs - this.#lookedElsewhereMs < lookElsewhereMs / 2) return this.#elsewhere;
    this.#lookedElsewhereMs = nowMs;
    // Another portal may have started or ended one.
    this.#jobs = undefined;
    try {
      this.#elsewhere = await elsewhere();
    } catch (error) {
      log.debug({ reason: shortReason(error) }, "cannot look for what runs elsewhere");
    }
    return this.#elsewhere;
  }

  /** While the store fails, users still have to see what waits for them. */
  async #whereabouts(roots: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>> {
    return this.#parts.whereabouts(roots).catch(() => new Map());
  }

  #note(sessionId: string, response: LiveResponse): void {
    const text = doingOf(response);
    if (response.callback === "onIdle") this.#doing.delete(sessionId);
    else if (text !== undefined && text !== this.#doing.get(sessionId)?.text)
      this.#doing.set(sessionId, { text, since: Date.now() });
  }

  async #runningJobs(): Promise<readonly JobRecord[]> {
    const jobs = this.#jobs ?? this.#parts.jobs();
    this.#jobs = jobs;
    try {
      this.#knownJobs = await jobs;
    } catch (error) {
      if (this.#jobs === jobs) this.#jobs = undefined;
      this.#parts.log.debug({ reason: shortReason(error) }, "cannot look for running jobs");
    }
    return this.#knownJobs;
  }

  #sessionItem({ id, record }: PortalSession, waiting: ReadonlySet<string>): ActiveItem {
    const { text = "", since = record.updatedAt } = this.#doing.get(id) ?? {};
    return {
      kind: "session",
      id,
      title: record.title,
      workingDirectory: record.workingDirectory,
      state: waiting.has(id) ? "waiting" : "running",
      doing: text,
      since: new Date(since).toISOString(),
    };
  }

  #jobItem(
    job: JobRecord,
    busy: readonly Pick<SessionElsewhere, "id" | "owner" | "title">[],
    waiting: ReadonlySet<string>,
  ): ActiveItem {
    const own = busy.filter(({ owner }) => owner !== null && jobOf(owner) === job.id);
    const names = [...new Set(own.map(({ title }) => title))];
    const newest = own
      .map(({ id }) => this.#doing.get(id))
      .reduce((last, each) => (each && each.since > (last?.since ?? 0) ? each : last), undefined);
    return {
      kind: "job",
      id: job.id,
      title: job.name,
      workingDirectory: job.workingDirectory,
      state: job.status === "Paused" ? "paused" : waiting.has(job.id) ? "waiting" : "running",
      doing: [names.join(", "), newest?.text].filter(text => text).join(": "),
      since: new Date(newest?.since ?? job.createdAt).toISOString(),
    };
  }
}

/** The id of a job's task begins with the id of the job. */
const jobOf = (taskId: string) => taskId.split(".", 1)[0] ?? taskId;

/** What it does is known to its own portal only. */
function itemElsewhere(
  { id, title, workingDirectory, updatedAt }: SessionElsewhere,
  waiting: ReadonlySet<string>,
): ActiveItem {
  const state = waiting.has(id) ? "waiting" : "running";
  return { kind: "session", id, title, workingDirectory, state, doing: "", since: updatedAt.toISOString() };
}

const needOf = ({ state }: ActiveItem) => (state === "running" ? 1 : 0);
