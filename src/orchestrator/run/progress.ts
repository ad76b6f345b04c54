export interface ProgressStep {
  progress: number;
  total: number;
  message: string;
}

export type OnProgress = (step: ProgressStep) => void;

/** Clients that wait while there is progress commonly time out after 60 s of silence. */
const heartbeatMs = 5000;

/** Counts steps up to a total; between two steps it approaches the next one, so that values always grow. */
export class Progress {
  readonly #total: number;
  readonly #send: OnProgress;
  #done = 0;
  /** The remaining part of the current step. */
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

  /** Sends progress while `work` runs; its end completes a step. */
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
