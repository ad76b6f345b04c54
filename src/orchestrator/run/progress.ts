export interface ProgressStep {
  progress: number;
  total: number;
  message: string;
}

export type OnProgress = (step: ProgressStep) => void;

/** Clients that wait as long as there is progress commonly give up after 60 s of silence. */
const heartbeatMs = 5000;

/** Counts steps up to a total; between two steps it approaches the next one, so that values always grow. */
export class Progress {
  readonly #total: number;
  readonly #send: OnProgress;
  #done = 0;
  /** How much is left to the next step. */
  #rest = 1;

  constructor(total: number, send: OnProgress = () => {}) {
    this.#total = total;
    this.#send = send;
  }

  step(message: string): void {
    this.#done++;
    this.#rest = 1;
    this.#send({ progress: this.#done, total: this.#total, message });
  }

  /** Shows that `work` goes on; its end is a step of its own. */
  async during<T>(message: string, work: Promise<T>): Promise<T> {
    const beat = () => {
      this.#rest *= 0.9;
      this.#send({ progress: this.#done + 1 - this.#rest, total: this.#total, message });
    };
    beat();
    const timer = setInterval(beat, heartbeatMs);
    try {
      return await work;
    } finally {
      clearInterval(timer);
    }
  }
}
