import { randomBytes } from "node:crypto";
import type { Log } from "../../base/log.js";
import { startScriptedModel } from "../scripted/server.js";
import type { Pace } from "../scripted/steps.js";
import { demoScript } from "./demoScript.js";
import { tryItModel } from "./tryItStory.js";

export const demoModelId = "demo";

export interface DemoModel {
  readonly baseUrl: string;
  readonly apiKey: string;
  close(): Promise<void>;
}

/** About 600 characters a second: fast enough not to bore, slow enough to watch. */
const humanPace: Pace = { chunkSize: 5, delayMs: 8 };

/** The demo model, listening inside the portal; the key keeps other programs on this machine out. */
export async function startDemoModel({
  log,
  pace = humanPace,
}: {
  log: Log;
  pace?: Pace;
}): Promise<DemoModel> {
  const apiKey = randomBytes(24).toString("base64url");
  return startScriptedModel({ script: demoScript, apiKey, models: [demoModelId, tryItModel], pace, log });
}
