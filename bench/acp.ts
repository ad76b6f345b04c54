import type { TestContext } from "node:test";
import { atHome, copilot, portalWithAgents } from "../test/support/acp/copilotCli.js";
import { tempFolder } from "../test/support/cleanup.js";
import { runShell, type Script } from "../test/support/model/scriptedModel.js";
import { directAgent } from "./support/directAgent.js";
import { compare, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { delaysMs, p99DelayMs, stampedDeltas, type Talk, throughPortal } from "./support/talk.js";
import { timed } from "./support/turns.js";

const sessions = 10;
const rounds = 5;
/** The pace of a quick model. */
const deltaEveryMs = 20;
const deltas = 150;
const outputLines = 200_000;

type Way = "direct" | "portal";

const script: Script = ({ userText, round: replies }) => {
  if (userText === "paced") return stampedDeltas(deltas, deltaEveryMs);
  if (replies > 0) return [{ text: "Done." }];
  // Like a build: some thousand lines, again and again.
  return [runShell(`for i in $(seq 100); do seq ${outputLines / 100}; sleep 0.02; done`)];
};

/** The same agent twice, each with this many sessions in one process: spoken to directly, and through the portal. */
async function bothWays(scope: TestContext, count: number): Promise<Record<Way, Talk[]>> {
  const agents = await atHome(scope, { copilot: { ...copilot, policy: "approve-all" } });
  const { model, portal, workingDirectory, startSession } = await portalWithAgents(scope, script, { agents });
  const home = await tempFolder(scope);
  const agent = await directAgent(scope, String(copilot.command), copilot.args as string[], {
    ...process.env,
    ...agents.copilot?.env,
    COPILOT_HOME: home,
    COPILOT_PROVIDER_BASE_URL: model.baseUrl,
    COPILOT_PROVIDER_API_KEY: model.apiKey,
    COPILOT_PROVIDER_TYPE: "openai",
  });
  const both: Record<Way, Talk[]> = { direct: [], portal: [] };
  for (let i = 0; i < count; i++) {
    both.direct.push(await agent.newSession(workingDirectory));
    both.portal.push(throughPortal(await startSession("copilot")));
  }
  const { status } = await portal.api("health");
  if (status !== 200) throw new Error(`The portal is not well: ${status}`);
  return both;
}

function nth(list: readonly Talk[], index: number): Talk {
  const session = list[index];
  if (!session) throw new Error(`There is no session ${index}`);
  return session;
}

/** How much later a delta reaches the portal's client than a direct client. */
function delayRows(what: string, take: (way: Way) => Promise<number>): Promise<Row[]> {
  return compare({
    rounds,
    warmUp: true,
    unit: "ms",
    reference: { name: `ACP: p99 delay of a delta${what}, the agent directly`, take: () => take("direct") },
    subjects: {
      [`ACP: p99 delay of a delta${what}, through the portal`]: {
        take: () => take("portal"),
        goal: { of: "difference", atMost: 10 },
      },
    },
  });
}

/** One session's delay, then how long ten of them take at the model's pace. */
async function tenSessions(): Promise<Row[]> {
  return inScope(async scope => {
    const both = await bothWays(scope, sessions);
    const turns = `ACP: ${sessions} turns at once in one agent process`;
    const all = (way: Way) => timed(() => Promise.all(both[way].map(talk => delaysMs(talk, "paced"))));
    return [
      ...(await delayRows("", way => p99DelayMs(nth(both[way], 0), "paced"))),
      ...(await compare({
        rounds,
        warmUp: true,
        unit: "ms",
        reference: { name: `${turns}, directly`, take: () => all("direct") },
        subjects: { [turns]: { take: () => all("portal"), goal: { atMost: 1.05 } } },
      })),
    ];
  });
}

async function bigOutput(): Promise<Row[]> {
  return inScope(async scope => {
    const both = await bothWays(scope, 2);
    const what = ` beside a tool that prints ${outputLines.toLocaleString("en")} lines`;
    return delayRows(what, async way => {
      const output = nth(both[way], 0).turn("output", () => {});
      const delayMs = await p99DelayMs(nth(both[way], 1), "paced");
      await output;
      return delayMs;
    });
  });
}

export async function acpRows(): Promise<Row[]> {
  return [...(await tenSessions()), ...(await bigOutput())];
}
