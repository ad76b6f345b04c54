import type { TestContext } from "node:test";
import { pino } from "pino";
import { ownerMarker } from "../../../src/backends/orphans.js";
import { createApp } from "../../../src/index.js";
import { parseOptions } from "../../../src/server/options.js";
import { createPortal } from "../../../src/server/portal.js";
import { runStages } from "../../../src/server/shutdown.js";
import { lockDataFolder } from "../../../src/store/lock/lock.js";
import { defer, tempFolder } from "../cleanup.js";
import { type Puppet, puppet } from "../model/puppet.js";
import { scriptedApiKey, startScriptedModel } from "../model/scriptedModel.js";

/** A portal in this process, without a port and an entry, for tests of exported functions. */
export async function portalHere(t: TestContext): Promise<Puppet & { workingDirectory: string }> {
  const doll = puppet();
  const scripted = await startScriptedModel(t, { script: doll.script });
  const dataDir = await tempFolder(t, "portal-data");
  process.env.COPILOT_HOME = await tempFolder(t, "portal-copilot");
  const log = pino({ level: "silent" });
  const provider = { name: "scripted", baseUrl: scripted.baseUrl, apiKey: scriptedApiKey };
  const portal = createPortal({
    createApp,
    options: parseOptions(["--test", "--data-dir", dataDir]),
    config: { providers: [provider] },
    entry: undefined,
    policy: { folders: {} },
    log,
    port: 0,
    token: undefined,
    unlock: await lockDataFolder(dataDir),
    marker: await ownerMarker(dataDir),
    onReplaced: () => {},
    shutdown: { stopping: false, byUser: false, stop: async () => {} },
  });
  defer(t, () => runStages(portal.stages, log));
  await portal.ready;
  return { ...doll, workingDirectory: await tempFolder(t, "portal-work") };
}
