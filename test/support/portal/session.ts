import type { TestContext } from "node:test";
import type { CopilotClient, ProviderConfig } from "@github/copilot-sdk";
import { type StartSessionOptions, startSession } from "../../../src/copilotSession.js";
import { defer, tempFolder } from "../cleanup.js";
import { type Recorder, recorder } from "../live/recorder.js";
import { type Script, type ScriptedModel, startScriptedModel } from "../model/scriptedModel.js";
import { shared } from "../sharing.js";
import { startRuntime } from "./runtime.js";

export interface SessionForTest {
  session: Awaited<ReturnType<typeof startSession>>;
  record: Recorder;
}

export interface SessionBench {
  model: ScriptedModel;
  client: CopilotClient;
  folder: string;
  provider: ProviderConfig;
  /** A session on the real runtime with the scripted model; all its callbacks are recorded. */
  start(options?: StartSessionOptions): Promise<SessionForTest>;
}

/** On a runtime of its own. */
export async function sessionBench(t: TestContext, script: Script): Promise<SessionBench> {
  return benchOn(t, await startRuntime(t), script);
}

/**
 * One runtime for all tests that leave it running, of all files of the process. The model, the folder and the sessions
 * belong to each test. Call it at the top of the file.
 */
export function sharedRuntime(): typeof sessionBench {
  return shared("runtime", scope => {
    let client: Promise<CopilotClient> | undefined;
    return async (t, script) => {
      client ??= startRuntime(scope);
      return benchOn(t, await client, script);
    };
  });
}

async function benchOn(t: TestContext, client: CopilotClient, script: Script): Promise<SessionBench> {
  const folder = await tempFolder(t);
  const model = await startScriptedModel(t, script);
  const provider = providerOf(model);
  return { model, client, folder, provider, start: options => sessionOn(t, client, model, folder, options) };
}

export async function sessionOn(
  t: TestContext,
  client: CopilotClient,
  model: ScriptedModel,
  folder: string,
  options: StartSessionOptions = {},
): Promise<SessionForTest> {
  const record = recorder();
  const session = await startSession(client, model.modelId, record.callbacks, folder, {
    provider: providerOf(model),
    ...options,
  });
  defer(t, () => session.stop());
  return { session, record };
}

function providerOf({ baseUrl, apiKey }: ScriptedModel): ProviderConfig {
  return { type: "openai", baseUrl, apiKey };
}

/** The conversation as the model last saw it, without the runtime's additions. */
export function conversation(model: ScriptedModel): string[] {
  const request = model.requests.at(-1)?.request;
  return (request?.messages ?? [])
    .filter(message => message.role !== "system")
    .map(message => `${message.role}: ${stripped(message.content)}`);
}

function stripped(content: string): string {
  return content.replace(/<current_datetime>.*?<\/current_datetime>\s*/gs, "").trim();
}
