import type { Log } from "../../base/log.js";
import type { Backend } from "../backend.js";
import { type DemoModel, demoModelId, startDemoModel } from "./demoModel.js";
import { tryItModel, tryItModelId } from "./tryItStory.js";

export interface DemoBackend extends Backend {
  /** The same script for the tasks of *Try it*, whatever other models there are: it is found, but never listed. */
  readonly tryIt: Backend;
  close(): Promise<void>;
}

/** The scripted model inside the portal, started when it is first listed. */
export function demoBackend(log: Log): DemoBackend {
  let started: Promise<DemoModel> | undefined;
  const offering = (id: string, model: string) => async () => {
    started ??= startDemoModel({ log });
    const { baseUrl, apiKey } = await started;
    const provider = { type: "openai" as const, baseUrl, apiKey };
    return [{ id, name: "Demo", multiplier: 0, vision: false, target: { model, provider } }];
  };
  return {
    kind: "demo",
    name: "demo",
    list: offering(demoModelId, demoModelId),
    tryIt: {
      kind: "demo",
      name: "try-it",
      owns: id => id === tryItModelId,
      list: offering(tryItModelId, tryItModel),
    },
    async close() {
      await (await started)?.close();
    },
  };
}
