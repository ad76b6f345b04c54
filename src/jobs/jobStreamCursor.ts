/**
 * The position of a reader of a job and everything below it: the number of responses read in each unfinished log.
 * Logs are named by their order of appearance: `` is the job, `3` its fourth task, `3.1` that task's second session.
 * Written as `120;3:45;3.1:7`. A log that appeared before these positions and is not named has been read to its end.
 */
export type JobCursor = Map<string, number>;

const pattern = /^\d{1,15}(;\d{1,6}(\.\d{1,6})?:\d{1,15}){0,10000}$/;

export function parseJobCursor(text: string): JobCursor | undefined {
  if (text === "") return new Map([["", 0]]);
  if (!pattern.test(text)) return undefined;
  const [job = "0", ...others] = text.split(";");
  const cursor: JobCursor = new Map([["", Number(job)]]);
  for (const other of others) {
    const [name = "", n = "0"] = other.split(":");
    cursor.set(name, Number(n));
  }
  return cursor;
}

export function formatJobCursor(cursor: JobCursor): string {
  const { "": job = 0, ...others } = Object.fromEntries(cursor);
  return [String(job), ...Object.entries(others).map(([name, n]) => `${name}:${n}`)].join(";");
}
