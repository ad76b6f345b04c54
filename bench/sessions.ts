import type { TestContext } from "node:test";
import type { CopilotSession } from "@github/copilot-sdk";
import { tempFolder } from "../test/support/cleanup.js";
import { portalWithModel, type RestSession } from "../test/support/restSession.js";
import { runTurn, startBareSession, startRuntime } from "../test/support/runtime.js";
import { byPrompt, largeText, type Script, startScriptedModel } from "../test/support/scriptedModel.js";
import { median, type Row, ratioRow } from "./support/row.js";
import { inScope } from "./support/scope.js";

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

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A turn as a page sees it: the request by POST, the responses on one event stream that stays open. */
function eventTurns(session: RestSession): (prompt: string) => Promise<void> {
  const events = session.events();
  return async prompt => {
    await session.query(prompt);
    for (;;) {
      const { value, done } = await events.next();
      if (done || value.data.callback === "onIdle") return;
    }
  };
}

async function liveTurn(session: RestSession, prompt: string): Promise<void> {
  await session.query(prompt);
  for (;;) if ((await session.call("live")).callback === "onIdle") return;
}

/** The ways take turns, so that all of them run under the same load. */
async function turnRows(prompt: "burst" | "paced", turns: number): Promise<Row[]> {
  return inScope(async scope => {
    const [bare] = await bareSessions(scope, 1, script);
    const [byEvents, byLive] = await portalSessions(scope, 2, script);
    if (!bare || !byEvents || !byLive) throw new Error("A session is missing");
    const eventTurn = eventTurns(byEvents);
    const times = { bare: [] as number[], events: [] as number[], live: [] as number[] };
    for (let i = 0; i <= turns; i++) {
      const taken = {
        bare: await timed(() => runTurn(bare, prompt)),
        events: await timed(() => eventTurn(prompt)),
        live: await timed(() => liveTurn(byLive, prompt)),
      };
      // The first turn is a warm-up.
      if (i > 0) for (const way of ["bare", "events", "live"] as const) times[way].push(taken[way]);
    }
    const reference = median(times.bare);
    const measured = (value: number) => ({ value, reference, unit: "ms" });
    return [
      ratioRow(`200-delta turn, ${prompt}: REST and events`, measured(median(times.events)), {
        atMost: 1.05,
      }),
      ratioRow(`200-delta turn, ${prompt}: live, one response a call`, measured(median(times.live)), {
        atMost: 1.5,
      }),
    ];
  });
}

async function throughputRows(): Promise<Row[]> {
  const bare = await inScope(async scope => {
    const sessions = await bareSessions(scope, manySessions, script);
    return timed(() => Promise.all(sessions.map(session => runTurn(session, "burst"))));
  });
  const portal = await inScope(async scope => {
    const sessions = await portalSessions(scope, manySessions, script);
    return timed(() => Promise.all(sessions.map(session => eventTurns(session)("burst"))));
  });
  const perSecond = (ms: number) => (manySessions * 200 * 1000) / ms;
  return [
    ratioRow(
      `deltas a second, ${manySessions} sessions at once`,
      { value: perSecond(portal), reference: perSecond(bare), unit: "/s" },
      { atLeast: 0.9 },
    ),
  ];
}

export async function sessionRows(): Promise<Row[]> {
  return [...(await turnRows("burst", 15)), ...(await turnRows("paced", 3)), ...(await throughputRows())];
}
