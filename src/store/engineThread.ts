// The thread of the embedded store: it opens PGlite and answers one call after the other.
import { parentPort } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { shortReason } from "./failure.js";
import { OwnersFiles } from "./ownersFiles.js";

/** One message: all that a client sends together crosses to the thread together. */
export type EngineCall = { open: string } | { bytes: Uint8Array } | { close: true };

/** `stderr` comes at any time. The others answer the calls in their order; after a failure nothing follows. */
export type EngineAnswer = { stderr: string } | { bytes: Uint8Array } | { failed: string };

/** fsync stays on (no -F); the sizes keep memory and the write-ahead log small, and statistics fast. */
const settings = [
  "wal_sync_method=open_datasync",
  "shared_buffers=16MB",
  "max_wal_size=64MB",
  "min_wal_size=32MB",
  "default_statistics_target=10",
];
const startParams = [
  ...PGlite.defaultStartParams.filter(parameter => parameter !== "-F"),
  ...settings.flatMap(setting => ["-c", setting]),
];

const say = (answer: EngineAnswer) =>
  parentPort?.postMessage(answer, "bytes" in answer ? [answer.bytes.buffer as ArrayBuffer] : []);

let db: PGlite | undefined;

async function open(folder: string): Promise<void> {
  const onStderr = (stderr: string) => {
    say({ stderr });
    return false;
  };
  db = new PGlite({ fs: new OwnersFiles(folder), startParams, onStderr });
  await db.waitReady;
}

/** Everything that PostgreSQL answers, as one piece that can be handed over without a copy. */
async function exchange(bytes: Uint8Array): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const onRawData = (part: Uint8Array) => {
    // The engine uses its buffer again.
    parts.push(part.slice());
    length += part.length;
  };
  // The folder is the file system: there is nothing else to sync to.
  await db?.execProtocolRawStream(bytes, { onRawData, syncToFs: false });
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const all = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

async function perform(call: EngineCall): Promise<Uint8Array> {
  if ("bytes" in call) return exchange(call.bytes);
  if ("open" in call) await open(call.open);
  else await db?.close();
  return new Uint8Array();
}

parentPort?.on("message", (call: EngineCall) => {
  perform(call).then(
    bytes => say({ bytes }),
    error => say({ failed: shortReason(error) }),
  );
});
