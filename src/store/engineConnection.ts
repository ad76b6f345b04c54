import { Duplex } from "node:stream";
import pg from "pg";
import { gatedPool, translateErrors } from "./gatedPool.js";

/** Sends what a client wrote, and resolves with all that PostgreSQL answers. */
export type Exchange = (bytes: Uint8Array) => Promise<Uint8Array>;

/** What a server answers when a client connects: signed in, ready, no transaction. */
const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
const farewell = "X".charCodeAt(0);

/** Stands for the socket to a database server. */
export class EngineStream extends Duplex {
  readonly #exchange: Exchange;
  readonly #connected: () => Promise<void>;
  #isConnected = false;

  /** `connected` is called before the first exchange. */
  constructor(exchange: Exchange, connected: () => Promise<void>) {
    super();
    this.#exchange = exchange;
    this.#connected = connected;
  }

  connect(): this {
    process.nextTick(() => this.emit("connect"));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  /** The engine keeps the process alive as long as it owes an answer, and no longer. */
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send([chunk]).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(chunks.map(({ chunk }) => chunk)).then(() => done(), done);
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  async #send(chunks: Buffer[]): Promise<void> {
    const reply = await this.#replyTo(chunks);
    if (reply.length > 0 && !this.destroyed) this.push(reply);
  }

  async #replyTo(chunks: Buffer[]): Promise<Uint8Array> {
    if (!this.#isConnected) {
      this.#isConnected = true;
      await this.#connected();
      return welcome;
    }
    if (chunks[0]?.[0] === farewell) return new Uint8Array();
    // A copy, because a small buffer is part of a large one, and the whole would be handed over.
    return this.#exchange(new Uint8Array(Buffer.concat(chunks)));
  }
}

/** What `pg` needs to talk through the stream. */
export function connectionOn(stream: EngineStream, look: (error: unknown) => void): pg.Connection {
  const connection = new pg.Connection({ stream: () => stream } as pg.ClientConfig);
  translateErrors(connection, look);
  return connection;
}

/** A pool of the engine that is open at that moment, so that it survives a new engine. */
export function poolOf(connect: () => pg.Connection | undefined): pg.Pool {
  // PGlite has one connection; a second one would land inside another caller's transaction.
  return gatedPool(
    { max: 1, idleTimeoutMillis: 0 },
    {
      enter() {
        const connection = connect();
        return connection && ({ connection } as pg.ClientConfig);
      },
    },
  );
}
