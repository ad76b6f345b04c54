import { readChunk } from "../live/chunk.js";
import type { LogKind } from "../live/liveResponse.js";
import type { LogRecord } from "../live/record.js";
import { searchTextOf, type TextKind } from "../live/searchText.js";
import type { Query } from "../store/store.js";
import { parseSearch, type SearchQuery } from "./searchQuery.js";
import { type Snippet, snippetOf } from "./snippet.js";

/** A place where the words are: a response of a log, the title of a session, or the name and input of a job. */
export interface SearchHit {
  source: LogKind;
  id: string;
  /** The number of the response; a title and an input have none. */
  n?: number;
  /** In milliseconds; unknown for what was written before times were kept. */
  time?: number;
  what: TextKind | "title" | "input";
  /** Of the session or the job. */
  title: string;
  /** The job that it is part of. */
  job?: { id: string; name: string };
  snippet: Snippet;
}

interface TextFound {
  kind: LogKind;
  key: string;
  n: number;
  time: number;
  lines: string;
  title: string;
  jobId: string | null;
  jobName: string | null;
}

interface RowFound {
  id: string;
  title: string;
  text: string;
  time: number;
}

/** The limit stands inside, so that the log is read for shown hits only. */
const texts = `
  select l.kind, l.key, t.n, t.time::float8 as time, c.lines,
    coalesce(s.title, j.name, '') as title, j.id as "jobId", j.name as "jobName"
  from (select log_id, n, time from search_texts where words @@ $1::tsquery
        order by time desc, log_id desc, n desc limit $2) as t
  join logs l on l.id = t.log_id
  cross join lateral (select lines from log_chunks c where c.log_id = t.log_id and c.last_n >= t.n
                      order by c.last_n limit 1) as c
  left join sessions s on l.kind = 'session' and s.id = l.key
  left join jobs j on not j.deleting and j.id = case l.kind
    when 'session' then split_part(s.owner, '.', 1) when 'task' then split_part(l.key, '.', 1) when 'job' then l.key end
  order by t.time desc, t.log_id desc, t.n desc`;

const titles = `
  select id, title, title as text, extract(epoch from created_at)::float8 * 1000 as time from sessions
  where owner is null and search_words(title) @@ $1::tsquery order by created_at desc limit $2`;

const jobs = `
  select id, name as title, name || ' ' || user_input as text, extract(epoch from created_at)::float8 * 1000 as time
  from jobs where not deleting and search_words(name || ' ' || user_input) @@ $1::tsquery
  order by created_at desc limit $2`;

/** Finds words in everything that was said, newest first. A search without a word to look for finds nothing. */
export async function search(query: Query, typed: string, limit: number): Promise<SearchHit[]> {
  const wanted = parseSearch(typed);
  const condition = await conditionOf(query, wanted);
  if (condition === undefined) return [];
  const found = (await query<TextFound>(texts, [condition, limit])).flatMap(row => textHit(row, wanted));
  const rowHit = (source: LogKind, what: "title" | "input") => (row: RowFound) =>
    ({
      source,
      id: row.id,
      time: Math.round(row.time),
      what,
      title: row.title,
      snippet: snippetOf(row.text, wanted),
    }) as const;
  const named = [
    ...(await query<RowFound>(titles, [condition, limit])).map(rowHit("session", "title")),
    ...(await query<RowFound>(jobs, [condition, limit])).map(rowHit("job", "input")),
  ];
  const byTime = (a: SearchHit, b: SearchHit) => (b.time ?? 0) - (a.time ?? 0);
  return [...found, ...named].sort(byTime).slice(0, limit);
}

/** Undefined when no word could be looked up: nothing typed, only signs, or only words to leave out. */
async function conditionOf(query: Query, { text, lastIsPrefix }: SearchQuery): Promise<string | undefined> {
  if (text === "") return undefined;
  // The text of a query ends with its last word in quotes.
  const [row] = await query<{ condition: string; tree: string }>(
    `select q::text as condition, querytree(q) as tree from (
       select (case when $2 and words like '%''' then words || ':*' else words end)::tsquery as q
       from (select websearch_to_tsquery('simple', $1)::text as words) as typed
     ) as query`,
    [text, lastIsPrefix],
  );
  return row && row.tree !== "" && row.tree !== "T" ? row.condition : undefined;
}

function textHit(
  { kind, key, n, time, lines, title, jobId, jobName }: TextFound,
  wanted: SearchQuery,
): SearchHit[] {
  const records: LogRecord[] = [];
  readChunk(lines, n - 1, records, () => {});
  const record = records[0]?.n === n ? records[0] : undefined;
  const found = record && searchTextOf(record);
  if (!found) return [];
  return [
    {
      source: kind,
      id: key,
      n,
      ...(time > 0 && { time }),
      what: found.what,
      title,
      ...(jobId !== null && { job: { id: jobId, name: jobName ?? "" } }),
      snippet: snippetOf(found.text, wanted),
    },
  ];
}
