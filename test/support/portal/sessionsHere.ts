import { join } from "node:path";
import type { TestContext } from "node:test";
import { createCatalog } from "../../../src/backends/catalog.js";
import { demoBackend } from "../../../src/backends/demo/demoBackend.js";
import { ownerMarker } from "../../../src/backends/orphans.js";
import { providerBackends } from "../../../src/backends/providers.js";
import { type Runtime, RuntimePool, type RuntimePoolOptions } from "../../../src/backends/runtime.js";
import { Changes } from "../../../src/changes/changes.js";
import type { AgentSession } from "../../../src/copilotSession.js";
import { Approvals } from "../../../src/permissions/approvals.js";
import { FolderChoices } from "../../../src/permissions/folderChoices.js";
import { RuleStore } from "../../../src/permissions/ruleStore.js";
import { StartupGate } from "../../../src/permissions/startup/startupGate.js";
import { copilotHost } from "../../../src/sessions/copilot/copilotHost.js";
import { Pictures } from "../../../src/sessions/pictures.js";
import type { SessionHost } from "../../../src/sessions/sessionHost.js";
import { SessionRecords } from "../../../src/sessions/sessionRecord.js";
import { SessionRegistry } from "../../../src/sessions/sessionRegistry.js";
import { LiveLogs } from "../../../src/sharedApi.js";
import { openStore } from "../../../src/store/store.js";
import { defer, tempFolder } from "../cleanup.js";
import { silent } from "../live/live.js";
import { byPrompt, type Script, startScriptedModel } from "../model/scriptedModel.js";
import { countedStore } from "../store/countedStore.js";

export interface SessionsHereOptions {
  script?: Script;
  limits?: Partial<RuntimePoolOptions>;
}

/** Sessions of the portal in this process, on runtimes and a store that the test can reach. */
export async function sessionsHere(t: TestContext, { script, limits }: SessionsHereOptions = {}) {
  const folder = await tempFolder(t);
  const model = await startScriptedModel(t, script ?? byPrompt({}));
  const opened = openStore({ dataDir: folder, log: silent });
  defer(t, () => opened.close());
  const { store, statements } = countedStore(opened);
  const pool = new RuntimePool({
    env: { ...process.env, COPILOT_HOME: join(folder, "copilot") },
    marker: await ownerMarker(folder),
    log: silent,
    ...limits,
  });
  defer(t, () => pool.stop(2000));
  const demo = demoBackend(silent);
  defer(t, () => demo.close());
  const provider = { name: "scripted", baseUrl: model.baseUrl, apiKey: model.apiKey };
  const catalog = createCatalog({ backends: providerBackends([provider], process.env), demo, log: silent });

  const hooks = { beforePermit: async () => {}, afterUse: (_runtime: Runtime) => {} };
  const agents: AgentSession[] = [];
  const runtimes = {
    running: (sandboxed: string) => pool.running(sandboxed),
    async use(sandboxed?: string) {
      const runtime = await pool.use(sandboxed);
      hooks.afterUse(runtime);
      return runtime;
    },
  };
  const copilot = copilotHost({ catalog, runtimes, secrets: [], log: silent });
  const host: SessionHost = {
    ...copilot,
    async open(request) {
      const agent = await copilot.open(request);
      agents.push(agent);
      return agent;
    },
  };
  class Gate extends StartupGate {
    override async renewed(...args: Parameters<StartupGate["renewed"]>) {
      await hooks.beforePermit();
      return super.renewed(...args);
    }
  }
  const rules = new RuleStore(store, { folders: {} });
  const logs = new LiveLogs(store, silent);
  const registry = new SessionRegistry(
    {
      records: new SessionRecords(store, logs.ownership),
      catalog,
      hostOf: () => host,
      log: silent,
      changes: new Changes({ dataDir: folder, store, log: silent }),
      pictures: new Pictures(join(folder, "pictures")),
      approvals: new Approvals(rules),
      permissions: "allow-all",
      sandbox: false,
      startup: new Gate(rules, new FolderChoices(store)),
    },
    logs,
  );
  const workingDirectory = await tempFolder(t);
  const start = () => registry.start({ modelId: model.modelId, workingDirectory });
  return { pool, model, hooks, agents, start, statements, rules, workingDirectory };
}
