import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { signedOutAgent } from "../acp/acp.js";
import { withoutStacks } from "../jobs/history.js";
import { type JobsPortal, type TaskOfTest, task } from "../jobs/jobs.js";
import { type AnyResponse, collectUntil, liveAll } from "../live/sse.js";
import { sessionById } from "../portal/restSession.js";
import type { Mortal } from "./mortal.js";
import { checkRounds, withoutPrefix } from "./rounds.js";

const model = { category: "driving" };

/** Every prompt names its job, so that a test can count how often the model got it. */
export const tasks: Record<string, TaskOfTest> = {
  checked: {
    prompt: ["checked $user-input"],
    model,
    criteria: {
      commands: [{ run: ["true"] }],
      condition: ["condition $user-input? job_boolean_true", "@call job_boolean_true yes"],
      runConditionInSameSession: false,
      failureAction: { retryTimes: 0 },
    },
  },
  plain: { prompt: ["plain $user-input"], model },
  refused: { prompt: ["refused $user-input"], model: { id: "acp:signed-out" } },
  held: { prompt: ["held $user-input", "@wait $user-input"], model },
  lent: { prompt: ["lent $user-input"] },
  "lent-held": { prompt: ["lent $user-input", "@wait lent $user-input"] },
};
/** The agent that refuses the task `refused`; and room for all that run together. */
export const config = { acpAgents: { "signed-out": signedOutAgent() }, maxTasks: 20, maxJobs: 20 };
export const jobs = {
  both: { work: { kind: "Seq" as const, works: [task("checked"), task("plain")] } },
  plain: { work: task("plain") },
  refused: { work: task("refused") },
  held: { work: task("held") },
};

/** A death here may interrupt a running prompt; anywhere else every prompt arrives exactly once. */
const duringTurn = new Set(["log-flush-begins", "log-flushed", "request-accepted", "turn-ended", "stop"]);

export interface Chain extends JobsPortal {
  mortal: Mortal;
  /** Of those that run together. */
  index?: number;
  /** Resolves when all that run together have called it. */
  together?: () => Promise<void>;
}

/** How a job ended, in a form that is the same for every run. */
export interface JobEnd {
  status: unknown;
  job: unknown[];
  tasks: unknown[][];
}

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** A command that ended just before a death runs again; its output is not part of what a task decides. */
const ofCommands = /^on(?:Start|End)ToolExecution$/;
/** What an attempt took differs when a death interrupts it. */
const decided = ({ callback, attempt, verdict, criteria, ...response }: AnyResponse): AnyResponse =>
  callback === "taskAttemptEnded"
    ? { callback, attempt, verdict, criteria }
    : { callback, attempt, verdict, criteria, ...response };
const plainWords = (responses: readonly AnyResponse[], input: string): unknown[] =>
  responses
    .filter(({ callback }) => !ofCommands.test(String(callback)))
    .map(decided)
    .map(({ time: _, ...response }) =>
      JSON.parse(JSON.stringify(withoutStacks(response)).replaceAll(uuid, "ID").replaceAll(input, "INPUT")),
    );

const pathOf = (jobId: string) => `copilot/job/${jobId}`;

/** Starts the job, unless an earlier start took effect but a death kept back its answer. */
export function startOnce({ portal, mortal, startJob }: Chain, name: string, input: string): Promise<string> {
  return mortal.persist(async () => {
    const { jobs: known } = (
      await portal.api<{ jobs: { jobId: string }[] }>(`copilot/job/history?search=${input}`)
    ).body;
    return known[0]?.jobId ?? startJob(name, input);
  });
}

export async function statusOf({ portal }: Chain, jobId: string): Promise<AnyResponse> {
  return (await portal.api<AnyResponse>(`${pathOf(jobId)}/status`)).body;
}

/** Follows the job to its end across all deaths, and checks every log and every prompt below it. */
export async function endOf(
  chain: Chain,
  jobId: string,
  input: string,
  deathsBefore: number,
): Promise<JobEnd> {
  const { portal, mortal, puppet } = chain;
  const logOf = (path: string) =>
    mortal.persist(() => liveAll(`${portal.url}/api/copilot/${path}/live/${Math.random()}`));
  const job = await logOf(`job/${jobId}`);
  const started = job.filter(({ callback }) => callback === "workStarted");
  const taskLogs: AnyResponse[][] = [];
  for (const { taskId } of started) taskLogs.push(await logOf(`task/${taskId}`));
  const sessionIds = taskLogs.flatMap(log =>
    log.filter(({ callback }) => callback === "taskSessionStarted").map(({ sessionId }) => String(sessionId)),
  );
  for (const id of sessionIds) {
    checkRounds(await logOf(`session/${id}`));
    const session = await mortal.persist(() => sessionById(portal, id).call<AnyResponse>(""));
    assert.equal(session.status, "Closed");
  }
  const status = await mortal.persist(() => statusOf(chain, jobId));
  const deaths = mortal.deaths.slice(deathsBefore).map(point => point.split(":")[0] ?? "");
  const mayRepeat = deaths.filter(point => duringTurn.has(point)).length;
  const arrived = puppet.prompts.filter(prompt => prompt.includes(input));
  for (const prompt of new Set(arrived.map(withoutPrefix))) {
    const count = arrived.filter(text => withoutPrefix(text) === prompt).length;
    assert.ok(
      count <= 1 + mayRepeat,
      `${JSON.stringify(prompt)} came ${count} times; deaths: ${deaths.join(", ")}`,
    );
  }
  return {
    status: [status.status, (status.tasks as AnyResponse[]).map(each => each.status)],
    job: plainWords(
      job.filter(({ callback }) => callback !== "onNotice"),
      input,
    ),
    tasks: taskLogs.map(log => plainWords(log, input)),
  };
}

/** A job that is stopped while its prompt runs. */
export async function cancelledJob(chain: Chain, input: string): Promise<JobEnd> {
  const { mortal, puppet, portal } = chain;
  const before = mortal.deaths.length;
  const jobId = await startOnce(chain, "held", input);
  await mortal.persist(() => mortal.orDeath(puppet.arrived(input)));
  await mortal.persist(async () => {
    if ((await statusOf(chain, jobId)).status === "Running") await portal.api(`${pathOf(jobId)}/stop`);
  });
  puppet.release(input);
  return endOf(chain, jobId, input, before);
}

/** A job and a task in a session that a stop of the server interrupts; the job is continued after the next start. */
export async function pausedJob(chain: Chain, input: string): Promise<JobEnd> {
  const { mortal, puppet, portal, startSession, index = 0, together } = chain;
  const before = mortal.deaths.length;
  const sessionId = await mortal.persist(() => startSession());
  const jobId = await startOnce(chain, "held", input);
  const { taskId } = await mortal.persist(
    async () =>
      (
        await portal.api<{ taskId: string }>(`copilot/task/start/lent-held/session/${sessionId}`, {
          body: input,
        })
      ).body,
  );
  await mortal.persist(() =>
    mortal.orDeath(Promise.all([puppet.arrived(input), puppet.arrived(`lent ${input}`)])),
  );
  await together?.();
  await mortal.stop();
  puppet.release(input);
  puppet.release(`lent ${input}`);
  await mortal.persist(async () => {
    // Where continuing it would hold, one after the other holds.
    await mortal.held(index);
    if ((await statusOf(chain, jobId)).status === "Paused") await portal.api(`${pathOf(jobId)}/continue`);
  });
  const end = await endOf(chain, jobId, input, before);
  const lent = await mortal.persist(() => liveAll(`${portal.url}/api/copilot/task/${taskId}/live/check`));
  const ends = lent.filter(({ callback }) => callback === "taskSucceeded" || callback === "taskFailed");
  assert.equal(ends.length, 1, "the task in the session ended once");
  await mortal.persist(() => portal.api(`copilot/session/${sessionId}/delete`, { method: "POST" }));
  return end;
}

/** Deletes a job completely; a second deletion answers that there is no such job. */
export async function deletedJob(chain: Chain, input: string): Promise<unknown> {
  const { mortal, portal } = chain;
  const before = mortal.deaths.length;
  const jobId = await startOnce(chain, "plain", input);
  const end = await endOf(chain, jobId, input, before);
  await mortal.persist(async () => {
    if ("jobId" in (await statusOf(chain, jobId)))
      await portal.api(`${pathOf(jobId)}/delete`, { method: "POST" });
  });
  const found = await mortal.persist(() => statusOf(chain, jobId));
  assert.deepEqual(found, { error: "JobNotFound" });
  return end;
}

export async function anyJob(chain: Chain, name: string, input: string): Promise<JobEnd> {
  const before = chain.mortal.deaths.length;
  return endOf(chain, await startOnce(chain, name, input), input, before);
}

/** A task in a session. Whether or not its start was acknowledged, it runs once. */
export async function lentTask(chain: Chain, input: string): Promise<string[]> {
  const { mortal, portal, puppet, startSession } = chain;
  const before = mortal.deaths.length;
  const sessionId = await mortal.persist(() => startSession());
  const session = sessionById(portal, sessionId);
  let isAsked = false;
  await mortal.persist(async () => {
    if (isAsked) return;
    isAsked = true;
    await portal.api(`copilot/task/start/lent/session/${sessionId}`, { body: input });
  });
  const log = await mortal.persist(() =>
    collectUntil(
      session.events(),
      ({ data }) => data.callback === "onIdle" && puppet.prompts.some(prompt => prompt.includes(input)),
    ),
  );
  await mortal.persist(() => session.call("stop"));
  checkRounds(log.map(({ data }) => data));
  const arrived = puppet.prompts.filter(prompt => prompt.includes(input));
  assert.equal(arrived.length, 1, `deaths: ${mortal.deaths.slice(before)}`);
  await mortal.persist(() => session.call("delete", { method: "POST" }));
  return arrived.map(prompt => prompt.replace(input, "INPUT"));
}

/** A person's session with two requests, from its start to its deletion. */
export async function session(chain: Chain, input: string): Promise<unknown> {
  const { mortal, portal, puppet, startSession } = chain;
  const id = await mortal.persist(() => startSession());
  const own = sessionById(portal, id);
  /** Sends the request until it is answered, as a person would after an interruption. */
  function ask(prompt: string): Promise<void> {
    return mortal.persist(async () => {
      for (;;) {
        const requests = (await ownLog()).filter(({ callback }) => callback === "onUserRequest").length;
        if (requests > 0) await own.untilIdle(requests);
        const log = await ownLog();
        const last = log.findLastIndex(response => response.prompt === prompt);
        if (last >= 0 && !log.slice(last).some(response => "sessionError" in response)) return;
        await own.query(prompt);
      }
    });
  }
  async function ownLog(): Promise<AnyResponse[]> {
    const { responses } = await own.call<{ responses: AnyResponse[] }>("export?format=json");
    return responses;
  }
  await ask(`first ${input}`);
  await mortal.persist(() => own.call("policy", { body: JSON.stringify({ policy: "ask" }) }));
  await mortal.persist(async () => {
    if ((await own.call<AnyResponse>("")).status !== "Closed") await own.call("stop");
  });
  const reader = `live/${input}`;
  const closed = await mortal.persist(() => liveAll(`${portal.url}/api/copilot/session/${id}/${reader}`));
  checkRounds(closed);
  await mortal.persist(() => own.call("reopen", { method: "POST" }));
  await ask(`second ${input}`);
  const { status, permissions } = await mortal.persist(() => own.call<AnyResponse>(""));
  const log = await mortal.persist(ownLog);
  checkRounds(log);
  const prompts = [...new Set(puppet.prompts.filter(prompt => prompt.includes(input)))];
  await mortal.persist(() => own.call("delete", { method: "POST" }));
  const gone = await mortal.persist(() => own.call(""));
  return { status, permissions, gone, prompts: prompts.map(prompt => prompt.replace(input, "INPUT")) };
}

/** A death at the start of a job, in the middle of a message: the next start ends the block of the message. */
export async function cutMessage(chain: Chain, input: string): Promise<unknown> {
  const { mortal, portal, startSession, puppet } = chain;
  const id = await mortal.persist(() => startSession());
  const own = sessionById(portal, id);
  await own.query(`cut ${input}\n@say Once upon a time\n@wait ${input}`);
  await own.waitFor("onMessage");
  const before = mortal.deaths.length;
  const jobId = await startOnce(chain, "refused", input);
  if (mortal.deaths.length === before) await mortal.kill();
  puppet.release(input);
  const log = await mortal.persist(() => own.untilIdle());
  checkRounds(log);
  const ends = log.filter(({ callback }) => callback === "onEndMessage");
  const job = await endOf(chain, jobId, input, before);
  await mortal.persist(() => own.call("delete", { method: "POST" }));
  // The text of the last 50 ms may be missing, because it was not stored yet; nothing else may differ.
  const messages = ends.map(({ completeContent, interrupted }) => ({
    isBeginning: "Once upon a time".startsWith(String(completeContent)),
    interrupted,
  }));
  return { messages, job };
}

/** A turn that is undone, brought back by undoing the undo, and committed once. */
export async function undoneChange(chain: Chain, input: string): Promise<unknown> {
  const { mortal, portal, puppet, model, workingDirectory } = chain;
  const folder = join(workingDirectory, input);
  const file = join(folder, "a.txt");
  const git = (...args: string[]) => execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
  await mkdir(folder);
  git("init", "-q");
  git("config", "user.name", "x");
  git("config", "user.email", "x@example.com");
  await writeFile(file, "one\n");
  git("add", "a.txt");
  git("commit", "-qm", "first");
  const start = `copilot/session/start/${model.modelId}`;
  const { sessionId } = (await portal.api<{ sessionId: string }>(start, { body: folder })).body;
  const own = sessionById(portal, sessionId);
  await own.query(`@wait ${input}\n@shell echo two >> a.txt`);
  await puppet.arrived(input);
  // The snapshot before the turn is stored.
  await own.call("changes");
  puppet.release(input);
  await own.untilIdle();
  const act = (path: string, body: object) =>
    mortal.persist(() => own.call<AnyResponse>(`changes/${path}`, { body: JSON.stringify(body) }));
  const first = await act("undo", { turn: 1 });
  const texts = [await readFile(file, "utf8")];
  const second = await act("undo", { undo: first.undo });
  texts.push(await readFile(file, "utf8"));
  await act("commit", { message: "the change" });
  const again = await act("commit", { message: "the change" });
  assert.deepEqual(texts, ["one\n", "one\ntwo\n"]);
  assert.deepEqual(git("log", "--format=%s").trim().split("\n"), ["the change", "first"]);
  assert.equal(git("status", "--porcelain"), "");
  await mortal.persist(() => own.call("delete", { method: "POST" }));
  return { first, second, again };
}
