import pg from "pg";
import type { StoreKind } from "./database.js";
import { errorForClient, storeUnavailable } from "./failure.js";

export interface Gate {
  /** What a new client connects with; undefined when nobody can connect now. */
  enter(): pg.ClientConfig | undefined;
  /** Called with each client that may connect. */
  entered?(client: pg.Client): void;
}

/** A pool whose clients connect only while the gate is open, so that it outlives what it connects to. */
export function gatedPool(settings: pg.PoolConfig, gate: Gate): pg.Pool {
  return new pg.Pool({ ...settings, Client: clientOf(gate) as pg.PoolConfig["Client"] });
}

function clientOf(gate: Gate): typeof pg.Client {
  return class StoreClient extends pg.Client {
    readonly #isConnectable: boolean;

    constructor(config: pg.ClientConfig) {
      const entrance = gate.enter();
      super({ ...config, ...entrance });
      this.#isConnectable = entrance !== undefined;
      // The caller gets the failure from the query; without a listener it would end the process.
      this.on("error", () => {});
      if (entrance) gate.entered?.(this);
    }

    // biome-ignore lint/suspicious/noExplicitAny: pg declares connect with and without a callback.
    override connect(callback?: any): any {
      if (this.#isConnectable) return super.connect(callback);
      process.nextTick(callback, storeUnavailable("it is being opened again"));
    }
  };
}

/**
 * Every error passes through here, even that of the statement that broke the database: the caller learns whether to
 * retry. A closed client no longer listens, and an error event without a listener would end the process.
 */
export function translateErrors(
  connection: pg.Connection,
  look: (error: unknown) => void,
  kind?: StoreKind,
): void {
  const emit = connection.emit.bind(connection);
  connection.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event !== "error" && event !== "errorMessage") return emit(event, ...args);
    const [error] = args;
    look(error);
    return connection.listenerCount(event) > 0 && emit(event, errorForClient(error, kind));
  };
}
