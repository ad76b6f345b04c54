// Long things: a session of 50,000 blocks, a job of 500 works, 10,000 sessions in the list, an export of 200 MB.
import { readFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Store } from "../src/store/store.js";
import { writeJob } from "../test/support/jobs/longJob.js";
import { startLive } from "../test/support/live/live.js";
import { conversation, writeSession } from "../test/support/live/longLog.js";
import { readingsOf } from "../test/support/live/storeReadings.js";
import { launchBrowser } from "../test/support/pages/browser.js";
import { type Portal, startPortal } from "../test/support/portal/portal.js";
import { folderWith, openMs } from "./support/openPages.js";
import { absoluteRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { percentile, timed } from "./support/turns.js";

const blocks = 50_000;
const works = 500;
const sessions = 10_000;
const exportedMb = 200;
const calls = 30;
const memoryIntervalMs = 50;
/** A client that takes about 20 MB a second. */
const slowPauseMs = 3;

async function sessionRows(): Promise<Row[]> {
  return inScope(async scope => {
    const dataDir = await folderWith(scope, store =>
      writeSession(store, { id: "long", title: "Long" }, conversation(blocks, { isSlow: true })),
    );
    const portal = await startPortal(scope, { dataDir });
    const browser = await launchBrowser();
    const url = `${portal.url}/index.html?session=long`;
    const ms = await openMs(browser, url, page => page.getByText(`Block ${blocks}.`).waitFor());
    await browser.close();
    await portal.stop();
    const { store, readings } = readingsOf();
    const live = await startLive(scope, { dataDir, wrap: store });
    await live.call("session/long/responses");
    const kb = readings.reduce((sum, chars) => sum + chars, 0) / 1000;
    return [
      absoluteRow("a session of 50,000 blocks: until its page shows the last one", ms, "ms", {
        atMost: 1_000,
      }),
      absoluteRow("the same: what the server reads of its log", kb, "KB", { atMost: 500 }),
      absoluteRow("the same: in chunks", readings.length, "chunks", { atMost: 500 }),
    ];
  });
}

async function jobRows(): Promise<Row[]> {
  return inScope(async scope => {
    const dataDir = await folderWith(scope, store => writeJob(store, "job", works));
    const portal = await startPortal(scope, { dataDir });
    const path = "copilot/job/job";
    const text = async (part: string) => (await fetch(`${portal.url}/api/${path}/${part}`)).text();
    await text("status");
    const statusMs = await timed(() => text("status"));
    let streamed = "";
    const streamMs = await timed(async () => {
      streamed = await text("events?all=1");
    });
    const exportMs = await timed(() => text("export?format=json"));
    const browser = await launchBrowser();
    const url = `${portal.url}/jobTracking.html?jobName=long&jobId=job`;
    const lastNode = `#chart svg .node[data-work-id="${works - 1}"]`;
    const chartMs = await openMs(browser, url, page => page.locator(lastNode).waitFor());
    await browser.close();
    await portal.stop();
    return [
      absoluteRow("a job of 500 works: status", statusMs, "ms", { atMost: 100 }),
      absoluteRow("the same: stream of everything", streamMs, "ms", { atMost: 10_000 }),
      absoluteRow("the same: size of the stream", streamed.length / 1e6, "MB", { atMost: 6 }),
      absoluteRow("the same: export", exportMs, "ms", { atMost: 10_000 }),
      absoluteRow("the same: until its page shows the chart", chartMs, "ms", { atMost: 5_000 }),
    ];
  });
}

async function writeSessions({ query }: Pick<Store, "query">): Promise<void> {
  await query(
    `insert into sessions (id, model_id, model_name, backend, working_directory, title, created_at)
     select gen_random_uuid()::text, 'model', 'Model', 'provider', '/home/me/project-' || i % 50,
       'Session about the thing number ' || i, now() - i * interval '1 minute'
     from generate_series(1, $1::int) as i`,
    [sessions],
  );
}

async function listRows(): Promise<Row[]> {
  return inScope(async scope => {
    const portal = await startPortal(scope, { dataDir: await folderWith(scope, writeSessions) });
    type Page = { sessions: unknown[]; next?: string };
    const list = async (query: string) => (await portal.api<Page>(`copilot/session/history?${query}`)).body;
    /** The places of the middle and of the last page. */
    const places: string[] = [];
    for (let { next } = await list("limit=200"); next; { next } = await list(`limit=200&before=${next}`))
      places.push(next);
    const middle = places[Math.floor(places.length / 2)];
    const last = places.at(-2);
    const rows: Row[] = [];
    for (const [name, query] of [
      ["newest page", "limit=50"],
      ["middle page", `limit=50&before=${middle}`],
      ["last page", `limit=50&before=${last}`],
      ["search for a word in every title", "limit=50&search=thing"],
      ["search for the oldest one", `limit=50&search=number%20${sessions}`],
      ["search for a folder, middle page", `limit=50&search=project-7&before=${middle}`],
    ]) {
      const times: number[] = [];
      for (let call = 0; call < calls; call++) times.push(await timed(() => list(query ?? "")));
      rows.push(absoluteRow(`10,000 sessions: ${name}, p95`, percentile(times, 0.95), "ms", { atMost: 100 }));
    }
    await portal.stop();
    return rows;
  });
}

/** The memory of a process in MiB. */
async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Reads an export slowly; returns its size and the most memory that the portal had meanwhile, in MB and MiB. */
async function readSlowly(portal: Portal, path: string): Promise<{ mb: number; mostMb: number }> {
  let mostMb = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      mostMb = Math.max(mostMb, await residentMb(portal.pid));
      await pause(memoryIntervalMs);
    }
  })();
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get(`${portal.url}/api/${path}`, resolve).on("error", reject),
  );
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    await pause(slowPauseMs);
  }
  isOver = true;
  await watching;
  return { mb: bytes / 1e6, mostMb };
}

async function exportRows(): Promise<Row[]> {
  return inScope(async scope => {
    const contentChars = 20_000;
    const count = Math.ceil((exportedMb * 1e6) / contentChars);
    const dataDir = await folderWith(scope, store =>
      writeSession(store, { id: "big", title: "Big" }, conversation(count, { contentChars })),
    );
    const portal = await startPortal(scope, { dataDir });
    await portal.api("copilot/session/history?limit=1");
    await pause(5_000);
    const idleMb = await residentMb(portal.pid);
    const rows: Row[] = [];
    for (const format of ["json", "markdown"]) {
      const { mb, mostMb } = await readSlowly(portal, `copilot/session/big/export?format=${format}`);
      rows.push(
        absoluteRow(
          `memory above idle while ${Math.round(mb)} MB are exported as ${format} to a slow client`,
          Math.max(0, mostMb - idleMb),
          "MiB",
          { atMost: 100 },
        ),
      );
    }
    await portal.stop();
    return rows;
  });
}

export async function longRows(): Promise<Row[]> {
  return [...(await listRows()), ...(await sessionRows()), ...(await jobRows()), ...(await exportRows())];
}
