import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createCatalog } from "../../src/backends/catalog.js";
import { demoBackend } from "../../src/backends/demo/demoBackend.js";
import { ownerMarker } from "../../src/backends/orphans.js";
import { providerBackends } from "../../src/backends/providers.js";
import { type Runtime, RuntimePool, type RuntimePoolOptions } from "../../src/backends/runtime.js";
import { Changes } from "../../src/changes/changes.js";
import type { AgentSession } from "../../src/copilotSession.js";
import { Approvals } from "../../src/permissions/approvals.js";
import { FolderChoices } from "../../src/permissions/folderChoices.js";
import { RuleStore } from "../../src/permissions/ruleStore.js";
import { StartupGate } from "../../src/permissions/startup/startupGate.js";
import { copilotHost } from "../../src/sessions/copilot/copilotHost.js";
import type { SessionHost } from "../../src/sessions/sessionHost.js";
import { SessionRecords } from "../../src/sessions/sessionRecord.js";
import { SessionRegistry } from "../../src/sessions/sessionRegistry.js";
import { LiveLogs } from "../../src/sharedApi.js";
import { openStore } from "../../src/store/store.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live.js";
import { byPrompt, startScriptedModel } from "../support/scriptedModel.js";
import { conversation } from "../support/session.js";

/** Sessions of the portal on runtimes that the test ends at the worst moments. */
async function sessionsBench(t: TestContext, limits: Partial<RuntimePoolOptions> = {}) {
  const folder = await tempFolder(t);
  const model = await startScriptedModel(t, byPrompt({}));
  const store = openStore({ dataDir: folder, log: silent });
  defer(t, () => store.close());
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
    override async permit(session: Parameters<StartupGate["permit"]>[0]) {
      await hooks.beforePermit();
      return super.permit(session);
    }
  }
  const rules = new RuleStore(store, { folders: {} });
  const registry = new SessionRegistry(
    {
      records: new SessionRecords(store),
      catalog,
      hostOf: () => host,
      log: silent,
      approvals: new Approvals(rules),
      permissions: "allow-all",
      sandbox: false,
      startup: new Gate(rules, new FolderChoices(store)),
      changes: new Changes({ dataDir: await tempFolder(t), store, log: silent }),
    },
    new LiveLogs(store, silent),
  );
  const workingDirectory = await tempFolder(t);
  const start = () => registry.start({ modelId: model.modelId, workingDirectory });
  return { pool, model, hooks, agents, start };
}

/** Dies with the next call unanswered. A call to a dead process fails too, but the SDK also throws its error at nobody. */
async function dieAtNextCall({ child }: Runtime): Promise<void> {
  const stdin = child?.stdin as Socket;
  const before = stdin.bytesWritten;
  child?.kill("SIGSTOP");
  while (stdin.bytesWritten === before) await setImmediate();
  child?.kill("SIGKILL");
}

describe("A request while the runtime changes", { concurrency: 2 }, () => {
  test("a session that is detached between its check and its request continues in the next runtime", async t => {
    const { pool, model, hooks, agents, start } = await sessionsBench(t, {
      maxSessions: 1,
      drainGraceMs: 0,
    });
    const session = await start();
    await session.sendRequest("one");
    hooks.beforePermit = async () => {
      hooks.beforePermit = async () => {};
      // The old runtime has run its session and retires, which detaches idle sessions.
      await pool.use();
      await agents[0]?.ended;
    };
    await session.sendRequest("two");
    assert.deepEqual(
      agents.map(({ state }) => state),
      ["detached", "idle"],
    );
    assert.deepEqual(conversation(model), ["user: one", "assistant: You said: one", "user: two"]);
  });

  test("a session whose runtime dies while it opens is opened in the next runtime", async t => {
    const { pool, model, hooks, start } = await sessionsBench(t);
    const killed: Runtime[] = [];
    hooks.afterUse = runtime => {
      if (killed.length > 0) return;
      killed.push(runtime);
      void dieAtNextCall(runtime);
    };
    const session = await start();
    await session.sendRequest("hello");
    assert.deepEqual(conversation(model), ["user: hello"]);
    assert.notEqual(await pool.use(), killed[0]);
  });

  test("a session that finds one dying runtime after another says that the runtime is gone", async t => {
    const { hooks, start } = await sessionsBench(t);
    hooks.afterUse = runtime => void dieAtNextCall(runtime);
    await assert.rejects(start(), { name: "SessionCrashedError", message: "The Copilot runtime is gone." });
  });
});
