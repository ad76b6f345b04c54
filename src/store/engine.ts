import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import type pg from "pg";
import type { Log } from "../base/log.js";
import { connectionOn, EngineStream } from "./engineConnection.js";
import type { EngineAnswer, EngineCall } from "./engineThread.js";
import { isFatal, isStatementError, shortReason } from "./failure.js";

/**
 * How much PGlite runs a function before V8 optimises it. With the default, V8 optimises a lot while the store opens,
 * which took 0.7 s of processor time, and four large ones soon after for another 0.5 s; 4,000 statements in a row were
 * no slower with this value.
 */
const tieringBudgetBytes = 2_000_000_000;
setFlagsFromString(`--wasm-tiering-budget=${tieringBudgetBytes}`);

/** For the thread's JavaScript, which needs a tenth of it. PGlite bounds the memory of PostgreSQL itself. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 };

const rollback = "Q\0\0\0\x0drollback\0";
/** The last byte of an answer when no transaction is open. */
const idle = "I".charCodeAt(0);

/** The one PGlite of a store, in a thread of its own: no commit blocks this one. */
export interface Engine {
  /** A connection for one client. PGlite has one session, so the next client connects when this one has ended. */
  connect(): pg.Connection;
  /** Shuts down cleanly, with a checkpoint. */
  close(): Promise<void>;
  /**
   * Ends the thread, in whatever state it is: closing would write from a broken state. Those who wait get the failure.
   * Resolves when its files and its memory are free.
   */
  drop(failure: Error): Promise<void>;
}

export interface EngineListener {
  /** Called once, when the engine has aborted and no longer answers. */
  onBroken(reason: string): void;
  /** Called when a statement failed through no fault of its own. */
  onTrouble(error: unknown): void;
}

const nobody: EngineListener = { onBroken: () => {}, onTrouble: () => {} };

/** Opens PGlite on a folder. */
export async function openEngine(folder: string, log: Log, listener = nobody): Promise<Engine> {
  const engine = new EngineInThread(log, listener);
  await engine.open(folder);
  return engine;
}

interface Waiting {
  resolve(bytes: Uint8Array): void;
  reject(error: Error): void;
}

class EngineInThread implements Engine {
  readonly #log: Log;
  readonly #listener: EngineListener;
  readonly #thread: Worker;
  /** The thread answers in the order of the calls. */
  readonly #waiting: Waiting[] = [];
  readonly #streams = new Set<EngineStream>();
  #complaint: string | undefined;
  #isOpen = false;
  #isInTransaction = false;
  #ended: Promise<void> | undefined;

  constructor(log: Log, listener: EngineListener) {
    this.#log = log;
    this.#listener = listener;
    this.#thread = new Worker(new URL("./engineThread.js", import.meta.url), {
      name: "store",
      // What the portal was told to load first is not meant for this thread.
      execArgv: [],
      resourceLimits,
    });
    this.#thread.on("message", (answer: EngineAnswer) => this.#take(answer));
    this.#thread.on("error", error => this.#break(error));
    this.#thread.on("exit", code => this.#break(`its thread ended with code ${code}`));
  }

  async open(folder: string): Promise<void> {
    try {
      await this.#call({ open: folder });
      this.#isOpen = true;
    } catch (error) {
      // The next engine must be the only one on the folder.
      await this.#ended;
      throw error;
    }
  }

  connect(): pg.Connection {
    const stream = new EngineStream(
      bytes => this.#exchange(bytes),
      () => this.#endTransaction(),
    );
    this.#streams.add(stream);
    stream.once("close", () => this.#streams.delete(stream));
    return connectionOn(stream, error => {
      if (isFatal(error)) this.#break(error);
      else if (!this.#ended && !isStatementError(error)) this.#listener.onTrouble(error);
    });
  }

  async close(): Promise<void> {
    await this.#call({ close: true });
    await this.drop(new Error("the engine has been closed"));
  }

  drop(failure: Error): Promise<void> {
    if (this.#ended) return this.#ended;
    this.#ended = this.#thread.terminate().then(() => undefined);
    for (const { reject } of this.#waiting.splice(0)) reject(failure);
    for (const stream of this.#streams) stream.destroy(failure);
    return this.#ended;
  }

  async #exchange(bytes: Uint8Array): Promise<Uint8Array> {
    const answer = await this.#call({ bytes }, [bytes.buffer as ArrayBuffer]);
    this.#isInTransaction = answer.at(-1) !== idle;
    return answer;
  }

  /** A client that went away in the middle of a transaction leaves it to the next one. */
  async #endTransaction(): Promise<void> {
    if (this.#isInTransaction) await this.#exchange(new Uint8Array(Buffer.from(rollback)));
  }

  #call(call: EngineCall, handedOver: ArrayBuffer[] = []): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(new Error("the engine has ended"));
      this.#waiting.push({ resolve, reject });
      // A process must not end while somebody waits for an answer, and an idle store must not keep it alive.
      this.#thread.ref();
      this.#thread.postMessage(call, handedOver);
    });
  }

  #take(answer: EngineAnswer): void {
    if ("stderr" in answer) this.#hear(answer.stderr);
    else if ("failed" in answer) this.#break(answer.failed);
    else {
      this.#waiting.shift()?.resolve(answer.bytes);
      if (this.#waiting.length === 0) this.#thread.unref();
    }
  }

  /** PGlite swallows its own abort, and the call may then never return. */
  #hear(text: string): void {
    this.#log.debug({ engine: text.slice(0, 500) }, "store engine");
    this.#complaint = /(?:FATAL|PANIC):\s*(.*)/.exec(text)?.[1] ?? this.#complaint;
    if (/PANIC:|^Aborted\(/.test(text)) this.#break(text);
  }

  #break(error: unknown): void {
    if (this.#ended) return;
    const reason = shortReason(this.#complaint ?? error);
    if (this.#isOpen) this.#listener.onBroken(reason);
    void this.drop(new Error(reason));
  }
}
