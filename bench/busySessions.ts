import type { TestContext } from "node:test";
import { byPrompt, largeText, runShell, startScriptedModel } from "../test/support/model/scriptedModel.js";
import { portalWithModel, type RestSession } from "../test/support/portal/restSession.js";
import { sessionsHere } from "../test/support/portal/sessionsHere.js";
import { startBareClient, type Taken } from "./support/bareClient.js";
import { cpuMs } from "./support/process.js";
import { absoluteRow, comparedRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { inTurns, timed } from "./support/turns.js";

const sessions = 20;
const deltas = 200;
const rounds = 5;
const burst = byPrompt({ burst: [largeText(deltas)] });

/** A turn as a page sees it: the request by POST, the responses on one event stream that stays open. */
export function eventTurns(session: RestSession): (prompt: string) => Promise<void> {
  const events = session.events();
  return async prompt => {
    await session.query(prompt);
    for (;;) {
      const { value, done } = await events.next();
      if (done || value.data.callback === "onIdle") return;
    }
  };
}

async function startPortalClient(scope: TestContext): Promise<(prompt: string) => Promise<Taken>> {
  const { portal, startSession } = await portalWithModel(scope, burst);
  const turns: ((prompt: string) => Promise<void>)[] = [];
  for (let i = 0; i < sessions; i++) turns.push(eventTurns(await startSession()));
  return async prompt => {
    const before = await cpuMs(portal.pid);
    const wallMs = await timed(() => Promise.all(turns.map(turn => turn(prompt))));
    return { wallMs, cpuMs: (await cpuMs(portal.pid)) - before };
  };
}

/** Wall time and the processor time of the one process that differs, from the same rounds. */
async function loadRows(): Promise<Row[]> {
  return inScope(async scope => {
    const clients = {
      bare: await startBareClient(scope, await startScriptedModel(scope, burst), sessions),
      portal: await startPortalClient(scope),
    };
    const usPerDelta = { bare: [] as number[], portal: [] as number[] };
    const take = (who: "bare" | "portal") => async () => {
      const taken = await clients[who]("burst");
      usPerDelta[who].push((taken.cpuMs * 1000) / (sessions * deltas));
      return taken.wallMs;
    };
    // The first turn of a session is a warm-up.
    for (const client of Object.values(clients)) await client("burst");
    const wall = await inTurns(rounds, { bare: take("bare"), portal: take("portal") });
    return [
      comparedRow(`${sessions} sessions at once, ${deltas} deltas each`, "ms", wall.portal, wall.bare, {
        atMost: 1.3,
      }),
      comparedRow(
        `processor time of the server per delta, ${sessions} busy sessions (the bare SDK client)`,
        "µs",
        usPerDelta.portal,
        usPerDelta.bare,
        { atMost: 2 },
      ),
    ];
  });
}

/** Outside the turn's own statements nothing happens here, so all that the store gets belongs to the turn. */
async function statementRows(): Promise<Row[]> {
  return inScope(async scope => {
    const script = byPrompt({ "run it": [[runShell("echo it ran")], [{ text: "It ran." }]] });
    const { start, statements } = await sessionsHere(scope, { script });
    const session = await start();
    const count = async (prompt: string) => {
      statements.length = 0;
      await session.sendRequest(prompt);
      await session.log.saved();
      return statements.length;
    };
    await count("a warm-up");
    const counted = await inTurns(rounds, { plain: () => count("hello"), tool: () => count("run it") });
    return [
      absoluteRow("statements of a plain turn", counted.plain, "", { atMost: 4 }),
      absoluteRow("statements of a turn with a tool", counted.tool, "", { atMost: 7 }),
    ];
  });
}

export async function busySessionRows(): Promise<Row[]> {
  return [...(await loadRows()), ...(await statementRows())];
}
