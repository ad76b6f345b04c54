// How long the pages' own code blocks a frame: many blocks, many deltas, a huge message. `npm run bench -- pages`
import type { Page } from "playwright-core";
import { launchBrowser, openRenderer } from "../test/support/pages/browser.js";
import { absoluteRow, type Row } from "./support/row.js";

type Response = { [name: string]: unknown };

/** The page's side is test/support/pages/fixture/renderer.js. */
declare function load(responses: Response[]): void;
declare function play(perFrame: number): Promise<void>;
declare function scrollUp(stepPx: number): Promise<void>;

export interface FrameFigures {
  name: string;
  tasks: number;
  /** The longest task of the page's main thread: scripts, style, layout and paint of one frame. */
  longestTaskMs: number;
  /** The longest run of the page's own scripts in one go. */
  longestScriptMs: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds of the thread's own CPU time, so that other programs do not count. */
  tdur?: number;
  args: { name?: string };
}

/** The figures of the page's main thread in a trace. */
function figuresOf(name: string, trace: Buffer): FrameFigures {
  const events = (JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }).traceEvents;
  const main = new Set(
    events
      .filter(event => event.name === "thread_name" && event.args.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const timesOf = (...names: string[]) =>
    events
      .filter(event => names.includes(event.name) && main.has(`${event.pid}/${event.tid}`))
      .map(event => (event.tdur ?? 0) / 1000);
  const tasks = timesOf("RunTask", "ThreadControllerImpl::RunTask");
  return {
    name,
    tasks: tasks.length,
    longestTaskMs: Math.round(tasks.reduce((a, b) => Math.max(a, b), 0)),
    longestScriptMs: Math.round(timesOf("FunctionCall", "RunMicrotasks").reduce((a, b) => Math.max(a, b), 0)),
  };
}

const text =
  "The **adapter** drops `late` deltas of a block that has ended; see [the log](https://example.com).\n\n";
const code = "```ts\nexport const answer = 42; // as expected\n```\n";

function blocks(count: number): Response[] {
  return Array.from({ length: count }, (_, n): Response[] => {
    const id = String(n);
    if (n % 5 === 0)
      return [
        { callback: "onStartMessage", messageId: id },
        {
          callback: "onEndMessage",
          messageId: id,
          completeContent: `## Step ${n}\n\n${text.repeat(4)}${code}`,
        },
      ];
    if (n % 5 === 1)
      return [
        { callback: "onStartReasoning", reasoningId: id },
        { callback: "onEndReasoning", reasoningId: id, completeContent: text.repeat(6) },
      ];
    const toolArguments = JSON.stringify({ command: `npm test -- part-${n}` });
    return [
      { callback: "onStartToolExecution", toolCallId: id, toolName: "bash", toolArguments },
      { callback: "onEndToolExecution", toolCallId: id, result: { content: "ok\n".repeat(200) } },
    ];
  }).flat();
}

function deltasOf(messageId: string, count: number, delta: (n: number) => string): Response[] {
  return Array.from({ length: count }, (_, n) => ({ callback: "onMessage", messageId, delta: delta(n) }));
}

export async function measureFrames(): Promise<FrameFigures[]> {
  const browser = await launchBrowser();
  const results: FrameFigures[] = [];

  async function scenario(
    name: string,
    before: Response[],
    during: Response[],
    run: (page: Page) => Promise<void>,
  ) {
    const closers: (() => unknown)[] = [];
    const { page } = await openRenderer({ after: close => closers.push(close) }, browser);
    await page.evaluate(list => load(list), before);
    await page.evaluate(() => play(100));
    await page.evaluate(list => load(list), during);
    await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "__metadata"] });
    await run(page);
    results.push(figuresOf(name, await browser.stopTracing()));
    for (const close of closers.reverse()) await close();
  }
  const playAll = (perFrame: number) => (page: Page) => page.evaluate(size => play(size), perFrame);

  const thousands = blocks(5000);
  const words = deltasOf("m", 10_000, n => `word ${n} `);
  const piece = `${text}${code}`.repeat(9).slice(0, 1000);
  const pieces = deltasOf("m", 5000, () => piece);
  const start = { callback: "onStartMessage", messageId: "m" };
  const end = { callback: "onEndMessage", messageId: "m", completeContent: piece.repeat(5000) };
  await scenario("5,000 blocks, replayed 100 responses a frame", [], thousands, playAll(100));
  await scenario(
    "1,000 deltas a second for 10 s below 5,000 blocks",
    [...thousands, start],
    words,
    playAll(17),
  );
  await scenario("a message of 5 MB in 5,000 deltas, and its end", [start], [...pieces, end], playAll(17));
  await scenario("scrolling through 5,000 blocks", thousands, [], page =>
    page.evaluate(() => scrollUp(1500)),
  );
  await browser.close();
  return results;
}

export async function frameRows(): Promise<Row[]> {
  return (await measureFrames()).map(({ name, longestScriptMs }) =>
    absoluteRow(`longest frame of the pages' own code: ${name}`, longestScriptMs, "ms", { atMost: 50 }),
  );
}
