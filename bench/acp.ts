import type { TestContext } from "node:test";
import { tempFolder } from "../test/support/cleanup.js";
import { atHome, copilot, portalWithAgents } from "../test/support/copilotCli.js";
import type { RestSession } from "../test/support/restSession.js";
import { runShell, type Script, type Step } from "../test/support/scriptedModel.js";
import { type DirectSession, directAgent } from "./support/directAgent.js";
import { absoluteRow, percentile, type Row, ratioRow, round } from "./support/row.js";
import { inScope } from "./support/scope.js";

const sessions = 10;
/** The best round of each way counts, because other processes share the machine. */
const rounds = 6;
/** The pace of a quick model. */
const deltaEveryMs = 20;
const deltas = 150;
const outputLines = 200_000;

type Way = "direct" | "portal";
const ways: readonly Way[] = ["direct", "portal"];

/** Each delta is the time at which the model sent it. */
const timed = (delayMs: number): Step => ({
  get text() {
    return `${performance.now().toFixed(2)} `;
  },
  delayMs,
});

const script: Script = ({ userText, round: replies }) => {
  if (userText === "paced") return Array.from({ length: deltas }, () => timed(deltaEveryMs));
  if (replies > 0) return [{ text: "Done." }];
  // Like a build: some thousand lines, again and again.
  return [runShell(`for i in $(seq 100); do seq ${outputLines / 100}; sleep 0.02; done`)];
};

/** The same agent twice, each with this many sessions in one process: spoken to directly, and through the portal. */
async function bothWays(scope: TestContext, count: number): Promise<Record<Way, DirectSession[]>> {
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
  const both: Record<Way, DirectSession[]> = { direct: [], portal: [] };
  for (let i = 0; i < count; i++) {
    both.direct.push(await agent.newSession(workingDirectory));
    both.portal.push(throughPortal(await startSession("copilot")));
  }
  const { status } = await portal.api("health");
  if (status !== 200) throw new Error(`The portal is not well: ${status}`);
  return both;
}

/** A turn as a page sees it: the request by POST, the responses on one event stream that stays open. */
function throughPortal(session: RestSession): DirectSession {
  const events = session.events();
  return {
    async turn(prompt: string, onDelta: (delta: string) => void) {
      await session.query(prompt);
      for (;;) {
        const { value, done } = await events.next();
        if (done || value.data.callback === "onIdle") return;
        if (value.data.callback === "onMessage") onDelta(String(value.data.delta));
      }
    },
  };
}

function nth(list: readonly DirectSession[], index: number): DirectSession {
  const session = list[index];
  if (!session) throw new Error(`There is no session ${index}`);
  return session;
}

async function delaysOf(session: DirectSession): Promise<number[]> {
  const delays: number[] = [];
  await session.turn("paced", delta => {
    // Several deltas may arrive together.
    for (const sentAt of delta.trim().split(" ")) delays.push(performance.now() - Number(sentAt));
  });
  return delays;
}

/** How much later a delta reaches the portal's client than a direct client. */
function delayRow(figure: string, delays: Record<Way, number[][]>): Row {
  const best = (way: Way) => Math.min(...delays[way].map(taken => percentile(taken, 0.99)));
  const [value, reference] = [best("portal"), best("direct")];
  return {
    ...absoluteRow(figure, value - reference, "ms", { atMost: 10 }),
    value: `${round(value)} − ${round(reference)} ms`,
    reference: `${round(reference)} ms`,
    ratio: round(value / reference),
  };
}

/** The ways take turns, so that both run under the same load; the first round is a warm-up. */
async function measure<T>(measureOne: (way: Way) => Promise<T>): Promise<Record<Way, T[]>> {
  const taken: Record<Way, T[]> = { direct: [], portal: [] };
  for (let i = 0; i <= rounds; i++)
    for (const way of ways) {
      const one = await measureOne(way);
      if (i > 0) taken[way].push(one);
    }
  return taken;
}

/** One session's delay, then how long ten of them take at the model's pace. */
async function tenSessions(): Promise<Row[]> {
  return inScope(async scope => {
    const both = await bothWays(scope, sessions);
    const delays = await measure(way => delaysOf(nth(both[way], 0)));
    const times = await measure(async way => {
      const start = performance.now();
      await Promise.all(both[way].map(delaysOf));
      return performance.now() - start;
    });
    const measured = { value: Math.min(...times.portal), reference: Math.min(...times.direct), unit: "ms" };
    return [
      delayRow("ACP: delay of a delta through the portal over the agent directly, p99", delays),
      ratioRow(`ACP: ${sessions} turns at once in one agent process (directly)`, measured, { atMost: 1.05 }),
    ];
  });
}

async function bigOutput(): Promise<Row[]> {
  return inScope(async scope => {
    const both = await bothWays(scope, 2);
    const beside = await measure(async way => {
      const output = nth(both[way], 0).turn("output", () => {});
      const delays = await delaysOf(nth(both[way], 1));
      await output;
      return delays;
    });
    const figure = `ACP: the same delay beside a tool that prints ${outputLines.toLocaleString("en")} lines`;
    return [delayRow(figure, beside)];
  });
}

export async function acpRows(): Promise<Row[]> {
  return [...(await tenSessions()), ...(await bigOutput())];
}
