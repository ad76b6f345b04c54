import type { TestContext } from "node:test";
import type { CopilotSession } from "@github/copilot-sdk";
import { tempFolder } from "../test/support/cleanup.js";
import { byPrompt, largeText, type Script, startScriptedModel } from "../test/support/model/scriptedModel.js";
import { portalWithModel, type RestSession } from "../test/support/portal/restSession.js";
import { runTurn, startBareSession, startRuntime } from "../test/support/portal/runtime.js";
import { busySessionRows, eventTurns } from "./busySessions.js";
import { compare, type Goal, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds, timed } from "./support/turns.js";

const manySessions = 100;
/** 200 deltas as fast as they go, and at the pace of a quick model. */
const script = byPrompt({
  burst: [largeText(200)],
  paced: [{ text: "word ".repeat(200), chunkSize: 5, delayMs: 20 }],
});

async function bareSessions(scope: TestContext, count: number, model: Script): Promise<CopilotSession[]> {
  const scripted = await startScriptedModel(scope, model);
  const client = await startRuntime(scope);
  const workingDirectory = await tempFolder(scope);
  const sessions: CopilotSession[] = [];
  for (let i = 0; i < count; i++)
    sessions.push(await startBareSession(client, scripted, { workingDirectory }));
  return sessions;
}

async function portalSessions(scope: TestContext, count: number, model: Script): Promise<RestSession[]> {
  const { startSession } = await portalWithModel(scope, model);
  const sessions: RestSession[] = [];
  for (let i = 0; i < count; i++) sessions.push(await startSession());
  return sessions;
}

async function liveTurn(session: RestSession, prompt: string): Promise<void> {
  await session.query(prompt);
  for (;;) if ((await session.call("live")).callback === "onIdle") return;
}

async function turnRows(prompt: "burst" | "paced", rounds: number, goal: Goal): Promise<Row[]> {
  return inScope(async scope => {
    const [bare] = await bareSessions(scope, 1, script);
    const [byEvents, byLive] = await portalSessions(scope, 2, script);
    if (!bare || !byEvents || !byLive) throw new Error("A session is missing");
    const eventTurn = eventTurns(byEvents);
    return compare({
      rounds,
      warmUp: true,
      unit: "ms",
      reference: {
        name: `200-delta turn, ${prompt}: the bare SDK`,
        take: () => timed(() => runTurn(bare, prompt)),
      },
      subjects: {
        [`200-delta turn, ${prompt}: REST and events`]: { take: () => timed(() => eventTurn(prompt)), goal },
        [`200-delta turn, ${prompt}: live, one response a call`]: {
          take: () => timed(() => liveTurn(byLive, prompt)),
          goal: { atMost: 1.5 },
        },
      },
    });
  });
}

const deltasPerSecond = (ms: number) => (manySessions * 200 * 1000) / ms;

async function bareThroughput(): Promise<number> {
  return inScope(async scope => {
    const sessions = await bareSessions(scope, manySessions, script);
    return deltasPerSecond(
      await timed(() => Promise.all(sessions.map(session => runTurn(session, "burst")))),
    );
  });
}

async function portalThroughput(): Promise<number> {
  return inScope(async scope => {
    const sessions = await portalSessions(scope, manySessions, script);
    return deltasPerSecond(
      await timed(() => Promise.all(sessions.map(session => eventTurns(session)("burst")))),
    );
  });
}

async function throughputRows(): Promise<Row[]> {
  const figure = `deltas a second, ${manySessions} sessions at once`;
  return compare({
    rounds: fewestRounds,
    unit: "/s",
    reference: { name: `${figure}: the bare SDK`, take: bareThroughput },
    subjects: { [figure]: { take: portalThroughput, goal: { atLeast: 0.95 } } },
  });
}

export async function sessionRows(): Promise<Row[]> {
  return [
    ...(await turnRows("burst", 15, { atMost: 1.15 })),
    ...(await turnRows("paced", 3, { atMost: 1.02 })),
    ...(await busySessionRows()),
    ...(await throughputRows()),
  ];
}
