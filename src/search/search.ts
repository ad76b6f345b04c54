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

/** Of one record of a log. */
interface Place {
  logId: number;
  n: number;
}

/** A chunk of a log, and which of its records have the words. */
interface ChunkFound {
  logId: number;
  kind: LogKind;
  key: string;
  ns: number[];
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

const newestFirst = "order by time desc, log_id desc, n desc";

/** How many of the newest texts are read one by one, which takes some milliseconds for each thousand. */
const firstTexts = 5_000;
const moreTexts = 20_000;

const placesAmongNewest = `
  select log_id as "logId", n
  from (select log_id, n, time, words from search_texts ${newestFirst} limit $3) as newest
  where words @@ $1::tsquery ${newestFirst} limit $2`;

/**
 * Every place first, then their order: the store guesses how frequent a word is, and for a rare one, guessed too
 * frequent, it would read all texts by their time instead of asking the index.
 */
const placesAnywhere = `
  with found as materialized (select log_id, n, time from search_texts where words @@ $1::tsquery)
  select log_id as "logId", n from found ${newestFirst} limit $2`;

/** A chunk is read once, however many of its records are wanted. */
const chunks = `
  select c.log_id as "logId", l.kind, l.key, found.ns, c.lines,
    coalesce(s.title, j.name, '') as title, j.id as "jobId", j.name as "jobName"
  from (select p.log_id, holder.last_n, array_agg(p.n) as ns
        from unnest($1::int[], $2::int[]) as p(log_id, n)
        cross join lateral (select last_n from log_chunks c where c.log_id = p.log_id and c.last_n >= p.n
                            order by c.last_n limit 1) as holder
        group by p.log_id, holder.last_n) as found
  join log_chunks c on c.log_id = found.log_id and c.last_n = found.last_n
  join logs l on l.id = c.log_id
  left join sessions s on l.kind = 'session' and s.id = l.key
  left join jobs j on not j.deleting and j.id = case l.kind
    when 'session' then split_part(s.owner, '.', 1) when 'task' then split_part(l.key, '.', 1) when 'job' then l.key end`;

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
  const found = await textHits(query, await placesOf(query, condition, limit), wanted);
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

/**
 * Frequent words are among the newest texts. The index knows every place of rare ones at once, but of frequent words
 * that seldom stand together it brings far too many: so where the newest texts have some, a few more are read first.
 */
async function placesOf(query: Query, condition: string, limit: number): Promise<Place[]> {
  const amongNewest = (texts: number) => query<Place>(placesAmongNewest, [condition, limit, texts]);
  let places = await amongNewest(firstTexts);
  const isPromising = (places.length * moreTexts) / firstTexts >= limit;
  if (places.length < limit && isPromising) places = await amongNewest(moreTexts);
  return places.length === limit ? places : query<Place>(placesAnywhere, [condition, limit]);
}

/** In the order of the places. */
async function textHits(query: Query, places: readonly Place[], wanted: SearchQuery): Promise<SearchHit[]> {
  if (places.length === 0) return [];
  const found = await query<ChunkFound>(chunks, [places.map(({ logId }) => logId), places.map(({ n }) => n)]);
  const hits = new Map(
    found.flatMap(chunk => hitsIn(chunk, wanted).map(hit => [`${chunk.logId} ${hit.n}`, hit])),
  );
  return places.flatMap(({ logId, n }) => hits.get(`${logId} ${n}`) ?? []);
}

function hitsIn(
  { kind, key, ns, lines, title, jobId, jobName }: ChunkFound,
  wanted: SearchQuery,
): SearchHit[] {
  const records: LogRecord[] = [];
  readChunk(lines, Math.min(...ns) - 1, records, () => {});
  const wantedNs = new Set(ns);
  return records
    .filter(({ n }) => wantedNs.has(n))
    .flatMap(record => {
      const found = searchTextOf(record);
      if (!found) return [];
      const { n, time } = record;
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
    });
}
