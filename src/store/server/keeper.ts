import pg from "pg";
import { withTimeout } from "../../base/withTimeout.js";
import { shortReason } from "../failure.js";
import type { Query } from "../store.js";

/** A silent network shows within these two. */
const beatIntervalMs = 5_000;
const answerTimeoutMs = 10_000;
const connectTimeoutMs = 10_000;

/** With a session of a dead machine its locks would stay for two hours; now they stay for half a minute. */
const endWithTheMachine =
  "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4";

export interface KeeperListener {
  /** Called once, when the connection is gone. */
  onGone(reason: string): void;
  onNotified(channel: string, payload: string): void;
}

/** One connection that is never lent: it holds locks, listens, and notices first when the server is gone. */
export class Keeper {
  readonly #client: pg.Client;
  readonly #beat: NodeJS.Timeout;
  #last: Promise<unknown> = Promise.resolve();
  #isGone = false;

  private constructor(client: pg.Client, { onGone, onNotified }: KeeperListener) {
    this.#client = client;
    const gone = (reason: string) => {
      if (this.#isGone) return;
      this.cut();
      onGone(reason);
    };
    client.on("error", error => gone(shortReason(error)));
    client.on("end", () => gone("the database server closed the connection: it terminated"));
    client.on("notification", ({ channel, payload = "" }) => onNotified(channel, payload));
    this.#beat = setInterval(() => {
      withTimeout(this.query("select"), answerTimeoutMs, "the database server does not answer").catch(error =>
        gone(shortReason(error)),
      );
    }, beatIntervalMs);
    this.#beat.unref();
  }

  static async open(config: pg.ClientConfig, listener: KeeperListener): Promise<Keeper> {
    const client = new pg.Client({ ...config, connectionTimeoutMillis: connectTimeoutMs });
    // Whoever connects gets the failure.
    client.on("error", () => {});
    await client.connect();
    const keeper = new Keeper(client, listener);
    await keeper.query(endWithTheMachine);
    return keeper;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** One after the other. */
  readonly query: Query = <Row extends object>(text: string, values?: unknown[]) => {
    const answer = this.#last.then(async () => (await this.#client.query<Row>(text, values)).rows ?? []);
    this.#last = answer.catch(() => {});
    return answer;
  };

  /** Says goodbye, so that the locks are free at once. */
  async end(): Promise<void> {
    this.#leave();
    await this.#client.end();
  }

  /** For a connection that may no longer answer. */
  cut(): void {
    this.#leave();
    this.#client.connection.stream.destroy();
  }

  #leave(): void {
    this.#isGone = true;
    clearInterval(this.#beat);
  }
}
