import { OpenBlocks } from "../../../src/live/blocks.js";
import type { LiveResponse } from "../../../src/live/callbacks.js";
import { chunkOf } from "../../../src/live/chunk.js";
import type { LogKind } from "../../../src/live/liveResponse.js";
import type { LogRecord } from "../../../src/live/record.js";
import type { Chunk } from "../../../src/store/eventLog.js";
import { rootOf } from "../../../src/store/root.js";
import type { Store } from "../../../src/store/store.js";

/** About what one statement takes at once. */
const chunksPerInsert = 2_000;
/** A turn of a session: a request, reasoning, tools, and a message. */
const blocksPerTurn = 10;

/** Writes a closed or open log straight into a store: each list becomes a chunk, as one flush would write it. */
export async function writeLog(
  store: Pick<Store, "query">,
  { kind, key, closed = true, owner }: { kind: LogKind; key: string; closed?: boolean; owner?: string },
  flushes: Iterable<readonly LiveResponse[]>,
): Promise<number> {
  const [row] = await store.query<{ id: number }>(
    "insert into logs (kind, key, reserved, closed, root) values ($1, $2, 0, $3, $4) returning id",
    [kind, key, closed, rootOf(kind, key, owner).id],
  );
  const blocks = new OpenBlocks();
  let n = 0;
  let chunks: Chunk[] = [];
  const insert = async () => {
    await store.query(
      `insert into log_chunks (log_id, last_n, chars, lines)
       select $1, * from unnest($2::int[], $3::int[], $4::text[])`,
      [
        row?.id,
        chunks.map(({ lastN }) => lastN),
        chunks.map(({ chars }) => chars),
        chunks.map(({ lines }) => lines),
      ],
    );
    chunks = [];
  };
  for (const flush of flushes) {
    const records: LogRecord[] = flush.map(response => blocks.record(++n, response, Date.now()));
    blocks.committed(n);
    const chunk = chunkOf(records);
    if (chunk) chunks.push(chunk);
    if (chunks.length === chunksPerInsert) await insert();
  }
  await insert();
  await store.query("update logs set reserved = $2 where id = $1", [row?.id, n]);
  return n;
}

const prose = "The adapter drops `late` deltas of a block that has **ended**; see the log.\n\n";

function block(n: number, contentChars: number): LiveResponse[] {
  const id = `b${n}`;
  const text = `Block ${n}. ${prose.repeat(Math.ceil(contentChars / prose.length))}`;
  if (n % blocksPerTurn === 0)
    return [
      { callback: "onStartMessage", messageId: id },
      { callback: "onEndMessage", messageId: id, completeContent: text },
    ];
  if (n % blocksPerTurn === 1)
    return [
      { callback: "onStartReasoning", reasoningId: id },
      { callback: "onEndReasoning", reasoningId: id, completeContent: text },
    ];
  const toolArguments = JSON.stringify({ command: `npm test -- part-${n}` });
  return [
    { callback: "onStartToolExecution", toolCallId: id, toolName: "bash", toolArguments },
    { callback: "onEndToolExecution", toolCallId: id, result: { content: text }, durationMs: 1_000 },
  ];
}

/** This many blocks, numbered from 1, in turns. A turn is one flush, or each block is one as in a slow session. */
export function* conversation(
  blocks: number,
  { contentChars = 300, isSlow = false } = {},
): Generator<LiveResponse[]> {
  for (let first = 1; first <= blocks; first += blocksPerTurn) {
    const requestId = `r${Math.ceil(first / blocksPerTurn)}`;
    const last = Math.min(blocks, first + blocksPerTurn - 1);
    const flushes: LiveResponse[][] = [
      [{ callback: "onUserRequest", requestId, prompt: `Request ${requestId}` }],
      ...Array.from({ length: last - first + 1 }, (_, at) => block(first + at, contentChars)),
      [{ callback: "onIdle", requestId }],
    ];
    if (isSlow) yield* flushes;
    else yield flushes.flat();
  }
}

export interface StoredSession {
  id: string;
  title: string;
  modelId?: string;
  workingDirectory?: string;
  closed?: boolean;
  /** The task that started it. */
  owner?: string;
}

/** A session of an earlier portal, with its conversation. */
export async function writeSession(
  store: Pick<Store, "query">,
  { id, title, modelId = "model", workingDirectory = "/work", closed = false, owner }: StoredSession,
  flushes: Iterable<readonly LiveResponse[]>,
): Promise<number> {
  await store.query(
    `insert into sessions (id, model_id, model_name, backend, working_directory, title, owner, status, closed_at)
     values ($1, $2, $2, 'provider', $3, $4, $5, $6, $7)`,
    [
      id,
      modelId,
      workingDirectory,
      title,
      owner ?? null,
      closed ? "closed" : "open",
      closed ? new Date() : null,
    ],
  );
  return writeLog(
    store,
    { kind: "session", key: id, closed, ...(owner !== undefined && { owner }) },
    flushes,
  );
}
