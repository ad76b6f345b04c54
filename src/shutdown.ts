import type { Log } from "./log.js";

/** One step of stopping. Its time is bounded, so that the whole takes less than five seconds. */
export interface Stage {
  name: string;
  timeoutMs: number;
  stop(): Promise<unknown> | unknown;
}

async function runStage({ name, timeoutMs, stop }: Stage, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([stop(), tooLong]);
    log.debug({ stage: name }, "stopped");
  } catch (error) {
    log.warn({ stage: name, err: error }, "did not stop cleanly");
  } finally {
    clearTimeout(timer);
  }
}

/** Stops what the portal is made of, in the order given; what fails or hangs is left behind. */
export async function runStages(stages: readonly Stage[], log: Log): Promise<void> {
  for (const stage of stages) await runStage(stage, log);
}
