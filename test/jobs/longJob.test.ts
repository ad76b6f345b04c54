import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { before, describe, it } from "node:test";
import { createParser } from "eventsource-parser";
import express from "express";
import { answerErrors } from "../../src/api/errors.js";
import { createApiRouter } from "../../src/api/router.js";
import { jobRoutes } from "../../src/jobsApi.js";
import { defer, groupScope } from "../support/cleanup.js";
import { writeJob } from "../support/jobs/longJob.js";
import { silent, startLive } from "../support/live/live.js";

const works = 500;
/** The job's own responses, those of each task, and those of each session of four blocks. */
const responses = works * 2 + 1 + works * 4 + works * (4 * 2 + 2);

const file = groupScope();
let url = "";
before(async () => {
  const live = await startLive(file);
  await live.store.transaction(query => writeJob({ query }, "job", works));
  const app = express();
  app.use(
    "/api",
    createApiRouter(jobRoutes(live.logs), async () => "called"),
    answerErrors(silent),
  );
  const server = app.listen(0, "127.0.0.1");
  defer(file, () => server.close());
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/copilot/job/job/events?all=1`;
});

interface Read {
  ids: string[];
  keys: string[];
  isClosed: boolean;
}

/** Reads the stream after a place, up to a number of events. */
async function read(after: string, limit = Number.POSITIVE_INFINITY): Promise<Read> {
  const hangUp = new AbortController();
  const all: Read = { ids: [], keys: [], isClosed: false };
  const parser = createParser({
    onEvent: ({ event, id = "", data }) => {
      if (event === "closed") all.isClosed = true;
      if (event === "closed" || all.keys.length === limit) return;
      const { source, id: log, n } = JSON.parse(data) as { source: string; id: string; n: number };
      all.ids.push(id);
      all.keys.push(`${source} ${log} ${n}`);
    },
  });
  const answer = await fetch(`${url}&after=${encodeURIComponent(after)}`, { signal: hangUp.signal });
  assert.equal(answer.status, 200);
  const decoder = new TextDecoder();
  for await (const bytes of answer.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    if (all.keys.length === limit) break;
  }
  hangUp.abort();
  return all;
}

describe("the stream of a job of 500 works", () => {
  it("brings everything once, and each event says in a few characters where to go on", async () => {
    const { ids, keys, isClosed } = await read("");
    assert.equal(keys.length, responses);
    assert.equal(new Set(keys).size, responses);
    assert.ok(isClosed);
    const longest = ids.reduce((most, id) => Math.max(most, id.length), 0);
    assert.ok(longest <= 60, `${longest} characters`);
  });

  it("goes on from any place without a gap or a repetition", async () => {
    for (const limit of [700, 3_333]) {
      const first = await read("", limit);
      const rest = await read(first.ids.at(-1) ?? "");
      assert.equal(first.keys.length + rest.keys.length, responses, `after ${first.ids.at(-1)}`);
      assert.equal(new Set([...first.keys, ...rest.keys]).size, responses);
    }
  });
});
