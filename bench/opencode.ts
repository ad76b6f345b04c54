// The portal beside `opencode serve`, on the same scripted model in the same run. npm run bench -- opencode
import { setTimeout as pause } from "node:timers/promises";
import { barrier, startScriptedModel } from "../test/support/model/scriptedModel.js";
import { residentMiB } from "./support/process.js";
import { type Product, type StartProduct, startOpencode, startPortalProduct } from "./support/products.js";
import { compare, comparedRow, type Goal, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { delaysMs, stampedDeltas, type Talk } from "./support/talk.js";
import { fewestRounds, percentile } from "./support/turns.js";

const sessions = 10;
/** By then the garbage of the start is collected. */
const settleMs = 15_000;
/** The pace of a quick model. */
const [deltas, deltaEveryMs] = [150, 20];

const noWorse = { atMost: 1 };

/** Runs `work` with a product of its own, on a model that answers at once or, to "paced", at the usual pace. */
function withProduct<T>(start: StartProduct, work: (product: Product) => Promise<T>): Promise<T> {
  return inScope(async scope => {
    const model = await startScriptedModel(scope, ({ userText }) =>
      userText.startsWith("paced") ? stampedDeltas(deltas, deltaEveryMs) : [{ text: "Hello." }],
    );
    return work(await start(scope, model));
  });
}

/** The same figure of both; opencode is the reference. */
function beside(
  figure: string,
  unit: string,
  goal: Goal,
  take: (start: StartProduct) => Promise<number>,
): Promise<Row[]> {
  return compare({
    rounds: fewestRounds,
    unit,
    reference: { name: `opencode, ${figure}`, take: () => take(startOpencode) },
    subjects: { [`beside opencode: ${figure}`]: { take: () => take(startPortalProduct), goal } },
  });
}

const newTalk = async (product: Product) => product.talk(await product.startSession());

/** When the first delta of a turn arrived; the turn has ended then. */
async function firstDeltaAtMs(talk: Talk): Promise<number> {
  let atMs = 0;
  await talk.turn("hello", () => {
    atMs ||= performance.now();
  });
  return atMs;
}

/** On existing data, as on most days. */
function startMs(start: StartProduct, until: "port" | "token"): Promise<number> {
  return withProduct(start, async product => {
    await firstDeltaAtMs(await newTalk(product));
    await product.end("SIGTERM");
    const begunMs = performance.now();
    await product.start();
    const endMs = until === "port" ? performance.now() : await firstDeltaAtMs(await newTalk(product));
    return endMs - begunMs;
  });
}

/** Before any request. */
function idleMiB(start: StartProduct): Promise<number> {
  return withProduct(start, async product => {
    await pause(settleMs);
    return residentMiB(product.pid);
  });
}

/** Sessions that have answered before. */
async function tenTalks(product: Product): Promise<Talk[]> {
  const talks: Talk[] = [];
  for (let i = 0; i < sessions; i++) {
    const talk = await newTalk(product);
    await firstDeltaAtMs(talk);
    talks.push(talk);
  }
  return talks;
}

/** Of all processes: the portal's agents are processes of their own, those of opencode are not. */
function busyMiB(start: StartProduct): Promise<number> {
  return withProduct(start, async product => {
    await tenTalks(product);
    await pause(settleMs);
    const all = await Promise.all((await product.processes()).map(residentMiB));
    return all.reduce((sum, one) => sum + one, 0);
  });
}

function p99WithTen(start: StartProduct): Promise<number> {
  return withProduct(start, async product => {
    const talks = await tenTalks(product);
    const delays = await Promise.all(talks.map(talk => delaysMs(talk, "paced")));
    return percentile(delays.flat(), 0.99);
  });
}

/** In a session that has answered before, on a model that answers at once. */
function firstTokenRows(): Promise<Row[]> {
  return withProduct(startPortalProduct, portal =>
    withProduct(startOpencode, async opencode => {
      const [ours, theirs] = [await newTalk(portal), await newTalk(opencode)];
      const delayMs = async (talk: Talk) => {
        const begunMs = performance.now();
        return (await firstDeltaAtMs(talk)) - begunMs;
      };
      return compare({
        rounds: 15,
        warmUp: true,
        unit: "ms",
        reference: { name: "opencode, first token of a turn", take: () => delayMs(theirs) },
        subjects: {
          "beside opencode: first token of a turn": { take: () => delayMs(ours), goal: noWorse },
        },
      });
    }),
  );
}

const partialAnswer = Array.from({ length: 50 }, (_, i) => `word-${i} `).join("");

/** What is left of a session whose server was killed within an answer. */
interface Left {
  requests: number;
  answers: number;
  /** Of the part of the answer that a reader had already seen. */
  partialPercent: number;
  ended: number;
  goesOn: number;
}

async function afterKill(start: StartProduct): Promise<Left> {
  const middle = barrier();
  return inScope(async scope => {
    const model = await startScriptedModel(scope, ({ userText }) => {
      if (userText.startsWith("long"))
        return [{ text: partialAnswer, chunkSize: 8, delayMs: deltaEveryMs }, middle.step];
      return [{ text: userText.startsWith("first") ? "The first answer." : "It goes on." }];
    });
    const product = await start(scope, model);
    const sessionId = await product.startSession();
    const talk = await product.talk(sessionId);
    await talk.turn("first", () => {});
    await new Promise<void>((resolve, reject) => {
      let seen = "";
      talk
        .turn("long", delta => {
          seen += delta;
          if (seen.length >= partialAnswer.trimEnd().length) resolve();
        })
        // The kill ends the stream.
        .catch(reject);
    });
    await product.end("SIGKILL");
    middle.release();
    await product.start();
    const { requests, answers, ended } = await product.kept(sessionId);
    const partial = answers.find(answer => answer.startsWith("word-0")) ?? "";
    await (await product.talk(sessionId)).turn("and then?", () => {});
    const next = model.requests.find(({ request }) => request.userText.startsWith("and then?"))?.request;
    const sent = JSON.stringify(next?.messages ?? []);
    return {
      requests: ["first", "long"].filter(request => requests.includes(request)).length,
      answers: answers.includes("The first answer.") ? 1 : 0,
      partialPercent: (partial.trimEnd().length / partialAnswer.trimEnd().length) * 100,
      ended: ended ? 1 : 0,
      goesOn: sent.includes("The first answer.") && next?.userTexts.includes("long") ? 1 : 0,
    };
  });
}

async function killRows(): Promise<Row[]> {
  const left: { portal: Left[]; opencode: Left[] } = { portal: [], opencode: [] };
  for (let round = 0; round < fewestRounds; round++) {
    left.opencode.push(await afterKill(startOpencode));
    left.portal.push(await afterKill(startPortalProduct));
  }
  const figures: Record<keyof Left, { figure: string; unit: string; atLeast: number }> = {
    requests: { figure: "requests still known, of 2", unit: "", atLeast: 2 },
    answers: { figure: "complete answers still known, of 1", unit: "", atLeast: 1 },
    partialPercent: { figure: "of the partial answer that was seen, still known", unit: "%", atLeast: 90 },
    ended: { figure: "the cut answer is shown as ended (1) or as if it went on (0)", unit: "", atLeast: 1 },
    goesOn: { figure: "the conversation goes on with what was before (1) or not (0)", unit: "", atLeast: 1 },
  };
  return (Object.keys(figures) as (keyof Left)[]).map(name => {
    const { figure, unit, atLeast } = figures[name];
    const of = (all: Left[]) => all.map(one => one[name]);
    return comparedRow(
      `beside opencode, after kill -9: ${figure}`,
      unit,
      of(left.portal),
      of(left.opencode),
      {
        of: "value",
        atLeast,
      },
    );
  });
}

export async function opencodeRows(): Promise<Row[]> {
  return [
    ...(await beside("start until the port is open", "ms", noWorse, start => startMs(start, "port"))),
    ...(await beside("start until the first token", "ms", noWorse, start => startMs(start, "token"))),
    ...(await beside("idle memory of the server", "MiB", { atMost: 0.6 }, idleMiB)),
    ...(await beside(`memory of all processes, ${sessions} sessions after a turn`, "MiB", noWorse, busyMiB)),
    ...(await firstTokenRows()),
    ...(await beside(`p99 delay of a delta, ${sessions} busy sessions`, "ms", noWorse, p99WithTen)),
    ...(await killRows()),
  ];
}
