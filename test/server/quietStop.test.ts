import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { isWithin } from "../support/pace.js";
import { loggedLines } from "../support/portal/logLines.js";
import { sessionById } from "../support/portal/restSession.js";

const limitMs = 5000;
const model = { category: "driving" };
const held = (name: string) => ({ prompt: [name, `@wait ${name}`], model });

describe("Ctrl+C with twenty open sessions", () => {
  test("the portal stops quietly within five seconds and leaves no process, however busy its sessions are", async t => {
    const names = ["one", "two", "three"];
    const { portal, puppet, startSession, startJob } = await portalWithEntry(
      t,
      {
        tasks: Object.fromEntries(names.map(name => [name, held(name)])),
        jobs: Object.fromEntries(names.map(name => [name, { work: task(name) }])),
      },
      { ownGroup: true },
    );
    const sessions = [];
    for (let i = 0; i < 17; i++) sessions.push(sessionById(portal, await startSession()));
    for (const name of names) await startJob(name);
    for (const [i, session] of sessions.entries()) {
      // Some wait for the model with another request in the queue; some run a command; some are idle.
      if (i < 5) await session.query(`wait\n@wait ${i}`);
      if (i < 5) await session.query("and then?");
      if (i >= 5 && i < 9) await session.query("run\n@shell sleep 60");
      if (i >= 9 && i < 12) await session.query("hello");
    }
    for (let i = 0; i < 5; i++) await puppet.arrived(`${i}`);
    for (const name of names) await puppet.arrived(name);
    for (const session of sessions.slice(5, 9)) await session.waitFor("onStartToolExecution");
    for (const session of sessions.slice(9, 12)) await session.untilIdle();

    const before = portal.stderr.length;
    const startedAt = performance.now();
    const { code, stderr } = await portal.pressCtrlC();
    const tookMs = performance.now() - startedAt;
    t.diagnostic(`stopped after ${Math.round(tookMs)} ms`);
    const said = stderr.slice(before);
    assert.doesNotMatch(said, /\n\s+at |\\n\s+at /, "a stack trace");
    // On a busy machine a part may exceed its time; each part says so at most once.
    const complaints = loggedLines(said).filter(({ level }) => level >= 40);
    const late = complaints.filter(({ reason }) => /not done after|no answer within/.test(String(reason)));
    assert.deepEqual(complaints, late);
    assert.ok(late.length <= 3, JSON.stringify(late));
    assert.equal(code, 0);
    assert.ok(isWithin(tookMs, limitMs, "wall"), `${tookMs} ms`);
    assert.deepEqual(await portal.processes(), []);
  });
});
