import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ActiveItem } from "../../src/overview/activeItem.js";
import { sharedPortalWithEntry, task } from "../support/jobs/jobs.js";
import { collectUntil, sseEvents } from "../support/live/sse.js";
import { sessionById } from "../support/portal/restSession.js";

interface Seen {
  active: ActiveItem[];
  requests: {
    requestId: string;
    taskId?: string;
    options: { optionId: string; kind: string }[];
  }[];
}

const model = { category: "driving" };
const portalOf = sharedPortalWithEntry(
  {
    tasks: {
      asking: { prompt: ["@shell echo from the job"], model },
      waits: { prompt: ["@wait here"], model },
    },
    jobs: { ask: { work: task("asking") }, wait: { work: task("waits") } },
  },
  { store: "embedded", args: ["--permissions", "ask"] },
);

describe("The overview", () => {
  test("shows each session and job while it runs or waits, and what it does", async t => {
    const { portal, puppet, workingDirectory, startJob, startSession } = await portalOf(t);
    const address = `${portal.url}/api/copilot/overview/events`;
    /** Everything that a new reader sees until it sees this. */
    const until = async (matches: (seen: Seen) => boolean) => {
      const events = await collectUntil(sseEvents<Seen>(address), ({ data }) => matches(data));
      return events.at(-1)?.data ?? { active: [], requests: [] };
    };
    assert.deepEqual((await portal.api("copilot/overview")).body, { active: [], requests: [] });

    const session = sessionById(portal, await startSession());
    await session.query("Wait for me\n@wait here");
    await puppet.arrived("here");
    const running = await until(({ active }) => active[0]?.doing === "thinks");
    assert.deepEqual(
      running.active.map(({ since, ...item }) => ({ ...item, since: since <= new Date().toISOString() })),
      [
        {
          kind: "session",
          id: session.id,
          title: "Wait for me",
          workingDirectory,
          state: "running",
          doing: "thinks",
          since: true,
        },
      ],
    );

    const jobId = await startJob("ask");
    const asks = await until(({ active }) => active[0]?.state === "waiting");
    assert.deepEqual(
      asks.active.map(({ kind, id, title, doing }) => ({ kind, id, title, doing })),
      [
        { kind: "job", id: jobId, title: "ask", doing: "asking: asks for echo from the job" },
        { kind: "session", id: session.id, title: "Wait for me", doing: "thinks" },
      ],
      "what needs somebody comes first, and a task's session is part of its job",
    );
    const [request] = asks.requests;
    assert.ok(request);
    assert.ok(request.taskId?.startsWith(`${jobId}.`), "the request of the job");

    const over = until(({ active, requests }) => active.length === 0 && requests.length === 0);
    const { requestId, options } = request;
    const optionId = options.find(({ kind }) => kind === "allow_once")?.optionId;
    const answered = await portal.api("copilot/permission/answer", {
      body: JSON.stringify({ requestId, optionId }),
    });
    assert.deepEqual(answered.body, {});
    puppet.release("here");
    await over;
  });

  test("comes on the one connection of a browser too, beside logs", async t => {
    const { portal, puppet, startSession } = await portalOf(t);
    const session = sessionById(portal, await startSession());
    await session.query("@wait here");
    await puppet.arrived("here");
    const streams = [
      { name: "o", kind: "overview", id: "" },
      { name: "s", kind: "session", id: session.id },
    ];
    const hangUp = new AbortController();
    t.after(() => hangUp.abort());
    const { body } = await fetch(`${portal.url}/api/copilot/events`, {
      method: "POST",
      body: JSON.stringify({ streams }),
      signal: hangUp.signal,
    });
    let text = "";
    for await (const bytes of body ?? []) {
      text += Buffer.from(bytes).toString();
      if (/stream: o\ndata: \{"active":\[\{/.test(text) && /stream: s\nid: 1\n/.test(text)) break;
    }
    puppet.release("here");
    await session.untilIdle();
  });

  test("names paused jobs until they go on", async t => {
    const { portal, puppet, startJob, jobLog } = await portalOf(t);
    const jobId = await startJob("wait");
    await puppet.arrived("here");
    await portal.stop();
    await portal.restart();
    const { active } = (await portal.api<Seen>("copilot/overview")).body;
    assert.deepEqual(
      active.map(({ id, state }) => ({ id, state })),
      [{ id: jobId, state: "paused" }],
    );
    puppet.release("here");
    await portal.api(`copilot/job/${jobId}/continue`);
    assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
    assert.deepEqual((await portal.api<Seen>("copilot/overview")).body.active, []);
  });
});
