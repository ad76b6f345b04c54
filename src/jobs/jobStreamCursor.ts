/**
 * The position of a reader of a job and everything below it: the number of responses read in each unfinished log.
 * Logs are named by their order of appearance: `` is the job, `3` its fourth task, `3.1` that task's second session.
 * Written as `120;3:45;3.1:7`; neighbours that are all unread are one range, `4-499:0`. A log that appeared before
 * these positions and is not named has been read to its end, with everything below it.
 */
export type JobCursor = Map<string, number>;

const pattern = /^\d{1,15}(;(\d{1,6}(\.\d{1,6})?:\d{1,15}|(\d{1,6}\.)?\d{1,6}-\d{1,6}:0)){0,10000}$/;
/** A range is short however much it names. */
const maxNames = 20_000;

export function parseJobCursor(text: string): JobCursor | undefined {
  if (text === "") return new Map([["", 0]]);
  if (!pattern.test(text)) return undefined;
  const [job = "0", ...others] = text.split(";");
  const cursor: JobCursor = new Map([["", Number(job)]]);
  for (const other of others) {
    const [names = "", n = "0"] = other.split(":");
    const [first = "", last] = names.split("-");
    const { parent, index } = placeOf(first);
    for (let at = index; at <= Number(last ?? index); at++) {
      if (cursor.size > maxNames) return undefined;
      cursor.set(`${parent}${at}`, Number(n));
    }
  }
  return cursor;
}

export function formatJobCursor(cursor: JobCursor): string {
  const parts = [String(cursor.get("") ?? 0)];
  let run: { parent: string; from: number; to: number } | undefined;
  const endRun = () => {
    if (run) parts.push(`${run.parent}${run.from}${run.to > run.from ? `-${run.to}` : ""}:0`);
    run = undefined;
  };
  for (const [name, n] of cursor) {
    if (name === "") continue;
    const { parent, index } = placeOf(name);
    if (n === 0 && run?.parent === parent && run.to + 1 === index) run.to = index;
    else {
      endRun();
      if (n === 0) run = { parent, from: index, to: index };
      else parts.push(`${name}:${n}`);
    }
  }
  endRun();
  return parts.join(";");
}

/** `3.1` is the log with the index 1 below `3.`. */
function placeOf(name: string): { parent: string; index: number } {
  const at = name.lastIndexOf(".") + 1;
  return { parent: name.slice(0, at), index: Number(name.slice(at)) };
}
