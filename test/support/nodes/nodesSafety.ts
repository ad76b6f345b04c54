import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { logsIn } from "../jobs/jobReader.js";
import { randomFrom } from "../kills/randomLog.js";
import { checkRounds } from "../kills/rounds.js";
import { type AnyResponse, liveAll } from "../live/sse.js";
import { seen } from "../seen.js";
import { checkNothingIsLeft } from "../store/checkStore.js";
import type { PostgresServer } from "../store/postgres.js";
import { checkJob, everyKind, everything } from "./everyKind.js";
import { type EventKind, eventKinds, NodeEvents, type ShakenNode } from "./nodeEvents.js";
import { leaseMs, type Nodes, nodesOf } from "./nodes.js";
import { startRelay } from "./relay.js";
import { Witness } from "./witness.js";

/** Three leases, their agents' starts and a machine that is very busy take less. */
const longestSilenceMs = 90_000;
const readerPatienceMs = 5_000;

export interface SafetyOptions {
  seed: number;
  /** At least so many; jobs go on until everything has happened. */
  jobs: number;
  atOnce: number;
  /** How often each kind of event happens; their order is by chance. */
  events: Readonly<Record<EventKind, number>>;
}

export interface SafetyCounts {
  seed: number;
  events: Record<EventKind, number>;
  jobs: number;
  tasksEnded: number;
  prompts: number;
  /** Prompts that came again after a death that hit them. */
  again: number;
  /** Jobs that went on at another node, each time counted. */
  moved: number;
  /** Jobs that ended because five nodes in a row were lost while they ran. */
  poison: number;
}

/** Three nodes work on jobs of every kind of work while things happen to them, and nothing is lost or done twice. */
export async function nodesSafety(
  t: TestContext,
  server: PostgresServer,
  options: SafetyOptions,
): Promise<SafetyCounts> {
  const random = randomFrom(options.seed);
  const witness = new Witness(t, random);
  const cluster = await nodesOf(t, server, everyKind);
  const nodes = await Promise.all(["a", "b", "c"].map(name => startNode(t, cluster, witness, name)));
  const events = new NodeEvents({ nodes, server, witness, random, leaseMs });
  let isOver = false;
  let failure: unknown;
  let started = 0;
  /** Until it is there, or the test has failed. */
  const found = (look: () => Promise<boolean>) =>
    seen(async () => {
      const silentMs = Date.now() - (witness.testimonies.at(-1)?.beginMs ?? Date.now());
      if (silentMs > longestSilenceMs) failure ??= new Error(`Nobody goes on:\n${events.account()}`);
      if (failure !== undefined) throw failure;
      return look();
    });

  const anyNode = () => {
    const well = nodes.filter(({ isWell }) => isWell);
    return well[Math.floor(random() * well.length)]?.portal ?? nodes[0]?.portal;
  };
  async function work(): Promise<void> {
    while (started < options.jobs || !isOver) {
      const input = `x${++started}x`;
      const folder = await cluster.sharedFolder();
      // A start whose answer was lost may have taken place: all jobs of the store are checked in the end.
      const jobId = await startedJob(anyNode(), folder, input).catch(() => undefined);
      if (jobId === undefined) await found(async () => nodes.some(({ isWell }) => isWell));
      else await found(async () => hasEnded(anyNode(), jobId).catch(() => false));
    }
  }

  const working = Array.from({ length: options.atOnce }, () => work());
  const shake = async () => {
    // Only a node that has had its lease for a while may judge that another one is lost.
    await seen(async () => nodes.every(({ since }) => Date.now() - since > leaseMs + 1_000));
    for (const kind of shuffled(options.events, random)) await events.next(kind);
    await events.allMended();
    isOver = true;
  };
  const shaking = shake().catch(error => {
    failure = error;
    throw error;
  });
  await Promise.all([...working, shaking]);
  t.diagnostic(events.story.join(", "));
  try {
    return await checkAll({ nodes, cluster, server, witness, events, seed: options.seed });
  } catch (error) {
    throw new Error(`${error}\n${events.account()}`, { cause: error });
  }
}

async function startNode(t: TestContext, cluster: Nodes, witness: Witness, name: string) {
  const relay = await startRelay(t);
  const portal = await cluster.start(name, {
    model: await witness.modelOf(name),
    args: ["--node-url", relay.url],
  });
  relay.leadTo(portal.url);
  const node: ShakenNode & { since: number } = { name, portal, relay, isWell: true, since: Date.now() };
  return node;
}

type AnyPortal = ShakenNode["portal"];

async function startedJob(portal: AnyPortal | undefined, folder: string, input: string): Promise<string> {
  const answer = await portal?.api("copilot/job/start/everyKind", { body: `${folder}\n${input}` });
  assert.equal(typeof answer?.body.jobId, "string");
  return String(answer?.body.jobId);
}

/** The reader may be cut off at any moment; it comes back at another node. */
async function hasEnded(portal: AnyPortal | undefined, jobId: string): Promise<boolean> {
  const url = `${portal?.url}/api/copilot/job/${jobId}/live/${Math.random()}`;
  const read = liveAll(url).then(() => true);
  // A reader at a node that is frozen meanwhile would wait for it.
  return Promise.race([read, pause(readerPatienceMs, false, { ref: false })]);
}

function shuffled(counts: SafetyOptions["events"], random: () => number): EventKind[] {
  const all = eventKinds.flatMap(kind => Array.from({ length: counts[kind] }, () => kind));
  return all
    .map(kind => ({ kind, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ kind }) => kind);
}

interface Outcome {
  nodes: readonly ShakenNode[];
  cluster: Nodes;
  server: PostgresServer;
  witness: Witness;
  events: NodeEvents;
  seed: number;
}

async function checkAll({ nodes, cluster, server, witness, events, seed }: Outcome): Promise<SafetyCounts> {
  const query = <Row extends object>(text: string) => server.query<Row>(cluster.database, text);
  const rows = await query<{ id: string }>("select id from jobs order by created_at");
  const counts = { jobs: rows.length, tasksEnded: 0, moved: 0, poison: 0 };
  const sessions = new Map<string, AnyResponse[]>();
  for (const { id } of rows) {
    for (const { portal } of nodes) await seen(() => hasEnded(portal, id).catch(() => false));
    const logs = logsIn(await sameEverywhere(nodes, id));
    const { ended, moved, isPoison } = checkJob(logs, id);
    counts.tasksEnded += ended;
    counts.moved += moved;
    if (isPoison) counts.poison++;
    for (const [key, log] of logs) if (key.startsWith("session/")) sessions.set(key, log);
  }
  for (const log of sessions.values()) checkRounds(log);
  witness.checkWords(sessions);
  witness.checkOverlaps();
  const again = witness.checkPrompts(events.deaths());
  await checkNothingIsLeft(query);
  const prompts = witness.testimonies.filter(({ isPrompt }) => isPrompt).length;
  return { seed, events: events.counts, ...counts, prompts, again };
}

/** The job and everything below it, read through each node: the same numbers and the same responses. */
async function sameEverywhere(nodes: readonly ShakenNode[], jobId: string): Promise<AnyResponse[]> {
  const [first = [], ...others] = await Promise.all(
    // A stream ends when a lease was lost on a busy machine; its reader comes back.
    nodes.map(({ portal }) => seen(() => everything(portal, jobId).catch(() => undefined))),
  );
  const byLog = (all: AnyResponse[]) => Object.fromEntries([...logsIn(all)].sort());
  for (const other of others)
    assert.deepEqual(byLog(other), byLog(first), `job ${jobId} is not the same everywhere`);
  return first;
}
