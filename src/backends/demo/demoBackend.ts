import type { Log } from "../../base/log.js";
import type { Backend } from "../backend.js";
import { type DemoModel, demoModelId, startDemoModel } from "./demoModel.js";

export interface DemoBackend extends Backend {
  close(): Promise<void>;
}

/** The scripted model inside the portal, started when it is first listed. */
export function demoBackend(log: Log): DemoBackend {
  let started: Promise<DemoModel> | undefined;
  return {
    kind: "demo",
    name: "demo",
    async list() {
      started ??= startDemoModel({ log });
      const { baseUrl, apiKey } = await started;
      const provider = { type: "openai" as const, baseUrl, apiKey };
      return [{ id: demoModelId, name: "Demo", multiplier: 0, target: { model: demoModelId, provider } }];
    },
    async close() {
      await (await started)?.close();
    },
  };
}
