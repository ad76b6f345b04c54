import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { PoolClient } from "pg";
import { pino } from "pino";
import { deferred } from "../../src/base/deferred.js";
import {
  type DurableJobs,
  type Flow,
  type FlowStatus,
  openDurableJobs,
} from "../../src/store/durableJobs.js";
import { openStore, type Store } from "../../src/store/store.js";

const log = pino({ level: "silent" });

/** A step that a test holds until it says how it ends. */
interface HeldStep {
  name: string;
  finish(): void;
  fail(): void;
}

/** For each connection: one of them breaks after the commit which takes flows out of a queue, before its answer. */
function losesOneAnswer(): (client: PoolClient) => void {
  let isTaken = false;
  let isLost = false;
  return client => {
    const query = client.query.bind(client) as (...all: unknown[]) => unknown;
    const queries = (...all: unknown[]) => {
      const [text, values] = all;
      const answer = query(...all);
      isTaken ||= /^\s*UPDATE/.test(String(text)) && JSON.stringify(values).includes("PENDING");
      if (isLost || !isTaken || text !== "COMMIT") return answer;
      isLost = true;
      return Promise.resolve(answer).then(() => {
        throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      });
    };
    Object.assign(client, { query: queries });
  };
}

describe("Durable flows", () => {
  let dataDir: string;
  let store: Store;
  let jobs: DurableJobs;
  const ran: string[] = [];
  const held: HeldStep[] = [];
  let arrived: (() => void) | undefined;

  const note = (line: string) => {
    ran.push(line);
    arrived?.();
  };

  const flows = {
    /** Between its steps it waits for the test. */
    between: async (flow: Flow, { isParent }: { isParent: boolean }) => {
      await flow.step("before", async () => note("before"));
      await new Promise<void>(resolve => {
        goOn = resolve;
        note("between");
      });
      try {
        if (isParent) await (await flow.start("noted", `${flow.id}/child`, {})).result();
        else await flow.step("after", async () => note("after"));
      } catch {
        note("failed");
      }
    },
    /** Says what came of waiting for a child. */
    waits: async (flow: Flow) => {
      const child = await flow.start<string>("child", `${flow.id}/t:a`, { name: "a" });
      note("waits");
      await child.result().then(
        result => note(`got ${result}`),
        error => note(`failed: ${error}`),
      );
      note("over");
    },
    noted: async (flow: Flow) => flow.step("after", async () => note("after")),
    /** Runs two children one after the other. */
    parent: async (flow: Flow, input: { children: string[] }) => {
      const results: string[] = [];
      for (const name of input.children) {
        const child = await flow.start<string>("child", `${flow.id}/t:${name}`, { name });
        results.push(await child.result());
      }
      note(`${flow.id} ended with ${results.join(" ")}`);
    },
    /** A step that ends at once, then one that the test holds. */
    child: async (flow: Flow, { name }: { name: string }) => {
      await flow.step("quick", async () => note(`quick ${name}`));
      return flow.step(
        "held",
        () =>
          new Promise<string>((resolve, reject) => {
            held.push({ name, finish: () => resolve(name), fail: () => reject(new Error("cut off")) });
            note(`held ${name}`);
          }),
      );
    },
  };

  let goOn: (() => void) | undefined;

  async function until(...lines: string[]): Promise<void> {
    while (!lines.some(line => ran.includes(line))) {
      await new Promise<void>(resolve => {
        arrived = resolve;
      });
    }
  }

  async function open(): Promise<void> {
    jobs = await openDurableJobs({ pool: await store.pool, flows, log });
  }

  async function statusOf(id: string): Promise<FlowStatus | undefined> {
    return (await jobs.look([id])).get(id)?.status;
  }

  function forget(): void {
    ran.length = 0;
    held.length = 0;
  }

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "portal-durable-"));
    store = openStore({ dataDir, log });
    await open();
  });

  after(async () => {
    await jobs.close();
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  it("A flow runs its children in order and remembers that they ended", async () => {
    await jobs.submit("parent", "plain", { children: ["a", "b"] });
    await until("held a");
    assert.equal(await statusOf("plain"), "running");
    held[0]?.finish();
    await until("held b");
    held[1]?.finish();
    await until("plain ended with a b");
    assert.deepEqual(ran, ["quick a", "held a", "quick b", "held b", "plain ended with a b"]);
    forget();
  });

  it("A flow starts once, however often it is submitted", async () => {
    await jobs.submit("parent", "plain", { children: ["a", "b"] });
    await jobs.submit("parent", "plain", { children: ["a", "b"] });
    assert.deepEqual(ran, []);
  });

  it("An interrupted flow resumes without repeating a finished step", async () => {
    await jobs.submit("parent", "broken", { children: ["a", "b"] });
    await until("held a");
    held[0]?.finish();
    await until("held b");
    await jobs.close();
    forget();
    await open();
    await until("held b");
    held[0]?.finish();
    await until("broken ended with a b");
    assert.deepEqual(ran, ["held b", "broken ended with a b"]);
    forget();
  });

  for (const [next, isParent] of [
    ["step", false],
    ["child", true],
  ] as const)
    it(`A flow that comes to its next ${next} while the engine closes does not fail, and goes on later`, async () => {
      await jobs.submit("between", `between ${next}`, { isParent });
      await until("between");
      const closing = jobs.close();
      goOn?.();
      await closing;
      await open();
      while (ran.filter(line => line === "between").length < 2)
        await new Promise<void>(resolve => {
          arrived = resolve;
        });
      goOn?.();
      await until("after");
      assert.deepEqual(ran, ["before", "between", "between", "after"]);
      forget();
    });

  it("A flow whose next step begins while the engine closes does not fail, and goes on later", async () => {
    await jobs.submit("between", "begun", { isParent: false });
    await until("between");
    const closed = deferred();
    const pool = await store.pool;
    // Whether the step has been run before is answered only when the engine is closed.
    const asked = new Promise<void>(resolve => {
      pool.on("acquire", function hold(client) {
        const query = client.query.bind(client) as (...all: unknown[]) => unknown;
        const held = (...all: unknown[]) => {
          if (!String(all[0]).includes("operation_outputs")) return query(...all);
          pool.off("acquire", hold);
          Object.assign(client, { query });
          resolve();
          return closed.promise.then(() => query(...all));
        };
        Object.assign(client, { query: held });
      });
    });
    goOn?.();
    await asked;
    await jobs.close();
    closed.resolve();
    await once(pool, "release");
    // What was asked for goes on with its answer, before the engine is there again.
    await new Promise(setImmediate);
    forget();
    await open();
    await until("between");
    goOn?.();
    await until("after", "failed");
    assert.deepEqual(ran, ["between", "after"]);
    forget();
  });

  it("A flow that waits for a child of another node while the engine closes gets the result later, and no failure", async () => {
    await jobs.submit("child", "moved/t:a", { name: "a" });
    await until("held a");
    await jobs.close();
    forget();
    const pool = await store.pool;
    jobs = await openDurableJobs({ pool, flows, log, node: { name: "other", boot: 1 } });
    await jobs.submit("waits", "moved", {});
    await until("waits");
    // Each look for the result takes a connection, and so does what comes before the first one.
    for (let looks = 0; looks < 5; looks++) await once(pool, "acquire");
    await jobs.close();
    await open();
    await until("held a");
    await jobs.resume("moved");
    held.at(-1)?.finish();
    await until("over");
    assert.deepEqual(ran.slice(-2), ["got a", "over"]);
    forget();
  });

  it("A flow that was taken out of its queue by a commit without an answer is in doubt, and goes on when it is resumed", async () => {
    await jobs.submit("child", "lost", { name: "a" });
    await until("held a");
    await jobs.close();
    forget();
    const pool = await store.pool;
    const onDoubt = () => note("in doubt");
    jobs = await openDurableJobs({ pool, flows, log, node: { name: "other", boot: 2 }, onDoubt });
    const loses = losesOneAnswer();
    pool.on("acquire", loses);
    await jobs.resume("lost");
    await until("in doubt");
    pool.off("acquire", loses);
    assert.equal(await statusOf("lost"), "orphaned");
    await jobs.resume("lost");
    await until("held a");
    await jobs.close();
    forget();
    await open();
  });

  it("A cancelled flow takes no further step, even when the cancel makes the running step fail", async () => {
    await jobs.submit("parent", "stopped", { children: ["a", "b"] });
    await until("held a");
    await jobs.cancel("stopped");
    held[0]?.fail();
    assert.equal(await statusOf("stopped"), "cancelled");
    assert.equal(await statusOf("stopped/t:a"), "cancelled");
    assert.deepEqual(ran, ["quick a", "held a"]);
  });

  it("A flow stays cancelled after a restart, and resumes where it stopped", async () => {
    await jobs.close();
    forget();
    await open();
    assert.equal(await statusOf("stopped"), "cancelled");
    await jobs.resume("stopped");
    await until("held a");
    held[0]?.finish();
    await until("held b");
    held[1]?.finish();
    await until("stopped ended with a b");
    assert.deepEqual(ran, ["held a", "quick b", "held b", "stopped ended with a b"]);
    forget();
  });

  it("Deleting a flow deletes everything that it started", async () => {
    await jobs.delete("stopped");
    assert.equal(await statusOf("stopped"), undefined);
    assert.equal(await statusOf("stopped/t:a"), undefined);
  });

  it("An id that was never used has no flow", async () => {
    assert.equal(await statusOf("never"), undefined);
  });
});
