import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fakeAgent, portalWithAgent, steps } from "../../support/acp/acp.js";
import type { Step } from "../../support/acp/fakeAgentSteps.js";
import { portalWithEntry, task } from "../../support/jobs/jobs.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { scriptedModelId } from "../../support/model/scriptedModel.js";
import { messagesOf } from "../../support/portal/restSession.js";

const both = { clientFs: true, clientTerminal: true };
const options = [
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "no", kind: "reject_once", name: "No" },
];
/** The agent reports the answers that it got; the portal itself would run the second step. */
const work: Step[] = [
  { job: "" },
  {
    ask: "session/request_permission",
    params: {
      toolCall: { toolCallId: "x", title: "x", kind: "execute", rawInput: { command: "touch ran" } },
      options,
    },
  },
  { ask: "terminal/create", params: { command: "touch", args: ["ran"] } },
];
const entry = {
  tasks: {
    agent: { prompt: [`Do this: ${steps(...work)}`], model: { id: "acp:fake" } },
    loose: { prompt: [`Do this: ${steps(...work)}`], model: { id: "acp:loose" } },
    copilot: { prompt: ["@shell touch ran"], model: { id: scriptedModelId } },
  },
  jobs: {
    agent: { work: task("agent") },
    loose: { work: task("loose") },
    copilot: { work: task("copilot") },
  },
};
const config = {
  acpAgents: { fake: fakeAgent({}, both), loose: fakeAgent({}, { ...both, taskPolicy: "approve-all" }) },
};

describe("Tasks and jobs without a policy of their own", () => {
  test("tasks and jobs may do nothing when the portal's policy denies, on any backend, unless the agent's taskPolicy allows it", async t => {
    const { runJob, workingDirectory, portal } = await portalWithEntry(t, entry, {
      config,
      args: ["--permissions", "deny"],
    });
    for (const name of ["agent", "copilot"]) {
      const { responses } = await runJob(name);
      await assert.rejects(stat(join(workingDirectory, "ran")), name);
      const sessions = await sessionsOf(portal);
      assert.deepEqual([...new Set(sessions.map(({ permissions }) => permissions))], ["deny"], name);
      assert.ok(responses.length > 0);
    }
    const [denied] = (
      await Promise.all((await sessionsOf(portal)).map(({ sessionId }) => exported(portal, sessionId)))
    )
      .filter(responses => messagesOf(responses).some(text => String(text).startsWith('{"outcome"')))
      .map(messagesOf);
    assert.match(String(denied), /"optionId":"no".*Rejected by the user/, "both ways are closed");

    await runJob("loose");
    await stat(join(workingDirectory, "ran"));
  });

  test("tasks and jobs ask when the portal's policy asks, on any backend", async t => {
    const { portal, startJob, jobLog, workingDirectory } = await portalWithEntry(t, entry, {
      config,
      args: ["--permissions", "ask"],
    });
    for (const [name, cards] of [
      ["agent", 2],
      ["copilot", 1],
    ] as const) {
      const jobId = await startJob(name);
      for (let card = 0; card < cards; card++) {
        const request = await nextCard(portal);
        await assert.rejects(stat(join(workingDirectory, "ran")), `${name} waits`);
        const body = JSON.stringify({ requestId: request.requestId, deny: true });
        await portal.api("copilot/permission/answer", { body });
      }
      await jobLog(jobId);
      await assert.rejects(stat(join(workingDirectory, "ran")), `${name} was denied`);
    }
  });
});

describe("An ACP agent's environment", () => {
  test("an agent gets none of the portal's keys and tokens, only what its settings name", async t => {
    const { start } = await portalWithAgent(t, {
      acpAgents: {
        fake: fakeAgent(
          {},
          { env: { SHARED: `\${env:COPILOT_PROVIDER_API_KEY}` }, ...both, policy: "approve-all" },
        ),
      },
      portal: {
        env: {
          COPILOT_PROVIDER_API_KEY: "provider-key",
          COPILOT_PROVIDER_BEARER_TOKEN: "provider-token",
          OWN_LOGIN: "login",
        },
      },
    });
    const session = await start();
    const names = ["COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN", "PORTAL_TOKEN"];
    const told = [...names, "SHARED", "OWN_LOGIN"].map((environment): Step[] => [
      { environment },
      { thought: "-" },
    ]);
    await session.query(
      steps(...told.flat(), {
        terminal: { command: "env" },
        calls: ["terminal/wait_for_exit", "terminal/output"],
      }),
    );
    const messages = messagesOf(await session.untilIdle()).map(String);
    assert.deepEqual(messages.slice(0, told.length), [
      ...names.map(() => "undefined"),
      "provider-key",
      "login",
    ]);
    assert.doesNotMatch(
      messages.at(-1) ?? "",
      /provider-key|provider-token/,
      "its commands have none either",
    );
    assert.match(messages.at(-1) ?? "", /OWN_LOGIN=login/);
  });
});

interface Api {
  api<T>(path: string, init?: RequestInit): Promise<{ body: T }>;
}

async function sessionsOf(portal: Api): Promise<{ sessionId: string; permissions: string }[]> {
  const path = "copilot/session/history?limit=100&owned=true";
  const { body } = await portal.api<{ sessions?: { sessionId: string; permissions: string }[] }>(path);
  return body.sessions ?? [];
}

async function exported(portal: Api, sessionId: string): Promise<AnyResponse[]> {
  const path = `copilot/session/${sessionId}/export?format=json`;
  return (await portal.api<{ responses: AnyResponse[] }>(path)).body.responses;
}

async function nextCard(portal: Api): Promise<AnyResponse> {
  for (;;) {
    const { body } = await portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending?wait=true");
    if (body.requests[0]) return body.requests[0];
  }
}
