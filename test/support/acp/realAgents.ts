import type { TestContext } from "node:test";
import { defer } from "../cleanup.js";
import type { Script } from "../model/scriptedModel.js";
import { deleteSessions } from "../portal/restSession.js";
import { shared } from "../sharing.js";
import { type AgentPortal, type AgentSettings, copilot, startWithAgents, workingWith } from "./copilotCli.js";
import { opencode } from "./opencode.js";
import { copilotCache } from "./testAgents.js";

/** Only what the CLI needs to run: no provider, no sign-in. */
const bare: AgentSettings = {
  ...copilot,
  inheritEnv: false,
  env: {
    PATH: `\${env:PATH}`,
    COPILOT_HOME: `\${env:COPILOT_HOME}`,
    GH_CONFIG_DIR: `\${env:GH_CONFIG_DIR}`,
    COPILOT_CACHE_HOME: copilotCache,
  },
};
const offline = { ...bare, env: { ...bare.env, COPILOT_OFFLINE: "true" } };

/**
 * One portal with the real agents `copilot` and `opencode`, and with a `copilot` that is `signed-out` or `offline`, for
 * all files of the process: each start of an agent costs seconds. Call it at the top of the file.
 */
export function sharedAgents() {
  return shared("real agents", scope => {
    let script: Script;
    let parts: ReturnType<typeof startWithAgents> | undefined;
    const startAll = async () => {
      const agents = { copilot, "signed-out": bare, offline, opencode: await opencode(scope) };
      return startWithAgents(scope, { script: request => script(request) }, { agents });
    };
    return async (t: TestContext, scriptOfTest: Script): Promise<AgentPortal> => {
      script = scriptOfTest;
      parts ??= startAll();
      const { portal, model } = await parts;
      if (!isRunning(portal.pid)) await portal.restart();
      defer(t, () => isRunning(portal.pid) && deleteSessions(portal));
      return workingWith(t, { portal, model: model.fromHere() });
    };
  });
}

/** False when a test has stopped the portal. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
