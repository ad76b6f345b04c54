import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { LiveLogs } from "../../src/sharedApi.js";
import { openStore, type Store } from "../../src/store/store.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { type History, type RecordedFlow, readHistories } from "../support/jobs/history.js";
import { replay } from "../support/jobs/replay.js";
import { silent } from "../support/live/live.js";

const histories = readHistories();

const file = { after };
// The hook must be registered before the first test.
defer(file, () => store.close());
let store: Store;
let logs: LiveLogs;

before(async () => {
  store = openStore({ dataDir: await tempFolder(file, "portal-histories"), log: silent });
  logs = new LiveLogs(store, silent);
  await store.ready;
});

async function check(history: History): Promise<void> {
  assert.deepEqual(await replay(history, store, logs), history.diaries);
}

describe("A job that an earlier portal began", () => {
  for (const { name, history } of histories) {
    test(`writes the same diary when it is replayed: ${history.about} (${name})`, () => check(history));
  }
});

/** A copy of this release's history with this name, which a test may change. */
function copyOf(name: string): History {
  const found = histories.find(history => history.name.endsWith(`/${name}.json`));
  assert.ok(found, `no history ${name}`);
  return structuredClone(found.history);
}

/** The flow whose id has this ending. */
function flow({ flows }: History, ending: string): RecordedFlow {
  const [, found] = Object.entries(flows).find(([id]) => id.endsWith(ending)) ?? [];
  assert.ok(found, `no flow ${ending}`);
  return found;
}

function worksOf({ entry }: History, job: string): unknown[] {
  const work = entry.jobs[job]?.work;
  assert.ok(work?.kind === "Seq" || work?.kind === "Par");
  return work.works;
}

interface Tampering {
  of: string;
  /** What a changed portal would do, and how the replay notices it. */
  why: string;
  tamper(history: History): void;
  noticed: RegExp;
}

const tamperings: Tampering[] = [
  {
    of: "seq",
    why: "takes a step that was not recorded, so that the step would happen twice",
    tamper: history => flow(history, "/t:w.1").calls.pop(),
    noticed: /Call 2 of .* is step send; recorded is "no further call"/,
  },
  {
    of: "seq",
    why: "takes its steps in another order, so that a step would get another step's result",
    tamper: history => flow(history, "/t:w.0").calls.reverse(),
    noticed: /Call 1 of .* is step open; recorded is .*"step":"send"/,
  },
  {
    of: "seq",
    why: "leaves out a step that was recorded",
    tamper: history => flow(history, "/t:w.0").calls.push({ step: "send", at: 99, result: {} }),
    noticed: /did not come to .*"step":"send"/,
  },
  {
    of: "seq",
    why: "runs the parts of a Seq in another order, so that a task would learn about the wrong previous task",
    tamper: history => worksOf(history, "seq").reverse(),
    noticed: /The start of .* recorded is .*"previousTasks":\["first"\]/,
  },
  {
    of: "seq",
    why: "ends a Seq before its last task",
    tamper: history => worksOf(history, "seq").pop(),
    noticed: /did not come to .*"start":/,
  },
  {
    of: "seq-fails",
    why: "judges a round differently, and would continue after a failure",
    tamper: history => {
      const [, , check] = flow(history, "/t:w.1").calls;
      assert.ok(check && "result" in check);
      check.result = { kind: "finished", toolCalls: [{ name: "job_boolean_true", argument: "yes" }] };
    },
    noticed: /The result of .* is "succeeded"; recorded is "failed"/,
  },
  {
    of: "par",
    why: "starts one branch more than was recorded",
    tamper: history => worksOf(history, "par").push({ kind: "Ref", workIdInJob: 9, taskId: "fails" }),
    noticed: /is start .*\/b:w\.3; recorded is .*"resultOf"/,
  },
  {
    of: "loop",
    why: "runs a loop once less",
    tamper: history => {
      const work = history.entry.jobs.loop?.work;
      assert.ok(work?.kind === "Loop" && work.postCondition);
      work.postCondition[0] = true;
    },
    noticed: /did not come to .*"start":.*2pre/,
  },
  {
    of: "retries",
    why: "has another retry budget",
    tamper: history => {
      const { criteria } = history.entry.tasks["calls-late"] ?? {};
      assert.ok(criteria);
      criteria.failureAction.retryTimes = 0;
    },
    noticed: /The result of .* is "failed"; recorded is "succeeded"/,
  },
  {
    of: "crash",
    why: "words a decision differently, so that a half-written diary would not match",
    tamper: history => {
      const [diary] = Object.entries(history.diaries).find(([key]) => key.endsWith(".w.1")) ?? [];
      const decision = history.diaries[diary ?? ""]?.find(response => "reason" in response);
      assert.ok(decision);
      Object.assign(decision, { reason: "[MISC] Other words" });
    },
    noticed: /Expected values to be strictly deep-equal/,
  },
];

describe("A replay notices a portal that", () => {
  for (const { of, why, tamper, noticed } of tamperings) {
    test(`${why} (${of})`, async () => {
      const history = copyOf(of);
      tamper(history);
      await assert.rejects(check(history), noticed);
    });
  }
});
